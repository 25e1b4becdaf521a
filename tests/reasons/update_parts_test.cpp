// What `check` says of one update: its parts by closed forms, and the cause that was put into the scenario.
#include "scenarios/reasons/update_parts.hpp"

#include <doctest/doctest.h>

#include "scenarios/schema/reader.hpp"
#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

constexpr double batch = 0.1, model = 464;  // seconds; bytes of mlp 2-16-4

UpdateParts parts_of(const std::vector<std::string>& sets, int workers = 4) {
  const UpdateParts parts = update_parts(read_scenario_text(cluster(workers), "test.yaml", sets));
  REQUIRE(parts.why_not == "");
  return parts;
}

double phase(const UpdateParts& parts, Phase which) { return parts.phases[static_cast<std::size_t>(which)]; }

std::string bound_of(const std::vector<std::string>& sets, int workers = 4) {
  const Scenario scenario = read_scenario_text(cluster(workers), "test.yaml", sets);
  return bound_text(scenario, update_parts(scenario));
}

const std::string by_ring = "training.scheme={kind: ssgd, via: all_reduce}";
const std::string ring = "cluster.network.collective={algorithm: ring}";

}  // namespace

TEST_CASE("a synchronous update is the slowest worker's batch and a ring, to the microsecond") {
  const double bandwidth = 10e3, latency = 2 * 1e-3;
  const int p = 4;
  const double reduce = 2 * (p - 1) * (latency + model / p / bandwidth);
  const std::string link = "cluster.network.link={bandwidth: 10kB/s, latency: 1ms}";
  const UpdateParts even = parts_of({by_ring, ring, link});
  CHECK(even.seconds == doctest::Approx(batch + reduce).epsilon(1e-5));
  CHECK(phase(even, Phase::compute) == doctest::Approx(batch).epsilon(1e-6));
  CHECK(phase(even, Phase::communication) == doctest::Approx(reduce).epsilon(1e-5));
  CHECK(even.bound == Cause::bandwidth);
  CHECK(even.without == doctest::Approx(batch + 2 * (p - 1) * latency).epsilon(1e-5));
  const std::string slow = "cluster.workers=[{count: 3, device: node}, {count: 1, device: node, slowdown: 3}]";
  const UpdateParts uneven = parts_of({by_ring, ring, link, slow});
  CHECK(uneven.seconds == doctest::Approx(3 * batch + reduce).epsilon(1e-5));
  CHECK(uneven.worker == 3);
  CHECK(uneven.bound == Cause::slow_workers);
  CHECK(uneven.without == doctest::Approx(batch + reduce).epsilon(1e-5));
  CHECK(bound_of({by_ring, ring, link, slow}).starts_with("slow workers: worker 3 (3x slower); an update would take "));
}

TEST_CASE("an asynchronous update of one worker is its cycle") {
  // One worker: its gradient goes up, the weights come down, and the next batch begins.
  const double cycle = batch + 2 * model / 1e6;
  const UpdateParts parts = parts_of(
      {"training.scheme=asgd", "cluster.network.link={bandwidth: 1MB/s, latency: 0s}", "cluster.workers=[{count: 1, device: node}]"});
  CHECK(parts.own_cycle);
  CHECK(parts.seconds == doctest::Approx(cycle).epsilon(1e-5));
  CHECK(phase(parts, Phase::compute) == doctest::Approx(batch).epsilon(1e-6));
  CHECK(phase(parts, Phase::communication) == doctest::Approx(2 * model / 1e6).epsilon(1e-4));
  CHECK(parts.bound == Cause::nothing);
}

