// Problems are values; their lines are made when they are shown.
#include <doctest/doctest.h>

#include "scenarios/schema/errors.hpp"
#include "scenarios/schema/reader.hpp"

using namespace straggler;

TEST_CASE("the line of a problem has its source, its place, its path, the error and the remedy") {
  const Places places({"file.yaml", "a.b=1"});
  const std::string text = "is 1; write 2; or 3";
  const Problem spot = places.problem(Place{0, 3, 7}, "a.b", text);
  CHECK(spot.what == "is 1");
  CHECK(spot.remedy == "write 2; or 3");
  CHECK(spot.line() == "file.yaml:3:7: a.b: is 1; write 2; or 3");
  CHECK(spot.about() == "a.b: is 1; write 2; or 3");
  CHECK(places.problem(whole_file, {}, "is empty").line() == "file.yaml: is empty");
  CHECK(places.problem(Place{1, 1, 3}, "a.b", text).line() == "--set a.b=1: a.b: is 1; write 2; or 3");
  CHECK(Problem("is wrong; mend it").line() == "is wrong; mend it");
  const Problem quoted("is 'a; b' of the workers' c; write 'd; e'");
  CHECK(quoted.what == "is 'a; b' of the workers' c");
  CHECK(quoted.remedy == "write 'd; e'");
  CHECK(Problem("is 'open; write 2").remedy == "write 2");
  Problem more = places.problem(whole_file, "a", "is 1; write 2");
  more.add(", or 4");
  CHECK(more.line() == "file.yaml: a: is 1; write 2, or 4");
  more.remedy.clear();
  more.add(" already");
  CHECK(more.line() == "file.yaml: a: is 1 already");
}

TEST_CASE("problems come in the order of their places, each line once") {
  const Places places({"file.yaml", "x=1", "x=1"});
  Problems problems(places);
  problems.add(Place{2, 1, 1}, "x", "is 1; write 2");
  problems.add(Place{0, 9, 1}, "late", "is late");
  problems.add(Place{1, 1, 1}, "x", "is 1; write 2");
  problems.add(Place{0, 2, 1}, "early", "is early");
  try {
    problems.raise();
    FAIL("nothing was thrown");
  } catch (const ScenarioErrors& errors) {
    CHECK(errors.lines() ==
          std::vector<std::string>{"file.yaml:2:1: early: is early", "file.yaml:9:1: late: is late", "--set x=1: x: is 1; write 2"});
    CHECK(std::string(errors.what()) == "file.yaml:2:1: early: is early\nfile.yaml:9:1: late: is late\n--set x=1: x: is 1; write 2");
    CHECK(errors.problems[2].place.source == 1);
  }
}

TEST_CASE("a reader's problems say which --set is to blame") {
  try {
    read_scenario_text("straggler: 1\n", "file.yaml", {"seed=1", "seed=-1"});
    FAIL("nothing was thrown");
  } catch (const ScenarioErrors& errors) {
    const Problem& last = errors.problems.back();
    CHECK(last.place.source == 2);
    CHECK(last.source == "seed=-1");
    CHECK(last.path == "seed");
    CHECK_FALSE(last.remedy.empty());
  }
}
