#include "sim/base/registry.hpp"

#include <doctest/doctest.h>

using namespace straggler;

namespace {
struct Entry {
  std::string name, summary;
  std::vector<Parameter> parameters;
};
const Register<Entry> second({"beta", "the second", {}});
const Register<Entry> first({"alpha", "the first", {}});
}  // namespace

TEST_CASE("entries register themselves and are listed in alphabetical order") {
  const Registry<Entry>& registry = Registry<Entry>::instance();
  REQUIRE(registry.entries().size() == 2);
  CHECK(registry.names() == "alpha, beta");
  CHECK(registry.at("beta").summary == "the second");
  CHECK(registry.find("gamma") == nullptr);
}

TEST_CASE("an unknown name lists the known ones, a taken one is a programming error") {
  Registry<Entry>& registry = Registry<Entry>::instance();
  CHECK_THROWS_WITH_AS(registry.at("gamma"), "unknown name 'gamma'; known: alpha, beta", std::invalid_argument);
  CHECK_THROWS_AS(registry.add({"alpha", "again", {}}), std::logic_error);
}
