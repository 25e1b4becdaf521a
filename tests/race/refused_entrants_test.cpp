// Entrants that cannot run are refused before anything runs.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "scenarios/race/race.hpp"
#include "scenarios/race/race_run.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/run.hpp"
#include "tests/support/text.hpp"

namespace refused_entrants_test {

using namespace straggler;
using namespace straggler::test;

namespace {

std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const std::invalid_argument& wrong) {
    return wrong.what();
  } catch (const ScenarioErrors& errors) {
    return errors.lines().size() == 1 ? errors.lines().front() : "several lines";
  }
  return "";
}

}  // namespace

TEST_CASE("a race names a misspelt compressor, and refuses an impossible entrant before it runs anything") {
  CHECK(has(refusal([] { entrants_of_schemes("none,topk"); }), "unknown scheme or compressor 'topk'; did you mean 'top_k'?"));
  CHECK(has(refusal([] { entrants_of_schemes("none,qwertz"); }), "; compressors known: "));
  CHECK(refusal([] { entrants_of_schemes("none,asdg"); }).empty());  // like a scheme: the scenario's own message says so
  const TemporaryFolder folder;
  Race race;
  race.scenario = folder.write("race.yaml", cluster(3));
  race.timing_only = true;
  race.entrants = entrants_of_schemes("ssgd,{kind: sgp, compression: top_k}");
  const RaceReader reader(race);
  const std::string line = refusal([&] { check_runs(race, reader); });
  CHECK(has(line, "--schemes {kind: sgp, compression: top_k}: training.compression: sgp"));
}

}  // namespace refused_entrants_test
