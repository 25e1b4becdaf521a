// Searches over small scenarios.
#pragma once
#include <string>

#include "scenarios/search/crossover.hpp"
#include "scenarios/search/run_search.hpp"
#include "scenarios/search/search_said.hpp"
#include "scenarios/search/search_tables.hpp"
#include "tests/support/files.hpp"
#include "tests/support/scenarios.hpp"

namespace straggler::test {

/// Synchronous workers that are equal, without jitter, whose shares of a batch are as good as equal: what a step takes can be written
/// down.
inline const std::string clockwork_scenario =
    scenario_text({.name = "clockwork",
                   .node = "{compute: {affine: {per_sample: 10us}}}",
                   .network = "{topology: star, link: {bandwidth: 120kB/s, latency: 1ms}, collective: {algorithm: ring}}",
                   .model = "{kind: mlp, hidden: [8]}",
                   .data = "{kind: coordinates, samples: 11000000, test_samples: 200}",
                   .scheme = "{kind: ssgd, via: server}",
                   .batch = "{global: 102400}",
                   .stop = "{updates: 100}"});
inline constexpr double clockwork_bytes = 4 * (2 * 8 + 8 + 8 * 4 + 4);  // of one gradient: the plane, 8 units, 4 classes
inline constexpr double clockwork_latency = 2e-3;                       // of one message: two links
inline constexpr double clockwork_per_sample = 1e-5;

/// Learns the spirals in a moment; jitter differs from seed to seed.
inline const std::string learning_scenario =
    scenario_text({.name = "learning",
                   .seed = 5,
                   .node = "{compute: {affine: {per_sample: 1ms}}, jitter: {kind: lognormal, sigma: 0.3}}",
                   .workers = "[{count: 2, device: node}, {count: 1, device: node, slowdown: 4}]",
                   .network = "{topology: star, link: {bandwidth: 1MB/s, latency: 1ms}}",
                   .model = "{kind: mlp, hidden: [32]}",
                   .data = "{kind: coordinates, samples: 1500, test_samples: 300}",
                   .batch = "{per_worker: 20}",
                   .optimizer = "{kind: sgd, learning_rate: 0.1, momentum: 0.9}",
                   .stop = "{epochs: 8, target_accuracy: 0.7}",
                   .evaluate = "{every: {epochs: 0.5}, train_samples: 100}"});

inline SearchFile search_of(const Files& files, const std::string& scenario, const std::string& body) {
  files.write("scenario.yaml", scenario);
  return read_search(files.write("sweep.yaml", "sweep: 1\nname: try\nscenario: scenario.yaml\n" + body));
}

struct Searched {
  std::string table, text;
  SearchOutcome outcome;
  SweepProgress progress;
};

inline Searched run_search(const SearchFile& search, SweepState& state, unsigned jobs = 1, bool timing_only = false,
                           PointPool::Watch watch = {}) {
  EvaluationFile store(":memory:");
  PoolOptions options;
  options.jobs = jobs;
  PointPool pool(options, state, &store, std::move(watch));
  const SearchOutcome outcome = run_search(search, {timing_only, {}, {}}, pool);
  return {search_csv(outcome), search_text(outcome), outcome, pool.progress()};
}

inline Searched run_search(const SearchFile& search, unsigned jobs = 1) {
  SweepState state(":memory:");
  return run_search(search, state, jobs);
}

}  // namespace straggler::test
