#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "tests/program/workplace.hpp"

namespace sweep_test {

using straggler::test::Workplace;

namespace {

const std::string scenario = straggler::test::on_small_cluster(16, 3000, 500, "  stop: {epochs: 2}\n  evaluate: {every: {epochs: 0.5}}\n");
const char* const sweep = R"(sweep: 1
name: try
scenario: small.yaml
axes:
  training.scheme: [ssgd, asgd]
  cluster.network.link.bandwidth: [1MB/s, 2MB/s, 4MB/s]
repeats: 4
)";

void prepare(const Workplace& place) {
  place.write("small.yaml", scenario);
  place.write("sweep.yaml", sweep);
}

}  // namespace

TEST_CASE("a sweep that is killed again and again ends as one that was not") {
  const Workplace place;
  prepare(place);
  REQUIRE(place.shell("straggler sweep sweep.yaml --out whole --no-store --quiet").code == 0);
  // Later and later, so that some kills come before the first point and some near the end.
  for (int tenths = 0; tenths < 10; ++tenths)
    place.shell("timeout -s KILL 0.0" + std::to_string(tenths + 1) +
                " " STRAGGLER_PROGRAM " sweep sweep.yaml --out killed --no-store --quiet");
  const Workplace::Done last = place.shell("straggler sweep sweep.yaml --out killed --no-store");
  CHECK(last.code == 0);
  CHECK(place.read("killed/points.csv") == place.read("whole/points.csv"));
  CHECK(place.read("killed/groups.csv") == place.read("whole/groups.csv"));
  CHECK(place.shell("straggler sweep sweep.yaml --out killed --resume --no-store").err.find("24 points were already finished") !=
        std::string::npos);
}

TEST_CASE("two processes share one sweep") {
  const Workplace place;
  prepare(place);
  const Workplace::Done done = place.shell(
      "straggler sweep sweep.yaml --out both --jobs 1 --no-store >a.txt & straggler sweep sweep.yaml --out both --jobs 1 --no-store "
      ">b.txt; "
      "here=$?; wait $!; exit $((here + $?))");
  CHECK(done.code == 0);
  REQUIRE(place.shell("straggler sweep sweep.yaml --out alone --no-store --quiet").code == 0);
  CHECK(place.read("both/points.csv") == place.read("alone/points.csv"));
}

TEST_CASE("shards, merged by the program") {
  const Workplace place;
  prepare(place);
  for (const std::string shard : {"1", "2", "3"})
    REQUIRE(place.shell("straggler sweep sweep.yaml --shard " + shard + "/3 --out s" + shard + " --no-store --quiet").code == 0);
  REQUIRE(place.shell("straggler sweep --merge s1 s2 s3 --out merged").code == 0);
  REQUIRE(place.shell("straggler sweep sweep.yaml --out whole --no-store --quiet").code == 0);
  CHECK(place.read("merged/points.csv") == place.read("whole/points.csv"));
  CHECK(place.read("merged/groups.csv") == place.read("whole/groups.csv"));
}

TEST_CASE("a changed sweep reports the change and keeps valid points") {
  const Workplace place;
  prepare(place);
  REQUIRE(place.shell("straggler sweep sweep.yaml --timing-only --out here --quiet").code == 0);
  std::string changed = sweep;
  changed.replace(changed.find("4MB/s"), 5, "8MB/s");
  place.write("sweep.yaml", changed);
  const std::string said = place.shell("straggler sweep sweep.yaml --timing-only --out here").err;
  CHECK(said.find("changed, no longer: axis cluster.network.link.bandwidth: 4MB/s") != std::string::npos);
  CHECK(said.find("changed, now: axis cluster.network.link.bandwidth: 8MB/s") != std::string::npos);
  CHECK(said.find("16 points were already finished") != std::string::npos);
}

TEST_CASE("refusals of sweep, in one line each") {
  const Workplace place;
  prepare(place);
  const auto refused = [&](const std::string& arguments, const std::string& line) {
    CAPTURE(arguments);
    const Workplace::Done done = place.shell("straggler sweep " + arguments);
    CHECK(done.code == 2);
    CHECK(done.out.empty());
    CHECK(done.err.find(line) != std::string::npos);
  };
  place.write("wrong.yaml", std::string(sweep) + "set: {cluster.network.link.bandwith: 1MB/s}\n");
  refused("wrong.yaml --out nothing", "bandwith");
  refused("--merge nowhere --out nothing", "nowhere");
  refused("sweep.yaml --resume --out nothing", "--resume");
  CHECK_FALSE(std::filesystem::exists(place / "nothing"));
  refused("", "SWEEP.yaml is missing");
  refused("none.yaml", "none.yaml");
  refused("sweep.yaml --shard 4/3", "--shard is ");
  refused("sweep.yaml --jobs 0", "--jobs");
  refused("sweep.yaml --resume --out nothing", "--resume: there is no sweep.sqlite");
  refused("sweep.yaml --until-ci 0", "--until-ci");
  refused("sweep.yaml --set training.batch.per_worker=ten --out x", "training.batch.per_worker");
  refused("--merge nowhere --out merged", "nowhere/sweep.sqlite: is not there");
  place.shell("mkdir full && echo hello >full/letter");
  refused("sweep.yaml --out full", "full: is not empty and holds no sweep");
  CHECK(place.shell("straggler store inform").code == 2);
}

TEST_CASE("store info describes the store, and store clear empties it") {
  const Workplace place;
  prepare(place);
  CHECK(place.shell("straggler store info --store s.sqlite").out.find("no store yet") != std::string::npos);
  REQUIRE(place.shell("straggler sweep sweep.yaml --store s.sqlite --out a --quiet").code == 0);
  const Workplace::Done again = place.shell("straggler sweep sweep.yaml --store s.sqlite --out b");
  CHECK(again.code == 0);
  // 5 evaluations of two sets along the curve and two at the end, of 24 points.
  CHECK(again.err.find("288 of 288 evaluations came from the store") != std::string::npos);
  CHECK(place.read("a/points.csv") == place.read("b/points.csv"));
  CHECK(place.shell("straggler store clear --store s.sqlite").out.find("0 evaluations") != std::string::npos);
}

}  // namespace sweep_test
