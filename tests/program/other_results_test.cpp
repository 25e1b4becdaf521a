// `compare` beside folders that hold something else than runs.
#include <doctest/doctest.h>

#include "tests/program/workplace.hpp"
#include "tests/support/text.hpp"

namespace other_results_test {

using namespace straggler::test;

namespace {

const std::string scenario = on_small_cluster(16, 1200, 100, "  stop: {epochs: 1}\n");
const std::string sweep = "sweep: 1\nname: try\nscenario: small.yaml\naxes: {training.scheme: [ssgd, asgd]}\ntiming_only: true\n";

}  // namespace

TEST_CASE("compare results/* skips what other commands left, and says so") {
  const Workplace place;
  place.write("small.yaml", scenario);
  place.write("try.yaml", sweep);
  REQUIRE(place.shell("straggler sweep try.yaml --quiet --no-store").code == 0);
  REQUIRE(
      place.shell("straggler race small.yaml --schemes ssgd,asgd --timing-only --seeds 5 --out results/fight --quiet --no-store").code ==
      0);
  REQUIRE(place.shell("straggler run small.yaml --timing-only --quiet").code == 0);
  REQUIRE(place.shell("straggler explain small.yaml --timing-only --quiet --out results/why").code == 0);
  place.write("results/small.checkpoint", "x");
  REQUIRE(place.shell("straggler compare results/small --out results/page").code == 0);
  const auto all = place.shell("straggler compare results/*");
  CHECK(all.code == 0);
  CHECK(has(all.out, "note: results/try: holds a sweep (straggler report shows it), and is left out\n"));
  CHECK(has(all.out, "note: results/fight: holds a race (straggler report shows it), and is left out\n"));
  CHECK(has(all.out, "note: results/small.checkpoint: is the checkpoint of a run that has not ended, and is left out\n"));
  CHECK(has(all.out, "note: results/why: holds results of straggler explain, and is left out\n"));
  CHECK(has(all.out, "note: results/page: holds a page of straggler compare, and is left out\n"));
  CHECK(all.out.starts_with(place.shell("straggler compare results/small").out));
}

TEST_CASE("compare of nothing but a sweep is refused, and so is a folder that holds nothing known") {
  const Workplace place;
  place.write("small.yaml", scenario);
  place.write("try.yaml", sweep);
  place.write("results/notes/todo.txt", "x");
  REQUIRE(place.shell("straggler sweep try.yaml --quiet --no-store").code == 0);
  const auto only = place.shell("straggler compare results/try");
  CHECK(only.code == 2);
  CHECK(only.err == "straggler: results/try: holds a sweep (straggler report shows it); name the result folders of runs\n");
  CHECK(place.shell("straggler compare results/*").code == 2);
}

}  // namespace other_results_test
