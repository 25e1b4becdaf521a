// `-` is standard input wherever a scenario, a sweep or a claim is read, and `init` writes what can be read there.
#include <doctest/doctest.h>

#include "tests/program/workplace.hpp"
#include "tests/support/text.hpp"

namespace standard_input_test {

using namespace straggler::test;

namespace {

const std::string scenario = on_small_cluster(16, 1200, 100, "  stop: {epochs: 1}\n");

}  // namespace

TEST_CASE("run, check and race of - are those of the file that standard input holds") {
  const Workplace place;
  place.write("small.yaml", scenario);
  REQUIRE(place.shell("straggler run small.yaml --quiet --timing-only --out file").code == 0);
  REQUIRE(place.shell("straggler run - --quiet --timing-only --out piped < small.yaml").code == 0);
  auto file = place.files("file"), piped = place.files("piped");
  file.erase("run.json");
  piped.erase("run.json");
  CHECK((file == piped));
  CHECK(place.shell("straggler check - < small.yaml").out == place.shell("straggler check small.yaml").out);
  const std::string race = " --schemes ssgd,asgd --timing-only --seeds 5 --quiet --no-store --out ";
  REQUIRE(place.shell("straggler race small.yaml" + race + "first").code == 0);
  REQUIRE(place.shell("straggler race -" + race + "second < small.yaml").code == 0);
  CHECK(place.read("first/race.csv") == place.read("second/race.csv"));
}

TEST_CASE("sweep and validate read their files from standard input, and find what these name from the current folder") {
  const Workplace place;
  place.write("small.yaml", scenario);
  place.write("try.yaml", "sweep: 1\nname: try\nscenario: small.yaml\naxes: {training.scheme: [ssgd, asgd]}\ntiming_only: true\n");
  REQUIRE(place.shell("straggler sweep - --quiet --no-store < try.yaml").code == 0);
  CHECK(has(place.read("results/try/points.csv"), "ssgd"));
  place.write("measured.csv", "workers,samples_per_second\n3,100\n");
  place.write("claim.yaml", R"(claim: 1
title: any
source: here
scenario: small.yaml
measured: measured.csv
bind: {workers: "cluster.workers[0].count"}
compare: {column: samples_per_second, metric: samples_per_second}
bound: {mape: 1000000%}
)");
  const auto done = place.shell("straggler validate - --out claims < claim.yaml");
  CHECK_MESSAGE(done.code == 0, done.err);
}

TEST_CASE("an error says where in standard input it is") {
  const Workplace place;
  const auto wrong = place.shell("echo \"straggler: 2\" | straggler check -");
  CHECK(wrong.code == 2);
  CHECK(has(wrong.err, "standard input:1:"));
  CHECK_FALSE(has(wrong.err, "\n-:"));
  const auto empty = place.shell("straggler run - </dev/null");
  CHECK(empty.code == 2);
  CHECK(empty.err == "standard input: is empty; write a scenario that begins with 'straggler: 1'\n");
  const auto kind = place.shell("echo \"sweep: 1\" | straggler run -");
  CHECK(kind.code == 2);
  CHECK(has(kind.err, "standard input: is a sweep file, for `straggler sweep -`"));
}

TEST_CASE("init prints a scenario that is valid as it is, and runs") {
  const Workplace place;
  const auto check = place.shell("straggler init | straggler check -");
  CHECK(check.code == 0);
  CHECK(check.err == "");
  CHECK_FALSE(has(check.out, "warning"));
  CHECK(place.shell("straggler init | straggler run - --quiet").code == 0);
  CHECK(place.summary("results/first").at("outcome") == "target_reached");
  for (const char* scheme : {"ssgd", "fedavg", "{kind: local_sgd, steps: 8}", "{kind: nonblocking, minibatch: 32}"})
    CHECK(place.shell("straggler init | straggler check - --set \"training.scheme=" + std::string(scheme) + "\"").code == 0);
}

TEST_CASE("init FILE writes the same to a new file, and never over another") {
  const Workplace place;
  const std::string text = place.shell("straggler init").out;
  CHECK(place.shell("straggler init mine.yaml").code == 0);
  CHECK(place.read("mine.yaml") == text);
  place.write("mine.yaml", "something else");
  const auto again = place.shell("straggler init mine.yaml");
  CHECK(again.code == 2);
  CHECK(again.err == "straggler: mine.yaml: is there already, and init never overwrites; name another file\n");
  CHECK(place.read("mine.yaml") == "something else");
  const auto lost = place.shell("straggler init nowhere/mine.yaml");
  CHECK(lost.code == 2);
  CHECK(lost.err == "straggler: nowhere/mine.yaml: there is no folder nowhere; make it, or name another file\n");
}

}  // namespace standard_input_test
