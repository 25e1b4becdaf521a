#include <doctest/doctest.h>

#include <string>

#include "tests/program/workplace.hpp"

namespace race_test {

using straggler::test::Workplace;

namespace {

const std::string scenario =
    straggler::test::on_small_cluster(16, 3000, 500, "  stop: {epochs: 2, target_accuracy: 0.7}\n  evaluate: {every: {epochs: 0.25}}\n");
const char* const race = "race small.yaml --schemes ssgd,asgd --tune learning_rate,momentum --budget 8 --seeds 4 --no-store";

}  // namespace

TEST_CASE("a race that is killed again and again ends as one that was not") {
  const Workplace place;
  place.write("small.yaml", scenario);
  const Workplace::Done whole = place.shell(std::string("straggler ") + race + " --jobs 2 --out whole --quiet");
  REQUIRE(whole.code == 0);
  CHECK(whole.err.empty());
  CHECK(whole.out.find("time to 0.7 (target): ") != std::string::npos);
  for (int tenths = 0; tenths < 8; ++tenths)
    place.shell("timeout -s KILL 0.0" + std::to_string(tenths + 1) + " " STRAGGLER_PROGRAM " " + race + " --jobs 1 --out killed --quiet");
  const Workplace::Done last = place.shell(std::string("straggler ") + race + " --jobs 1 --out killed");
  CHECK(last.code == 0);
  for (const std::string file : {"/race.csv", "/tuning.csv", "/verdicts.csv"}) {
    CAPTURE(file);
    CHECK_FALSE(place.read("whole" + file).empty());
    CHECK(place.read("killed" + file) == place.read("whole" + file));
  }
  const Workplace::Done again = place.shell(std::string("straggler ") + race + " --out killed");
  CHECK(again.err.find("24 points were already finished") != std::string::npos);
  CHECK(again.out.substr(0, again.out.find("results in")) == whole.out.substr(0, whole.out.find("results in")));
  // A race without tuning has none of these runs; with --force it leaves no table of the tuning behind.
  const std::string without = "straggler race small.yaml --schemes ssgd,asgd --seeds 4 --no-store --out killed";
  CHECK(place.shell(without).err.find("whose 24 finished points would be lost") != std::string::npos);
  CHECK(std::filesystem::exists(place.folder() / "killed/tuning.csv"));
  CHECK(place.shell(without + " --force").code == 0);
  CHECK_FALSE(std::filesystem::exists(place.folder() / "killed/tuning.csv"));
}

TEST_CASE("refusals of race, in one line each") {
  const Workplace place;
  place.write("small.yaml", scenario);
  const auto refused = [&](const std::string& arguments, const std::string& line) {
    CAPTURE(arguments);
    const Workplace::Done done = place.shell("straggler race " + arguments);
    CHECK(done.code == 2);
    CHECK(done.out.empty());
    CAPTURE(done.err);
    CHECK(done.err.find(line) != std::string::npos);
    CHECK(done.err.find('\n') == done.err.size() - 1);
  };
  refused("", "SCENARIO.yaml is missing");
  refused("none.yaml --schemes ssgd,asgd", "none.yaml");
  refused("small.yaml", "a race needs at least two entrants");
  refused("small.yaml --schemes ssgd", "a race needs at least two entrants");
  refused("small.yaml --schemes ssgd,asdg", "unknown scheme");
  refused("small.yaml --schemes ssgd,ssgd", "is there twice");
  refused("small.yaml --schemes ssgd,local_sgd", "training.scheme.steps: is missing");
  refused("small.yaml --schemes ssgd,asgd --entrant slow", "--entrant slow: is ");
  refused("small.yaml --schemes ssgd,asgd --seeds 1", "--seeds");
  refused("small.yaml --schemes ssgd,asgd --seeds 51", "at most 50");
  refused("small.yaml --schemes ssgd,asgd --tune momentum --budget 0", "--budget");
  refused("small.yaml --schemes ssgd,asgd --budget 3", "need --tune");
  refused("small.yaml --schemes ssgd,asgd --tune momentun", "unknown setting");
  refused("small.yaml --schemes ssgd,asgd --tune momentum --timing-only", "--tune needs the math");
  refused("small.yaml --schemes ssgd,asgd --tune momentum --set training.optimizer.momentum=0.5", "is tuned");
  refused("small.yaml --schemes ssgd,asgd --set \"training.stop={epochs: 1}\"", "there is no finish");
  place.shell("mkdir full && echo hello >full/letter");
  refused("small.yaml --schemes ssgd,asgd --out full", "full: is not empty and holds no race");
}

}  // namespace race_test
