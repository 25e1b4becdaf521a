// What a first-time user of compression found: learning that prices changed, times that start-up changed, and input that nobody doubted.
#include <doctest/doctest.h>

#include <algorithm>

#include "scenarios/experiment/update_times.hpp"
#include "tests/schemes/compressed_runs.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

const std::string by_factors = "training.compression={kind: powersgd, rank: 1}";
const Sets by_all_reduce = {"training.scheme={kind: ssgd, via: all_reduce}", by_factors};

std::vector<std::string> warnings_of(const Sets& sets, const std::string& yaml = cluster(2)) {
  RunOptions options;
  options.timing_only = true;
  return Experiment(read_scenario_text(yaml, "test.yaml", sets), options).explain().warnings;
}

bool any_says(const std::vector<std::string>& warnings, const std::string& text) {
  return std::ranges::any_of(warnings, [&](const std::string& warning) { return has(warning, text); });
}

}  // namespace

TEST_CASE("the cost model does not change what powersgd learns") {
  // The priced model's matrices are so small that they travel whole; those that learn have factors. And the other way around.
  const Result plain = run(cluster(3), by_all_reduce);
  for (const char* model : {"{kind: mlp, hidden: [1]}", "resnet50_imagenet"}) {
    CAPTURE(model);
    const Result priced = run(cluster(3), with(by_all_reduce, {std::string("workload.cost.model=") + model}));
    CHECK(same_weights(plain, priced));
  }
  CHECK(has(refusal_of(with(by_all_reduce, {"workload.cost.bytes=1MB"})),
            "training.compression: powersgd factors matrices, and workload.cost.bytes has none"));
}

TEST_CASE("the time of an update is that of a cluster in step, for any stop of the scenario") {
  // Sixteen workers behind one server: it sends one answer after the other, each of 464 B at 10 kB/s.
  const double answer = 464 / 10e3;
  for (const char* updates : {"1", "40", "4000"}) {
    const auto times = update_times(read_scenario_text(cluster(16), "test.yaml",
                                                       {"training.scheme=asgd", "cluster.network.link={bandwidth: 10kB/s, latency: 0s}",
                                                        top_k_of("0.1"), std::string("training.stop={updates: ") + updates + "}"}));
    REQUIRE(times);
    CHECK(times->whole == doctest::Approx(answer).epsilon(0.01));
    CHECK(times->compressed == doctest::Approx(answer).epsilon(0.01));  // answers are whole
  }
}

TEST_CASE("coding that would take days is refused with its place") {
  const Sets large = {"training.scheme=asgd", top_k_of("0.1"), "workload.cost.model=resnet50_imagenet"};
  CHECK(has(refusal_of(with(large, {"devices.node.compress=1kbps"})), "devices.node.compress: 1kbps takes more than a day"));
  CHECK(has(refusal_of(with(large, {"cluster.servers.compress=1kbps"})), "cluster.servers.compress: "));
  CHECK(refusal_of(with(large, {"devices.node.compress=1GB/s"})).empty());
}

TEST_CASE("check says where compression saves nothing, and where feedback is not used") {
  CHECK(any_says(warnings_of({"training.scheme=asgd", top_k_of("0.9")}),
                 "a message is not smaller with training.compression: top_k: 464 B before"));
  CHECK(!any_says(warnings_of({"training.scheme=asgd", top_k_of("0.1")}), "is not smaller"));
  const Sets gossip = {"training.scheme={kind: dpsgd, gamma: 0.4}"};
  CHECK(any_says(warnings_of(with(gossip, {top_k_of("0.1", false)}), cluster(3)), "error_feedback has no effect: dpsgd sends"));
  CHECK(!any_says(warnings_of(with(gossip, {"training.compression=top_k"}), cluster(3)), "error_feedback"));
  CHECK(any_says(warnings_of({"training.scheme={kind: ssgd, via: all_reduce}", top_k_of("0.1")}, cluster(1)),
                 "one worker alone sends nothing"));
}
