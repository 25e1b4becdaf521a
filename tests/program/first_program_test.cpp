// The first program of tools/quickstart, linked before the other commands are compiled.
#include <doctest/doctest.h>

#include <map>
#include <string>

#include "tests/program/small_scenario.hpp"
#include "tests/program/workplace.hpp"

namespace first_program_test {

using straggler::test::small;
using straggler::test::Workplace;

TEST_CASE("the first program runs and compares as the whole one does, to the same bytes, and has no other command") {
  const Workplace place;
  place.write("small.yaml", small);
  std::map<std::string, std::string> of[2];
  std::string table[2];
  const std::string programs[] = {STRAGGLER_FIRST_PROGRAM, "straggler"};
  for (int i : {0, 1}) {
    // PowerSGD multiplies matrices by Eigen, whose blocks the whole program's other kernels must not change.
    for (const std::string scheme : {"asgd", "ssgd", "ssgd --set training.compression=powersgd"}) {
      const std::string folder = scheme.substr(0, 4) + (scheme.size() > 4 ? "_compressed" : "");
      const auto done = place.shell(programs[i] + " run small.yaml --force --out " + folder + " --set training.scheme=" + scheme);
      REQUIRE_MESSAGE(done.code == 0, done.err);
      for (const auto& [name, text] : place.files(folder))
        if (name != "run.json") of[i][folder + "/" + name] = text;
    }
    const auto compared = place.shell(programs[i] + " compare asgd ssgd --out compared");
    REQUIRE_MESSAGE(compared.code == 0, compared.err);
    table[i] = compared.out;
    of[i]["page"] = place.read("compared/report.html");
  }
  CHECK(of[0].size() > 10);
  CHECK(of[0] == of[1]);
  CHECK(table[0] == table[1]);

  const auto other = place.shell(programs[0] + " sweep small.yaml");
  CHECK(other.code == 2);
  CHECK(other.err == "straggler: unknown command 'sweep'; known: run, compare (see straggler --help)\n");
}

TEST_CASE("what the first program does not link is not built for it") {
  const Workplace place;
  const std::string ninja = "ninja -C $(dirname " STRAGGLER_FIRST_PROGRAM ")/.. -t query ";
  const auto program = place.shell(ninja + "first/straggler");  // with the folders whose objects must be there
  CHECK(program.out.find("|| models/kernels/models_kernels\n") != std::string::npos);
  for (const char* room :
       {"models_other_kernels", "models_formats", "scenarios_sweep", "scenarios_import", "scenarios_serve", "validation_"}) {
    CAPTURE(room);
    CHECK(program.out.find(room) == std::string::npos);
  }
}

}  // namespace first_program_test
