// Runs that begin alike compute their common beginning once, by way of the store's values, and come to the same bits as without.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "scenarios/experiment/data_cache.hpp"
#include "scenarios/results/summary.hpp"
#include "scenarios/sweep/evaluation_file.hpp"
#include "tests/support/files.hpp"
#include "tests/support/variants.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

struct Computed {
  Result result;
  ExecutorStatistics math;
};

class Runs {
 public:
  /// Null: without a store.
  Computed run(const std::string& yaml, const std::vector<std::string>& sets, TrajectoryStore* store, unsigned threads = 1) {
    RunOptions options;
    options.threads = threads;
    options.data = &data_;
    options.store = store;
    options.saving = {1e9, 1.0};  // at every version, whatever it costs
    Experiment experiment(read_scenario_text(yaml, "test.yaml", sets), options);
    Computed made;
    made.result.record = experiment.run(&made.result.sink, nullptr);
    made.result.weights = experiment.final_weights();
    made.math = experiment.computed();
    return made;
  }

 private:
  DataCache data_;
};

void check_same(const Computed& a, const Computed& b) {
  CHECK(summary_json(summarize(a.result.record)) == summary_json(summarize(b.result.record)));
  CHECK(a.result.sink.order == b.result.sink.order);
  REQUIRE(a.result.weights.size() == b.result.weights.size());
  CHECK(std::memcmp(a.result.weights.data(), b.result.weights.data(), a.result.weights.size() * sizeof(float)) == 0);
}

/// Samples of the contributions that come after what both orders begin with.
std::uint64_t samples_after_common(const std::vector<OrderRow>& order, const std::vector<OrderRow>& before) {
  const auto alike = [](const OrderRow& a, const OrderRow& b) {
    return a.update == b.update && a.worker == b.worker && a.read_version == b.read_version && a.position == b.position &&
           a.samples == b.samples;
  };
  auto at = std::mismatch(order.begin(), order.end(), before.begin(), before.end(), alike).first;
  // A version of which one contribution differs is another one.
  while (at != order.begin() && at != order.end() && std::prev(at)->update == at->update) --at;
  std::uint64_t samples = 0;
  for (; at != order.end(); ++at) samples += at->samples;
  return samples;
}

}  // namespace

TEST_CASE("every scheme, every choice: a longer run continues where a shorter one ended, to the same bits") {
  Runs runs;
  for (const Variant& variant : variants()) {
    CAPTURE(variant.scheme);
    const std::string yaml = uneven(variant);
    EvaluationFile store(":memory:");
    const std::vector<std::string> shorter{"training.stop.epochs=1.7"};
    const Computed plain = runs.run(yaml, {}, nullptr), half = runs.run(yaml, shorter, nullptr);
    const Computed first = runs.run(yaml, shorter, &store);
    check_same(first, half);
    const Computed second = runs.run(yaml, {}, &store, 2);
    check_same(second, plain);
    CHECK(first.math.gradient_samples + second.math.gradient_samples == plain.math.gradient_samples);
    CHECK(second.math.gradient_samples <= plain.math.gradient_samples / 2);
    CHECK(second.math.taken > 0);
  }
}

TEST_CASE("runs whose orders of updates diverge compute their common part once") {
  Runs runs;
  const std::string late = "cluster.faults=[{kind: slow, worker: 1, from: 200ms, to: 10s, times_slower: 3}]";
  for (const char* scheme : {"{kind: asgd}", "{kind: asgd, staleness: inverse}", "{kind: nonblocking, minibatch: 10}",
                             "{kind: nonblocking, minibatch: 10, exchange: gradients}"}) {
    CAPTURE(scheme);
    const std::string yaml = uneven({scheme, false});
    const Computed even = runs.run(yaml, {}, nullptr), plain = runs.run(yaml, {late}, nullptr);
    const std::uint64_t after = samples_after_common(plain.result.sink.order, even.result.sink.order);
    REQUIRE(after > 0);
    REQUIRE(after < plain.result.record.samples);
    EvaluationFile store(":memory:");
    runs.run(yaml, {}, &store);
    const Computed other = runs.run(yaml, {late}, &store);
    check_same(other, plain);
    // A gradient that a worker had in progress when the orders parted is the same in both: one batch of 50 for each of five.
    CHECK(other.math.gradient_samples <= after);
    CHECK(other.math.gradient_samples + 5 * 50 >= after);
  }
}

