// Text escaped for XML, HTML and SVG.
#pragma once
#include <string>
#include <string_view>

namespace straggler {

/// `text` for use between tags and in an attribute with either kind of quotes: & < > " ' are written as references. Characters that
/// must not be shown become U+FFFD (sim/base/shown_text.hpp).
std::string xml_text(std::string_view text);

}  // namespace straggler
