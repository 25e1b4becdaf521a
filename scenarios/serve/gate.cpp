#include "scenarios/serve/gate.hpp"

#include "sim/base/token.hpp"

namespace straggler {

bool Gate::is_here(std::string_view host) const { return host == "127.0.0.1:" + port_ || host == "localhost:" + port_; }

std::string Gate::refusal(const Request& request) const {
  if (!is_here(request.host)) return "this server answers requests to 127.0.0.1:" + port_ + " only";
  constexpr std::string_view scheme = "http://";
  const std::string_view origin = request.origin;
  if (!origin.empty() && !(origin.starts_with(scheme) && is_here(origin.substr(scheme.size()))))
    return "this server answers its own pages only";
  const std::string& site = request.fetch_site;  // "none": an address that was typed in or opened from outside of the browser
  if (!site.empty() && site != "same-origin" && site != "none") return "this server answers its own pages only";
  if (!same_secret(request.token, token_)) return "the token is missing or wrong; open the address that straggler serve printed";
  return {};
}

}  // namespace straggler
