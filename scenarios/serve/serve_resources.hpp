// The page of `straggler serve`, as it was when the program was built.
#pragma once
#include <string_view>

namespace straggler::resources {

/// "%TOKEN%", "%FOLDER%" and "%LICENCES%" are placeholders.
std::string_view serve_page_html();
std::string_view serve_page_css(), serve_page_js();

}  // namespace straggler::resources
