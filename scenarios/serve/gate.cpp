#include "scenarios/serve/gate.hpp"

#include <sys/random.h>

#include <cerrno>
#include <system_error>

#include "sim/base/key.hpp"

namespace straggler {

namespace {

/// In constant time, which does not reveal where they differ.
bool same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) different |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return different == 0;
}

}  // namespace

bool Gate::is_here(std::string_view host) const { return host == "127.0.0.1:" + port_ || host == "localhost:" + port_; }

std::string Gate::refusal(const Request& request) const {
  if (!is_here(request.host)) return "this server answers requests to 127.0.0.1:" + port_ + " only";
  constexpr std::string_view scheme = "http://";
  const std::string_view origin = request.origin;
  if (!origin.empty() && !(origin.starts_with(scheme) && is_here(origin.substr(scheme.size()))))
    return "this server answers its own pages only";
  const std::string& site = request.fetch_site;  // "none": an address that was typed in or opened from outside of the browser
  if (!site.empty() && site != "same-origin" && site != "none") return "this server answers its own pages only";
  if (!same(request.token, token_)) return "the token is missing or wrong; open the address that straggler serve printed";
  return {};
}

std::string new_token() {
  Key key;
  static_assert(sizeof(key) == 16);
  if (::getrandom(&key, sizeof key, 0) != static_cast<ssize_t>(sizeof key))
    throw std::system_error(errno, std::generic_category(), "no random numbers for a token");
  return key.text();
}

}  // namespace straggler
