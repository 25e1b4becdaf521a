// `explain`: a run that diverges earlier saves nothing, updates of even workers count once, epochs have a serial part, and a small cause is
// no bottleneck.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/reasons/explain_said.hpp"
#include "tests/support/run.hpp"
#include "tests/support/text.hpp"

namespace explained_causes_test {

using namespace straggler;
using namespace straggler::test;

namespace {

Explained explained(const std::string& yaml, const std::vector<std::string>& sets, bool timing_only = true) {
  ExplainOptions options;
  options.run.timing_only = timing_only;
  options.run.threads = 1;
  return explain(read_scenario_text(yaml, "test.yaml", sets), options);
}

Slowdowns slowdowns_of(int workers, const std::vector<std::string>& sets) {
  const Scenario scenario = read_scenario_text(cluster(workers), "test.yaml", sets);
  const EachOf in_order = [](std::size_t count, const std::function<void(std::size_t)>& work) {
    for (std::size_t i = 0; i < count; ++i) work(i);
  };
  return slowdowns(scenario, Blueprint(scenario, "auto"), in_order, {});
}

std::string said(const Explained& all) {
  std::string text;
  for (const std::string& sentence : plain(explain_said(all))) text += sentence + "\n";
  return text;
}

/// Learns at a rate at which the loss soon overflows.
std::vector<std::string> diverging(const char* rate) {
  return {"training.scheme=asgd",
          std::string("training.optimizer={kind: sgd, momentum: 0.9, learning_rate: ") + rate + "}",
          "workload.data={kind: gaussian, samples: 4000, test_samples: 200, features: 10, classes: 4}",
          "devices.node.jitter={kind: lognormal, sigma: 0.3}",
          "cluster.network.link={bandwidth: 1MB/s, latency: 1ms}",
          "training.batch.per_worker=10",
          "training.stop={epochs: 2}",
          "training.evaluate={every: {updates: 10}}"};
}

}  // namespace

TEST_CASE("no row is shorter because it diverges earlier") {
  for (const char* rate : {"4", "40"}) {
    CAPTURE(rate);
    const std::vector<std::string> sets = diverging(rate);
    const Explained all = explained(cluster(6), sets, false), timed = explained(cluster(6), sets);
    REQUIRE(all.diverged);
    const std::uint64_t updates = all.row(Cause::nothing).figures->updates;
    bool some_earlier = false;
    for (const CauseRow& row : all.rows) {
      CAPTURE(name_of(row.cause));
      if (row.figures) CHECK(row.figures->updates >= updates);
      if (!row.figures && has(row.note, "diverges after ")) {
        some_earlier = true;
        CHECK_FALSE(row.seconds_saved);
        CHECK_FALSE(row.share);
        const std::string count = row.note.substr(std::string("diverges after ").size());
        CHECK(std::stoull(count) < updates);
      }
      if (row.cause == Cause::staleness && row.share) CHECK(*row.share == doctest::Approx(0));
    }
    const std::string words = said(all);
    CHECK_FALSE(has(words, "nan"));
    CHECK_FALSE(has(explain_csv(all), "nan"));
    CHECK(has(words, "The run diverges."));
    if (some_earlier) CHECK(has(explain_text(all), "diverges after "));
    // The timing alone answers for each cause but staleness.
    for (const CauseRow& row : timed.rows)
      if (row.cause != Cause::staleness) CHECK(row.figures.has_value());
  }
}

TEST_CASE("two equal workers are even, whatever else they compute, and with whom they share a core") {
  const std::vector<std::vector<std::string>> kinds = {
      {"training.scheme={kind: local_sgd, steps: 2}", "devices.node.update=1MB/s"},
      {"training.scheme=ssgd", "devices.node.update=1MB/s", "cluster.network.link={bandwidth: 1MB/s, latency: 1ms}"},
      {"training.scheme={kind: ssgd, via: server}", "training.compression={kind: top_k, fraction: 10%}", "devices.node.compress=1MB/s"},
      {"training.scheme=asgd", "cluster.network.link={bandwidth: 1MB/s, latency: 1ms}"},
      {"training.scheme=ssgd", "cluster.workers=[{count: 2, device: node, per_host: 2, cores_per_host: 1}]"},
      {"training.scheme={kind: local_sgd, steps: 2}", "devices.node.update=1MB/s",
       "cluster.workers=[{count: 2, device: node, per_host: 2, cores_per_host: 1}]"}};
  for (const std::vector<std::string>& sets : kinds) {
    CAPTURE(sets.front());
    CAPTURE(sets.back());
    const Slowdowns all = slowdowns_of(2, sets);
    REQUIRE(all.note.empty());
    CHECK(all.all() == doctest::Approx(1).epsilon(1e-6));
    CHECK(all.batch_seconds == doctest::Approx(0.1).epsilon(1e-6));  // 100 samples of 1 ms
    for (const Slowdowns::Kind& kind : all.kinds) CHECK(kind.slowdown == doctest::Approx(1).epsilon(1e-6));
    for (const Slowdowns::Worker& worker : all.workers) CHECK(worker.slowdown == doctest::Approx(1).epsilon(1e-6));
  }
}

TEST_CASE("one slow worker with updates: even ones take the mean batch and the update once") {
  // Steps of 3 b + U, where an update takes U, against 2 b + U.
  const std::vector<std::string> sets = {"training.scheme=ssgd", "devices.node.update=100kB/s", "workload.cost={bytes: 8kB}",
                                         "cluster.workers=[{count: 1, device: node}, {count: 1, device: node, slowdown: 3}]"};
  constexpr double b = 0.1, update = 8e3 / 1e5;
  const Slowdowns all = slowdowns_of(2, sets);
  REQUIRE(all.note.empty());
  CHECK(all.batch_seconds == doctest::Approx(2 * b).epsilon(1e-6));
  CHECK(all.all() == doctest::Approx((3 * b + update) / (2 * b + update)).epsilon(1e-3));
}

TEST_CASE("the serial part of epochs is a cause, and goes with the cause alone") {
  // Ten updates of 0.1 s an epoch of 1,000 samples on one worker; a pause of 3 s after each epoch but the last.
  const std::vector<std::string> sets = {"workload.data={kind: coordinates, samples: 1000, test_samples: 100}", "training.stop={epochs: 5}",
                                         "workload.serial_per_epoch=3s"};
  const Explained all = explained(cluster(1), sets);
  const CauseRow& serial = all.row(Cause::serial);
  REQUIRE(serial.figures);
  CHECK(serial.figures->simulated_seconds == doctest::Approx(5 * 10 * 0.1));
  CHECK(all.row(Cause::nothing).figures->simulated_seconds - serial.figures->simulated_seconds == doctest::Approx(*serial.seconds_saved));
  CHECK(std::fmod(*serial.seconds_saved + 1e-9, 3) < 1e-6);
  CHECK(*serial.seconds_saved >= 4 * 3);
  REQUIRE(bottleneck(all) != nullptr);
  CHECK(bottleneck(all)->cause == Cause::serial);
  CHECK(all.row(Cause::all).figures->simulated_seconds == doctest::Approx(5.0));
  CHECK(explained(cluster(1), {"training.stop={updates: 4}"}).row(Cause::serial).absent);
}

TEST_CASE("the start of loaders belongs to the serial part") {
  const std::vector<std::string> sets = {"workload.data={kind: coordinates, samples: 1000, test_samples: 100}", "training.stop={epochs: 5}",
                                         "devices.node.loader={per_sample: 1us, workers: 1, prefetch: 2, start: 2s}"};
  const Explained all = explained(cluster(1), sets);
  const CauseRow& serial = all.row(Cause::serial);
  REQUIRE(serial.share);
  CHECK(*serial.seconds_saved == doctest::Approx(5 * 2).epsilon(0.01));  // of each epoch, the first one too
  CHECK(all.row(Cause::start_up).seconds_saved == serial.seconds_saved);
  CHECK(*all.row(Cause::loaders).seconds_saved < 0.01);  // what loading takes, without the start
  CHECK(bottleneck(all)->cause == Cause::serial);
}

TEST_CASE("the median worker is no slow loader, whichever of the ranks that one is") {
  // Batches of 100 samples: 0.1 s to compute, 1 s to load on one of ten workers.
  for (const int late : {0, 4, 9}) {
    CAPTURE(late);
    std::string workers = "cluster.workers=[";
    if (late > 0) workers += "{count: " + std::to_string(late) + ", device: node}, ";
    workers += "{count: 1, device: loads}";
    if (late < 9) workers += ", {count: " + std::to_string(9 - late) + ", device: node}";
    const std::vector<std::string> sets = {
        "devices.loads={compute: {affine: {per_sample: 1ms}}, loader: {per_sample: 10ms, workers: 1, prefetch: 1}}", workers + "]",
        "training.stop={updates: 20}"};
    const Explained all = explained(cluster(1), sets);
    REQUIRE(all.row(Cause::slow_workers).figures);
    CHECK(all.row(Cause::slow_workers).figures->simulated_seconds == doctest::Approx(20 * 0.1));
    CHECK(bottleneck(all)->cause == Cause::slow_workers);
  }
}

TEST_CASE("batches by speed do not hide who is slow, whatever their remainders are") {
  // Two workers of 1 ms a sample, two of 2 ms; the median one is the faster of the two in the middle.
  for (const int global : {600, 601, 602, 603}) {
    CAPTURE(global);
    const Explained all =
        explained(cluster(1), {"devices.slow={compute: {affine: {per_sample: 2ms}}}",
                               "cluster.workers=[{count: 2, device: node}, {count: 2, device: slow}]",
                               "training.batch={global: " + std::to_string(global) + ", split: by_speed}", "training.stop={updates: 10}"});
    const CauseRow& even = all.row(Cause::slow_workers);
    REQUIRE(even.figures);
    CHECK(even.figures->simulated_seconds == doctest::Approx(10 * std::ceil(global / 4.0) * 1e-3));  // 0.2 s before
    CHECK(*even.seconds_saved > 0);
  }
}

TEST_CASE("a cause below 5 % is named, but is not the bottleneck") {
  // A step is a batch of 0.1 s and twice the link's latency.
  for (const double share : {0.04, 0.06}) {
    CAPTURE(share);
    const double latency = share / (1 - share) * 0.1 / 4;  // up and down, over two links each
    const Explained all =
        explained(cluster(2), {"training.scheme={kind: ssgd, via: server}", "training.stop={updates: 400}",
                               "cluster.network.link={bandwidth: 1000GB/s, latency: " + std::to_string(1e6 * latency) + "us}"});
    CHECK(*all.row(Cause::latency).share == doctest::Approx(share).epsilon(0.01));
    CHECK((bottleneck(all) != nullptr) == (share > 0.05));
    const std::string words = said(all);
    if (share > 0.05)
      CHECK(words.starts_with("The bottleneck is latency: "));
    else
      CHECK(words.starts_with(
          "The bottleneck is computing: none of the causes costs 5 % of the time.\nThe most costly one is latency (4 %)."));
  }
}

}  // namespace explained_causes_test
