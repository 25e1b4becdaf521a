// Access control: only pages of this server, in the browser of the user who started it.
#pragma once
#include <string>
#include <string_view>

namespace straggler {

/// A request must have the token, which is only in the first line of the program's output; must name this machine as its host, since other
/// names may resolve to 127.0.0.1 (DNS rebinding); and must come from no other page (`Origin`, `Sec-Fetch-Site`).
class Gate {
 public:
  Gate(int port, std::string token) : port_(std::to_string(port)), token_(std::move(token)) {}

  struct Request {
    std::string host, token;
    std::string origin, fetch_site;  // headers; empty: not there
  };
  /// Why it is refused; empty: it is answered.
  std::string refusal(const Request& request) const;
  const std::string& token() const { return token_; }

 private:
  bool is_here(std::string_view host) const;

  std::string port_, token_;
};

}  // namespace straggler
