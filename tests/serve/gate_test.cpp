// Who is let in.
#include <doctest/doctest.h>

#include <algorithm>

#include "scenarios/serve/desk.hpp"
#include "scenarios/serve/gate.hpp"
#include "sim/base/token.hpp"

namespace straggler::test {
namespace {

TEST_CASE("a request needs the token, this machine's name and no foreign page") {
  const std::string token = new_token();
  const Gate gate(8123, token);
  const auto refused = [&](const Gate::Request& request) { return !gate.refusal(request).empty(); };
  CHECK(gate.refusal({"127.0.0.1:8123", token, "", ""}).empty());
  CHECK(gate.refusal({"localhost:8123", token, "http://localhost:8123", "same-origin"}).empty());
  CHECK(gate.refusal({"127.0.0.1:8123", token, "http://127.0.0.1:8123", "none"}).empty());

  CHECK(refused({"127.0.0.1:8123", "", "", ""}));
  CHECK(refused({"127.0.0.1:8123", token + "0", "", ""}));
  CHECK(refused({"127.0.0.1:8123", token.substr(1), "", ""}));
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string other = token;
    other[i] = other[i] == '0' ? '1' : '0';
    CHECK(refused({"127.0.0.1:8123", other, "", ""}));
  }
  // DNS rebinding: another name that leads here, another port, no name.
  for (const char* host :
       {"evil.example:8123", "127.0.0.1", "127.0.0.1:81234", "127.0.0.1:812", "127.0.0.1:8123.evil.example", "", "[::1]:8123"})
    CHECK(refused({host, token, "", ""}));
  for (const char* origin :
       {"null", "http://evil.example", "https://127.0.0.1:8123", "http://127.0.0.1:8124", "http://127.0.0.1", "127.0.0.1:8123"})
    CHECK(refused({"127.0.0.1:8123", token, origin, ""}));
  for (const char* site : {"cross-site", "same-site", "?"}) CHECK(refused({"127.0.0.1:8123", token, "", site}));
}

TEST_CASE("tokens are 128 bits, and never the same") {
  const std::string a = new_token(), b = new_token();
  CHECK(a.size() == 32);
  CHECK(std::ranges::all_of(a, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }));
  CHECK(a != b);
}

TEST_CASE("addresses are taken apart") {
  const auto address = parse_address("/files/t/a%20b/c.csv?token=x%26y&token=z&q");
  REQUIRE(address);
  CHECK(address->path == "/files/t/a b/c.csv");
  CHECK(address->query.at("token") == "x&y");
  CHECK(address->query.at("q").empty());
  CHECK(parse_address("/")->path == "/");
  CHECK(parse_address("/?")->query.empty());
  for (const char* bad : {"", "a", "http://127.0.0.1/", "*", "/%", "/%2", "/%zz", "/a%00", "/%0d%0aSet-Cookie:x", "/?a=%1"})
    CHECK_FALSE(parse_address(bad));
}

}  // namespace
}  // namespace straggler::test
