// `straggler explain`: tables into a folder, and what it refuses.
#include <doctest/doctest.h>

#include "tests/program/workplace.hpp"

namespace straggler::test {
namespace {

TEST_CASE("explain writes its tables, prints why, and is the same each time") {
  const Workplace place;
  place.write("small.yaml", small_cluster + R"(workload: {model: softmax, data: {kind: coordinates, samples: 1000, test_samples: 100}}
training:
  scheme: asgd
  batch: {per_worker: 10}
  optimizer: {kind: sgd, learning_rate: 0.1}
  stop: {updates: 40}
)");
  const auto done = place.shell("straggler explain small.yaml");
  CHECK(done.code == 0);
  CHECK(done.out.find("The bottleneck is ") != std::string::npos);
  CHECK(done.out.find("results in results/small-explain\n") != std::string::npos);
  const auto files = place.files("results/small-explain");
  CHECK(files.size() == 6);
  for (const char* const name : {"explain.csv", "elasticities.csv", "slowdowns.csv", "step_slowdowns.csv", "report.html"})
    CHECK_MESSAGE(files.contains(name), name);
  const auto json = nlohmann::json::parse(files.at("explain.json"));
  CHECK(json["causes"].size() == 19);
  CHECK(json["causes"][7]["cause"] == "serial");
  CHECK(json["causes"][8]["cause"] == "staleness");
  CHECK(json["causes"][8]["final_test_accuracy"].is_number());
  CHECK(json["elasticities"].size() == 3);
  CHECK(json["compared"] == "simulated_s");

  CHECK(place.shell("straggler explain small.yaml --threads 1").out == done.out);
  CHECK(place.files("results/small-explain") == files);
  const auto printed = place.shell("straggler explain small.yaml --json");
  CHECK(printed.out == files.at("explain.json"));
  const auto timing = place.shell("straggler explain small.yaml --timing-only --seed 2 --set training.scheme=ssgd --out why --json");
  CHECK(timing.code == 0);
  CHECK(nlohmann::json::parse(timing.out)["scheme"] == "ssgd");
  CHECK(nlohmann::json::parse(timing.out)["causes"][0]["final_test_accuracy"].is_null());

  CHECK(place.shell("straggler run small.yaml --out run --timing-only").code == 0);
  const auto foreign = place.shell("straggler explain small.yaml --timing-only --out run");
  CHECK(foreign.code == 2);
  CHECK(foreign.err.find(": holds the results of a run; use --out ") != std::string::npos);
  CHECK(place.shell("straggler explain small.yaml --timing-only --set \"training.stop={simulated_time: 1us}\" --out early").code == 3);
  CHECK(place.shell("straggler explain small.yaml --kernels none").code == 2);
}

}  // namespace
}  // namespace straggler::test
