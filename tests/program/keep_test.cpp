// --keep: large tables that nobody asked for are not written, and nothing else changes.
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>

#include "tests/program/workplace.hpp"
#include "tests/support/text.hpp"

namespace keep_test {

using straggler::test::has;
using straggler::test::Workplace;

namespace {

const std::string scenario = straggler::test::on_small_cluster(8, 1000, 100, "  stop: {updates: 30}\n");

const std::map<std::string, std::set<std::string>> files_of = {{"order", {"order.csv", "choices.csv"}},
                                                               {"workers", {"workers.csv"}},
                                                               {"links", {"links.csv"}},
                                                               {"staleness", {"staleness.csv"}},
                                                               {"page", {"report.html"}}};

}  // namespace

TEST_CASE("run --keep writes the tables it names; all other files are the same bytes") {
  const Workplace place;
  place.write("small.yaml", scenario);
  REQUIRE(place.shell("straggler run small.yaml --quiet --out all").code == 0);
  const auto all = place.files("all");
  for (const auto& [name, files] : files_of)
    for (const std::string& file : files) CHECK(all.contains(file));
  for (const char* const math : {"", " --timing-only"})
    for (const std::string kept :
         {"none", "summary,curve", "order", "workers,links", "staleness", "order,workers,links,staleness,page", "all"}) {
      CAPTURE(kept);
      const auto whole = place.shell(std::string("straggler run small.yaml --quiet --force --out whole") + math);
      const auto part = place.shell(std::string("straggler run small.yaml --quiet --force --out part") + math + " --keep " + kept);
      REQUIRE_MESSAGE(part.code == 0, part.err);
      std::map<std::string, std::string> expected = place.files("whole");
      for (const auto& [name, files] : files_of)
        if (kept != "all" && kept.find(name) == std::string::npos)
          for (const std::string& file : files) CHECK(expected.erase(file) == 1);
      std::map<std::string, std::string> made = place.files("part");
      CHECK(made.erase("run.json") == 1);  // wall time
      expected.erase("run.json");
      CHECK(made.contains("report.html") == expected.contains("report.html"));
      made.erase("report.html");  // has the wall time, too
      expected.erase("report.html");
      CHECK(made == expected);
      CHECK(place.shell("straggler report part && straggler compare whole part").code == 0);
    }
}

TEST_CASE("run --keep: errors are reported, and commands that need a missing table, too") {
  const Workplace place;
  place.write("small.yaml", scenario);
  const auto unknown = place.shell("straggler run small.yaml --keep order,worker");
  CHECK(unknown.code == 2);
  CHECK(has(unknown.err, "--keep: unknown table 'worker'; did you mean 'workers'?"));
  REQUIRE(place.shell("straggler run small.yaml --quiet --out few --keep links").code == 0);
  const auto replay = place.shell("straggler run small.yaml --replay few --out again");
  CHECK(replay.code == 2);
  CHECK(has(replay.err, "there is no choices.csv; name the result folder of a run (one with --keep needs order in it)"));
}

}  // namespace keep_test
