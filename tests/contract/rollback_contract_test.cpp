// Every registered scheme states whether it can start again from a checkpoint; those that can do, and the others are refused by name.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "sim/training/scheme.hpp"
#include "tests/simulated/books.hpp"
#include "tests/support/run.hpp"
#include "tests/support/sanitized.hpp"

namespace rollback_contract_test {

using namespace straggler;
using namespace straggler::test;

namespace {

std::string text(const SchemeVariant& variant, const std::string& more_optimizer = ", momentum: 0.9") {
  const bool one = variant.entry->only_workers.has_value();
  return scenario_text({.name = "rollback",
                        .seed = 5,
                        .node = "{compute: {affine: {overhead: 1ms, per_sample: 0.3ms}}, update: 100MB/s}",
                        .workers = one ? "[{count: 1, device: node}]"
                                   : variant.one_host()
                                       ? "[{count: 3, device: node, per_host: 4}, {count: 1, device: node, slowdown: 2, same_host: true}]"
                                       : "[{count: 3, device: node}, {count: 1, device: node, slowdown: 2}]",
                        .servers = std::string("{count: ") + (variant.exchange() == Exchange::server ? "1" : "0") + ", update: 50MB/s}",
                        .network = std::string("{link: {bandwidth: 100Mbps, latency: 1ms}") +
                                   (variant.one_host() ? ", intra: {bandwidth: 100Mbps, latency: 1ms}" : "") + "}",
                        .data = "{kind: coordinates, samples: 400, test_samples: 100}",
                        .cost = "{bytes: 100000B}",
                        .scheme = variant.text(),
                        .batch = "{per_worker: 40}",
                        .optimizer = "{kind: sgd, learning_rate: 0.05" + more_optimizer + "}",
                        .stop = "{updates: 12, simulated_time: 100s}"});
}

const std::string recovery = "training.recovery={kind: rollback, checkpoint: {every: {updates: 3}, save: 3ms}, detect: 5ms, restart: 7ms}";

std::vector<std::string> crashes(const std::vector<double>& at) {
  std::string all;
  for (std::size_t i = 0; i < at.size(); ++i)
    all += (i ? ", " : "") + std::string("{kind: crash, worker: 0, at: ") + std::to_string(at[i]) + "s, restart_after: 4ms}";
  return {recovery, "cluster.faults=[" + all + "]"};
}

}  // namespace

TEST_CASE("every scheme either rolls back or is refused by its name") {
  for (const SchemeVariant& variant : all_scheme_variants()) {
    CAPTURE(variant.text());
    const RollsBack rolls_back = variant.entry->rolls_back(variant.parameters);
    if (rolls_back == RollsBack::never) {
      try {
        run_timing(text(variant), {recovery});
        FAIL("it is not refused");
      } catch (const ScenarioErrors& refused) {
        CHECK(std::string(refused.what()).find(variant.entry->name) != std::string::npos);
        CHECK(std::string(refused.what()).find("training.recovery.kind") != std::string::npos);
      }
      continue;
    }
    const Result undisturbed = run_timing(text(variant), {recovery});
    CHECK(undisturbed.record.recovery.rollbacks == 0);
    const double end = undisturbed.record.end.seconds();
    const Result disturbed = run_timing(text(variant), crashes({0.05 * end, 0.33 * end, 0.7 * end, 1.1 * end}));
    CHECK(disturbed.record.outcome == Outcome::completed);
    CHECK(disturbed.record.failures.value_or(0) > 0);
    check_books(disturbed, false);
    CHECK((disturbed.record.recovery.rollbacks > 0) == (rolls_back == RollsBack::together));
    if (rolls_back != RollsBack::together) continue;
    CHECK(disturbed.record.updates == undisturbed.record.updates);
    CHECK(disturbed.record.samples == undisturbed.record.samples);
    CHECK(disturbed.record.end > undisturbed.record.end);
    // A timeout looks at the clock.
    if (variant.entry->name != "drop_compute") CHECK(disturbed.record.weights_key == undisturbed.record.weights_key);
  }
}

TEST_CASE("wherever a failure strikes, synchronous schemes end in the weights of the undisturbed run") {
  for (const char* scheme :
       {"{kind: ssgd}", "{kind: ssgd, via: server}", "{kind: local_sgd, steps: 3}", "{kind: local_sgd, steps: 2, via: server}",
        "{kind: diloco, steps: 4}", "{kind: diloco, steps: 4, fragments: 2}", "{kind: slow_momentum, steps: 2}"})
    for (const char* fidelity : {"fluid", "stepwise"}) {
      CAPTURE(scheme);
      const bool server = std::string(scheme).find("server") != std::string::npos;
      const std::string yaml = scenario_text({.seed = 3,
                                              .node = "{compute: {affine: {per_sample: 1ms}}, jitter: {kind: gamma, shape: 2}}",
                                              .workers = "[{count: 3, device: node}]",
                                              .servers = server ? "{count: 2}" : "{count: 0}",
                                              .network = "{link: {bandwidth: 100Mbps, latency: 1ms}}",
                                              .cost = "{bytes: 300000B}",
                                              .scheme = scheme,
                                              .batch = "{per_worker: 20}",
                                              .optimizer = "{kind: adam, learning_rate: 0.01}",
                                              .stop = "{updates: 9}"});
      const std::string move = std::string("cluster.network.collective.fidelity=") + fidelity;
      const Result undisturbed = run_timing(yaml, {move, recovery});
      const double end = undisturbed.record.end.seconds();
      for (double at = 0.013 * end; at < end; at += sanitized ? end / 3 : end / 17) {
        std::vector<std::string> sets = crashes({at, at + 0.02});
        sets.push_back(move);
        const Result disturbed = run_timing(yaml, sets);
        CHECK(disturbed.record.weights_key == undisturbed.record.weights_key);
        CHECK(disturbed.record.recovery.rollbacks > 0);
        check_time(disturbed);
        CHECK(disturbed.record.bytes_sent == disturbed.record.bytes_received + disturbed.record.bytes_lost);
      }
    }
}

TEST_CASE("whoever is up goes on without the others, and they come back, whenever machines fail and checkpoints are due") {
  std::size_t tried = 0, shrunk = 0;
  for (const SchemeVariant& variant : all_scheme_variants()) {
    if (variant.entry->rolls_back(variant.parameters) != RollsBack::together || variant.entry->only_workers) continue;
    CAPTURE(variant.text());
    ++tried;
    const double end = run_timing(text(variant)).record.end.seconds();
    for (int seed = 0; seed < (sanitized ? 2 : check_long ? 300 : 30); ++seed) {
      CAPTURE(seed);
      // An update is published, and its messages move, at any moment of a life; a checkpoint is due at each update, or at some.
      const auto law = [&](double mean) { return "{kind: exponential, mean: " + std::to_string(mean * end) + "s}"; };
      const std::string checkpoint = seed % 3 == 0 ? "{updates: 1}" : seed % 3 == 1 ? "{updates: 3}" : std::to_string(0.1 * end) + "s";
      const Result result =
          run_timing(text(variant), {"seed=" + std::to_string(seed),
                                     "cluster.faults=[{kind: random, of: worker, every: " + law(1.5) + ", repair: " + law(0.15) + "}]",
                                     "training.recovery={kind: rollback, checkpoint: {every: " + checkpoint +
                                         ", save: " + std::to_string(0.01 * end) + "s}, detect: 1ms, restart: 2ms, without: shrink}"});
      CHECK(result.record.outcome == Outcome::completed);
      CHECK(result.record.updates == 12);
      check_time(result);
      for (const WorkerRecord& worker : result.record.workers) shrunk += worker.split[Phase::down] > Time() ? 1 : 0;
    }
  }
  CHECK(tried > 5);
  CHECK(shrunk > tried);
}

TEST_CASE("a checkpoint holds what messages have left out, and the weights themselves are equal") {
  const auto yaml = [](const char* scheme) {
    return scenario_text({.seed = 4,
                          .workers = "[{count: 3, device: node}]",
                          .servers = "{count: 0}",
                          .network = "{link: {bandwidth: 10Mbps, latency: 1ms}}",
                          .data = "{kind: coordinates, samples: 600, test_samples: 60}",
                          .scheme = scheme,
                          .batch = "{per_worker: 20}",
                          .optimizer = "{kind: sgd, learning_rate: 0.05, momentum: 0.9}",
                          .stop = "{updates: 9}",
                          .evaluate = "{every: {updates: 2}}"});
  };
  for (const char* scheme : {"{kind: ssgd}", "{kind: local_sgd, steps: 2}", "{kind: diloco, steps: 3}"})
    for (const char* compression : {"none", "{kind: top_k, fraction: 0.1}", "{kind: powersgd, rank: 1}", "{kind: qsgd, levels: 4}"}) {
      CAPTURE(scheme);
      CAPTURE(compression);
      const std::vector<std::string> sets = {std::string("training.compression=") + compression, recovery};
      const Result undisturbed = run(yaml(scheme), sets);
      const double end = undisturbed.record.end.seconds();
      std::vector<std::string> faults = crashes({0.3 * end, 0.75 * end});
      faults.push_back(sets[0]);
      const Result disturbed = run(yaml(scheme), faults);
      CHECK(disturbed.record.recovery.lost_updates > 0);
      CHECK(disturbed.weights == undisturbed.weights);
      CHECK(disturbed.record.final_test_loss == undisturbed.record.final_test_loss);
      std::size_t lost = 0;
      for (const CurvePoint& point : disturbed.record.curve) lost += point.lost;
      CHECK(disturbed.record.curve.size() == undisturbed.record.curve.size() + lost);
    }
}

}  // namespace rollback_contract_test
