// Lists that vary together may repeat a value, as the tuned rates of two schemes do; only all of a place together must be new.
#include <doctest/doctest.h>

#include "tests/sweep/sweep_fixture.hpp"

namespace sweep_zip_test {

using namespace straggler;
using namespace straggler::test;

TEST_CASE("a zip may repeat a value of one list") {
  const Files files;
  const Sweep sweep = sweep_of(
      files, "zip: [{training.scheme: [{kind: ssgd}, {kind: asgd}, {kind: asgd}], training.optimizer.learning_rate: [0.1, 0.1, 0.2]}]\n");
  const std::vector<SweepGroup> groups = groups_of(sweep);
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].labels == std::vector<std::string>{"ssgd", "0.1"});
  // The same block twice is no reason to write it out.
  CHECK(groups[1].labels == std::vector<std::string>{"asgd", "0.1"});
  CHECK(groups[2].labels == std::vector<std::string>{"asgd", "0.2"});
  CHECK(said(files, [&] {
          sweep_of(files, "zip: [{training.scheme: [ssgd, asgd, ssgd], seed: [1, 2, 1]}]\n");
        }).ends_with(": zip[0]: has ssgd, 1 together twice; write each combination once"));
}

}  // namespace sweep_zip_test