TEST_CASE("optimizers with state, mixed precision and batch norm continue from the store, too") {
  Runs runs;
  const std::string yaml = uneven({"{kind: asgd}", false});
  const std::vector<std::vector<std::string>> cases = {
      {"training.optimizer={kind: adam, learning_rate: 0.01}"},
      {"training.optimizer={kind: sgd, learning_rate: 0.05, momentum: 0.9, nesterov: true, weight_decay: 0.001}"},
      {"training.optimizer={kind: adagrad, learning_rate: 0.05}", "workload.precision=mixed"}};
  for (std::vector<std::string> sets : cases) {
    CAPTURE(sets.front());
    const Computed plain = runs.run(yaml, sets, nullptr);
    EvaluationFile store(":memory:");
    std::vector<std::string> shorter = sets;
    shorter.push_back("training.stop.epochs=2");
    runs.run(yaml, shorter, &store);
    const Computed second = runs.run(yaml, sets, &store);
    check_same(second, plain);
    CHECK(second.math.gradient_samples < plain.math.gradient_samples / 2);
  }
}

TEST_CASE("a run's values in the store are bounded, well spread, and enough to continue from any update") {
  Runs runs;
  const std::string yaml = uneven({"{kind: asgd}", false});
  // Values of 114 floats; the budget is a sixteenth: some 40 of them, where a version needs about ten.
  const Computed plain = runs.run(yaml, {}, nullptr);
  const std::uint64_t value_bytes = plain.result.weights.size() * sizeof(float);
  EvaluationFile store(":memory:", 16 * 40 * value_bytes);
  runs.run(yaml, {}, &store);
  store.flush();
  CHECK(store.facts().values <= 40);
  CHECK(store.facts().values > 10);
  for (const char* epochs : {"0.4", "1.1", "2.3", "3.5"}) {
    CAPTURE(epochs);
    const std::vector<std::string> sets{std::string("training.stop.epochs=") + epochs, "training.evaluate.train_samples=77"};
    const Computed again = runs.run(yaml, sets, &store), alone = runs.run(yaml, sets, nullptr);
    check_same(again, alone);
    CHECK(again.math.gradient_samples <= alone.math.gradient_samples);
    if (epochs[0] >= '2') CHECK(again.math.taken > 0);
  }
}

TEST_CASE("a point whose evaluations are all known still gives its weights; with another length they are not taken") {
  Runs runs;
  DataCache data;
  EvaluationFile store(":memory:");
  const std::string yaml = uneven({"{kind: asgd}", false});
  const Computed made = runs.run(yaml, {}, &store);
  RunOptions options;
  options.data = &data;
  options.store = &store;
  Experiment known(read_scenario_text(yaml, "test.yaml", {}), options);
  CHECK(known.final_weights().empty());
  REQUIRE(known.run_from_store(nullptr).record.has_value());
  CHECK(known.final_weights() == made.result.weights);

  // All of a run's math from the store: only weights are read.
  const Computed again = runs.run(yaml, {}, &store);
  check_same(again, made);
  CHECK(again.math.nodes == 0);
  CHECK(again.math.evaluations == 0);

  std::vector<float> longer(made.result.weights.size() + 1);
  const Key key{1, 3}, root{5, 7};
  store.keep_value(root, key, made.result.weights);
  CHECK_FALSE(store.find_value(root, key, longer));
  store.flush();
  CHECK_FALSE(store.find_value(root, key, longer));
}
