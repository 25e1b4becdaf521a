// What a folder keeps of the sweep that it holds, and how another one differs from it.
#include "scenarios/sweep/description.hpp"

#include <doctest/doctest.h>

#include "tests/sweep/sweep_fixture.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

const std::vector<std::string> kept_lines{"sweep: try",
                                          "scenario: small",
                                          "scenario of the first point: seed: 5",
                                          "axis training.scheme: asgd",
                                          "repeats: 2",
                                          "timing: the same from every seed",
                                          "find: updates, 4 settings, 1 repeats",
                                          "find over a: 1 to 2",
                                          "crossover: updates",
                                          "crossover between training.scheme: asgd",
                                          "crossover along b: 1 to 2",
                                          "columns: training.scheme",
                                          "program: straggler 1",
                                          "math: none, timing only",
                                          "scenario of the first run: name: x",
                                          "entrant a: training.scheme: asgd",
                                          "seeds: 5, unpaired",
                                          "--tune learning_rate",
                                          "candidates: 4, each on 1 seeds",
                                          "something of a later version: 3"};

}  // namespace

TEST_CASE("the lines that a state keeps are facts, and become the same lines again") {
  const Description description = Description::of_lines(kept_lines);
  REQUIRE(description.facts().size() == kept_lines.size());
  for (std::size_t i = 0; i < kept_lines.size(); ++i) {
    CHECK(description.facts()[i].about == static_cast<Described>(i));  // one line of each, in the order of the enumeration
    CHECK(description.facts()[i].line() == kept_lines[i]);
  }
  CHECK(description.lines() == kept_lines);
  CHECK(description.all(Described::find_over) == std::vector<std::string>{"a: 1 to 2"});
  CHECK(description.facts().back().about == Described::other);
  CHECK(description.seedless());
  CHECK(description.is_search());
}

TEST_CASE("a change says which facts are gone, which are new, and where the two first differ") {
  Description before, now;
  before.add(Described::sweep, "try");
  before.add(Described::axis, "a: 1");
  before.add(Described::axis, "a: 2");
  now.add(Described::sweep, "try");
  now.add(Described::axis, "a: 2");
  now.add(Described::axis, "a: 3");
  const DescriptionChange changed = change(now, before);
  CHECK(changed.gone == std::vector<DescribedFact>{{Described::axis, "a: 1"}});
  CHECK(changed.fresh == std::vector<DescribedFact>{{Described::axis, "a: 3"}});
  CHECK(changed.first() == "'axis a: 2' here, 'axis a: 1' there");
  now = before;
  CHECK(now == before);
  now.add(Described::repeats, "3");
  CHECK(now != before);
  CHECK(change(now, before).first() == "'repeats: 3' here, nothing there");
  CHECK(change(before, now).first() == "nothing here, 'repeats: 3' there");
}

TEST_CASE("a sweep's description comes back from its state") {
  const Files files;
  const Description description = describe(sweep_of(files, "repeats: 2\naxes: {training.scheme: [ssgd, asgd]}\n"), {});
  CHECK(description.all(Described::sweep) == std::vector<std::string>{"try"});
  CHECK(description.all(Described::axis) == std::vector<std::string>{"training.scheme: ssgd", "training.scheme: asgd"});
  CHECK(description.all(Described::repeats) == std::vector<std::string>{"2"});
  CHECK_FALSE(description.is_search());
  SweepState state(":memory:");
  state.describe(description);
  CHECK(state.description() == description);
}
