// Small sweeps over a small scenario.
#pragma once
#include <string>
#include <vector>

#include "scenarios/sweep/sweep_run.hpp"
#include "scenarios/sweep/sweep_tables.hpp"
#include "tests/support/files.hpp"
#include "tests/support/scenarios.hpp"

namespace straggler::test {

inline const std::string small_scenario =
    scenario_text({.name = "small",
                   .seed = 5,
                   .node = "{compute: {affine: {per_sample: 1ms}}, jitter: {kind: lognormal, sigma: 0.3}}",
                   .workers = equal_workers(3),
                   .network = "{topology: star, link: {bandwidth: 1MB/s, latency: 1ms}}",
                   .model = "{kind: mlp, hidden: [8]}",
                   .data = "{kind: coordinates, samples: 600, test_samples: 200}",
                   .scheme = "{kind: ssgd, via: server}",
                   .batch = "{per_worker: 20}",
                   .optimizer = "{kind: sgd, learning_rate: 0.1, momentum: 0.9}",
                   .stop = "{epochs: 3}",
                   .evaluate = "{every: {epochs: 0.5}, train_samples: 100}"});

/// A sweep file beside the scenario, read.
inline Sweep sweep_of(const Files& files, const std::string& body) {
  files.write("small.yaml", small_scenario);
  return read_sweep(files.write("sweep.yaml", "sweep: 1\nname: try\nscenario: small.yaml\n" + body));
}

struct Swept {
  SweepOutcome outcome;
  std::string points, groups;
};

inline Swept run(const Sweep& sweep, SweepState& state, EvaluationFile* store, const SweepOptions& options = {},
                 const PoolOptions& pool_options = {}) {
  Swept swept;
  PointPool pool(pool_options, state, store, {});
  swept.outcome = run_sweep(sweep, options, state, pool);
  swept.points = points_csv(sweep.columns(), swept.outcome);
  swept.groups = groups_csv(sweep.columns(), swept.outcome);
  return swept;
}

/// From nothing, keeping nothing.
inline Swept run_afresh(const Sweep& sweep, const SweepOptions& options = {}, const PoolOptions& pool = {}) {
  SweepState state(":memory:");
  EvaluationFile store(":memory:");
  return run(sweep, state, &store, options, pool);
}

}  // namespace straggler::test
