// Recipes of `init`: each is a scenario that is valid as it is, and says how far off it was.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/program/workplace.hpp"
#include "tests/support/text.hpp"

namespace recipes_test {

using namespace straggler::test;

namespace {

std::vector<std::string> names(const Workplace& place, const std::string& group) {
  std::vector<std::string> all;
  for (const auto& entry : nlohmann::json::parse(place.shell("straggler list " + group + " --json").out)) all.push_back(entry["name"]);
  return all;
}

}  // namespace

TEST_CASE("every recipe is valid as it is, without a warning, and says its errors") {
  const Workplace place;
  const std::vector<std::string> machines = names(place, "machines"), frameworks = names(place, "frameworks");
  REQUIRE(machines.size() >= 8);
  REQUIRE(frameworks.size() >= 6);
  for (const std::string& machine : machines)
    for (const std::string& framework : frameworks) {
      if (machine != "pcie_host_memory" && machine != "dgx_h100" && framework != "ddp") continue;  // the others differ in figures alone
      CAPTURE(machine);
      CAPTURE(framework);
      const std::string init = "straggler init --machine " + machine + " --framework " + framework;
      const std::string text = place.shell(init).out;
      CHECK(has(text, "where it was found: "));
      CHECK(has(text, "on another table: "));
      CHECK(has(text, "name: " + framework + "_" + machine + "\n"));
      CHECK(has(text, "intra: {machine: " + machine + "}"));
      for (const char* const figures : {"workers: [", "link: {", "cost: {", "batch: {"}) {  // those of nobody's measurement
        const std::size_t begin = text.find(figures);
        CHECK_MESSAGE(has(text.substr(begin, text.find('\n', begin) - begin), "# guess"), figures);
      }
      const auto check = place.shell(init + " | straggler check -");
      CHECK_MESSAGE(check.code == 0, check.err);
      CHECK(check.err == "");
      CHECK_MESSAGE(!has(check.out, "warning"), check.out);
    }
}

TEST_CASE("a recipe states errors where they were measured, and that there is no table where they were not") {
  const Workplace place;
  const std::string l4 = place.shell("straggler init --machine pcie_host_memory").out;  // the framework is ddp
  CHECK(has(l4, "(claim ddp_l4)"));
  CHECK(has(l4, "(claim v100_wfbp)"));
  CHECK(has(l4, "scheme: ssgd"));
  const std::string guess = place.shell("straggler init --framework fsdp").out;  // the machine is pcie
  CHECK(has(guess, "intra: {machine: pcie}"));
  CHECK(has(guess, "sharding: {stage: 3}"));
  CHECK(has(guess, "where it was found: no table\n"));
  CHECK(has(guess, "it is a guess"));
  CHECK(place.shell("straggler init --machine dgx1 --framework byteps mine.yaml").code == 0);
  CHECK(has(place.read("mine.yaml"), "servers: {count: 2}"));
  CHECK(place.shell("straggler init --machine dgx1 mine.yaml").code == 2);  // never over another
  CHECK(has(place.shell("straggler init --machine dgx1").out,
            "per_step: 6ms} # per_step: fitted to 1 and 2 hosts of 4 V100 (claim puhti_ddp)"));
  for (const auto& entry : nlohmann::json::parse(place.shell("straggler list machines --json").out))
    CHECK(has(entry["reference"], ": a guess"));  // no latency inside a host has a source
}

TEST_CASE("an unknown machine or framework is refused with the nearest one") {
  const Workplace place;
  const auto refused = [&](const std::string& options) {
    const auto done = place.shell("straggler init " + options);
    CHECK(done.code == 2);
    CHECK(done.out.empty());
    return done.err;
  };
  CHECK(has(refused("--machine dgx2"), "unknown machine 'dgx2'; known: dgx1, "));  // another machine
  CHECK(has(refused("--machine dgx"), "unknown machine 'dgx'; did you mean 'dgx1'?"));
  CHECK(has(refused("--framework hovorod"), "unknown framework 'hovorod'; did you mean 'horovod'?"));
  CHECK(has(refused("--framework DDP"), "unknown framework 'DDP'"));
  CHECK(has(refused("--machine \"\""), "--machine is empty"));
  CHECK(has(refused("--machine"), "--machine"));
  CHECK(has(place.shell("straggler list frameworks ddpp").err, "did you mean 'ddp'?"));
}

}  // namespace recipes_test
