// The page of `straggler serve`, as it was when the program was built.
#pragma once
#include <string_view>

namespace straggler::resources {

/// "%TOKEN%", "%FOLDER%" and "%LICENCES%" are placeholders.
std::string_view serve_page_html();
std::string_view serve_page_css(), serve_what_if_js(), serve_page_js();
/// What stands around a result's page: "%TOKEN%", "%SHOWN%" (the frame's address) and "%TITLE%" are placeholders.
std::string_view serve_frame_html(), serve_frame_js();

}  // namespace straggler::resources