TEST_CASE("each planted cause is the one that is named") {
  const std::string fast = "cluster.network.link={bandwidth: 1GB/s, latency: 0s}";
  CHECK(bound_of({by_ring, ring, fast}).starts_with("computing"));
  CHECK(bound_of({by_ring, ring, fast, "devices.node.jitter={kind: exponential}"}).starts_with("jitter"));
  CHECK(bound_of({by_ring, ring, fast, "training.recovery={kind: rollback, checkpoint: {every: {updates: 1}, save: 50ms}}"})
            .starts_with("checkpoints; an update would take 100 ms with checkpoints that take no time"));
  // Each second one failure, and half a second until all work again: without failures an update takes its batch.
  CHECK(bound_of({by_ring, ring, fast, "cluster.faults=[{kind: random, of: all, every: 1s, repair: 0s}]",
                  "training.recovery={kind: rollback, checkpoint: {every: {updates: 1}, save: 0s}, restart: 500ms}"})
            .starts_with("failures; an update would take 100 ms without failures"));
  CHECK(bound_of({by_ring, ring, "cluster.network.link={bandwidth: 1GB/s, latency: 20ms}"}).starts_with("latency"));
  CHECK(bound_of({"training.scheme={kind: ssgd, via: server}", fast, "cluster.servers={count: 1, per_message: 50ms}"})
            .starts_with("the server"));
}

TEST_CASE("an asynchronous cycle of several workers is that of one: where the window begins and ends makes no difference") {
  // Four workers alike: each computes a batch, and waits for its messages. The server's link carries one message at a time.
  const std::string link = "cluster.network.link={bandwidth: 100kB/s, latency: 0s}";
  for (const int workers : {3, 4, 7}) {
    CAPTURE(workers);
    const UpdateParts parts = parts_of({"training.scheme=asgd", link}, workers);
    CHECK(parts.own_cycle);
    CHECK(phase(parts, Phase::compute) == doctest::Approx(batch).epsilon(0.02));
  }
}

TEST_CASE("a slow spell that lasts is in the update and binds it; one that comes later is not in it") {
  const std::string fast = "cluster.network.link={bandwidth: 1GB/s, latency: 0s}";
  const auto slow = [](const char* from) {
    return std::string("cluster.faults=[{kind: slow, worker: 1, times_slower: 5, to: 1h, from: ") + from + "}]";
  };
  const UpdateParts now = parts_of({by_ring, ring, fast, slow("0s")});
  CHECK(now.seconds == doctest::Approx(5 * batch).epsilon(1e-6));
  CHECK(now.bound == Cause::faults);
  CHECK(now.without == doctest::Approx(batch).epsilon(1e-4));
  CHECK(now.faulty);
  CHECK_FALSE(now.changes);
  const UpdateParts later = parts_of({by_ring, ring, fast, slow("100s")});
  CHECK(later.bound == Cause::nothing);
  CHECK_FALSE(later.faulty);
  CHECK(later.changes);
}

TEST_CASE("the updates of the mean are updates of the run, whatever ends it, and leave out the first ones") {
  // An update is a batch. 400 samples of 40,000 are an update of four workers, so a hundredth of an epoch.
  const std::string fast = "cluster.network.link={bandwidth: 1GB/s, latency: 0s}";
  const auto window = [&](const std::string& stop) {
    const UpdateParts parts = parts_of({by_ring, ring, fast, "workload.data={kind: coordinates, samples: 40000}", "training.stop=" + stop});
    CAPTURE(stop);
    CHECK(parts.outcome == Outcome::completed);
    CHECK(parts.seconds == doctest::Approx(batch).epsilon(1e-4));
    CHECK(parts.first < parts.last);
    return std::pair(parts.first, parts.last);
  };
  const auto whole = window("{updates: 1000}");
  CHECK(whole.first > 0);
  for (const std::uint64_t updates : {20u, 10u, 1u}) {
    const std::pair cut(whole.first * updates / whole.second, updates);  // as large a part is left out
    CHECK(window("{updates: " + std::to_string(updates) + "}") == cut);
    CHECK(window("{epochs: " + std::to_string(0.01 * static_cast<double>(updates)) + "}") == cut);
    CHECK(window("{simulated_time: " + std::to_string(batch * (static_cast<double>(updates) + 0.5)) + "s}") == cut);
  }
  CHECK(window("{updates: 1000, target_accuracy: 0.9}") == whole);  // nothing is evaluated
}

TEST_CASE("no update, no parts") {
  CHECK(update_parts(read_scenario_text(cluster(5000), "test.yaml", {by_ring})).why_not == "there are more than 4,096 workers");
}
