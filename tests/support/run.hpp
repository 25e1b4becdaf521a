// Runs a scenario given as text, and keeps what result files would stream.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "scenarios/experiment/experiment.hpp"
#include "scenarios/schema/reader.hpp"
#include "tests/support/scenarios.hpp"

namespace straggler::test {

struct OrderRow {
  std::uint64_t update;
  Time time;
  Rank worker;
  std::uint64_t read_version, position;
  std::uint32_t steps;
  std::uint64_t samples;
  bool operator==(const OrderRow&) const = default;
};

struct Span {
  Rank worker;
  Phase phase;
  Time start, end;
};

class KeepingSink final : public RecordSink {
 public:
  std::vector<OrderRow> order, lost;  // lost: in rollbacks
  std::vector<std::pair<Rank, std::int32_t>> choices;
  std::vector<Span> spans, backward;
  std::vector<std::pair<Rank, Time>> dropped;  // worker, time spent computing what was dropped

 private:
  void contribution(std::uint64_t update, Time time, Rank worker, std::uint64_t read_version, std::uint64_t position, std::uint32_t steps,
                    std::uint64_t samples) override {
    order.push_back({update, time, worker, read_version, position, steps, samples});
  }
  void rolled_back(std::uint64_t update) override {
    for (const OrderRow& row : order)
      if (row.update > update) lost.push_back(row);
    std::erase_if(order, [&](const OrderRow& row) { return row.update > update; });
  }
  void choice(Rank process, std::int32_t choice) override { choices.emplace_back(process, choice); }
  void span(Rank worker, Phase phase, Time start, Time end) override { spans.push_back({worker, phase, start, end}); }
  void backward_pass(Rank worker, Time start, Time end) override { backward.push_back({worker, Phase::compute, start, end}); }
  void wasted(Rank worker, Time spent) override { dropped.emplace_back(worker, spent); }
};

struct Result {
  RunRecord record;
  KeepingSink sink;
  std::vector<float> weights;
};

/// The one that was read last is kept: tests run a scenario, run it again, and replay it, and reading takes as long as a small run.
inline const Scenario& scenario_of(const std::string& yaml, const std::vector<std::string>& sets) {
  static std::string kept_yaml;
  static std::vector<std::string> kept_sets;
  static std::optional<Scenario> kept;
  if (!kept || yaml != kept_yaml || sets != kept_sets) {
    kept.reset();
    kept = read_scenario_text(yaml, "test.yaml", sets);
    kept_yaml = yaml;
    kept_sets = sets;
  }
  return *kept;
}

/// On one thread, unless told otherwise: passing tiny gradients between threads takes longer than computing them.
inline Result run(const std::string& yaml, const std::vector<std::string>& sets = {}, RunOptions options = {}) {
  if (options.threads == 0) options.threads = 1;
  Experiment experiment(scenario_of(yaml, sets), options);
  Result result;
  result.record = experiment.run(&result.sink, nullptr);
  result.weights = experiment.final_weights();
  return result;
}

inline Result run_timing(const std::string& yaml, const std::vector<std::string>& sets = {}) {
  RunOptions options;
  options.timing_only = true;
  options.trace = true;
  return run(yaml, sets, options);
}

/// A small cluster: `workers` equal workers, free network unless set otherwise, batches of 100 samples of 1 ms each.
inline std::string cluster(int workers) {
  return scenario_text({.node = "{compute: {affine: {overhead: 0s, per_sample: 1ms}}}", .workers = equal_workers(workers)});
}

}  // namespace straggler::test
