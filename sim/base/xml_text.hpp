// Text as XML, HTML and SVG take it.
#pragma once
#include <string>
#include <string_view>

namespace straggler {

/// `text` so that it may stand between tags and in an attribute with either kind of quotes: & < > " ' are written as references. What XML
/// has no way to write (control characters but for tabs and line ends) becomes U+FFFD.
std::string xml_text(std::string_view text);

}  // namespace straggler
