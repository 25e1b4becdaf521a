// The executor: loss and accuracy of weights on the sets of data, and that training lowers the loss.
#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "models/data/permutation.hpp"
#include "tests/executor/executor_checks.hpp"

namespace executor_evaluation_test {

using namespace straggler;
using namespace straggler::fake;
using namespace straggler::test;

TEST_CASE("evaluation: mean loss and share of right rows over each set") {
  for (const unsigned threads : {1u, 2u, 8u}) {
    CAPTURE(threads);
    World world(threads, 8, 3000, 0, false, 1200);
    const Handle weights = world.lineage.initial();
    const std::vector<float> values = world.value(weights);
    const auto over = [&](const DataSplit& split, const std::vector<std::uint32_t>& rows) {
      Evaluation expected;
      for (const std::uint32_t row : rows) {
        const float error = world.model.residual(values.data(), split.inputs.rows(row, 1, nullptr), split.labels[row]);
        expected.loss += error * error / 2 / static_cast<double>(rows.size());
        expected.accuracy += std::abs(error) < 0.5f ? 1 / static_cast<double>(rows.size()) : 0;
      }
      return expected;
    };
    const auto all = [](std::size_t count) {
      std::vector<std::uint32_t> rows(count);
      std::iota(rows.begin(), rows.end(), 0u);
      return rows;
    };
    const auto check = [&](EvaluationSet set, const Evaluation& expected, int chunks) {
      world.model.evaluations = 0;
      const Evaluation actual = world.executor->evaluate(weights, set);
      CHECK(actual.loss == doctest::Approx(expected.loss).epsilon(1e-6));
      CHECK(actual.accuracy == doctest::Approx(expected.accuracy).epsilon(1e-9));
      CHECK(world.model.evaluations == chunks);  // of at most 1,000 rows
      const Evaluation again = world.executor->evaluate(weights, set);
      CHECK(again.loss == actual.loss);
      CHECK(world.model.evaluations == chunks);  // known: nothing is done
    };
    check(EvaluationSet::test, over(world.data.test, all(2500)), 3);
    check(EvaluationSet::train, over(world.data.train, all(3000)), 3);
    check(EvaluationSet::train_subset, over(world.data.train, choose(1200, 3000, RandomStream(3, "evaluate/train_subset"))), 2);
    CHECK(world.executor->statistics().evaluations == 3);
    CHECK(has(error_of<std::invalid_argument>([&] { world.executor->evaluate(weights, EvaluationSet::validation); }), "held out"));
    // Other weights are not confused with these.
    const Handle other = world.step(weights, world.lineage.gradient(weights, batch(0, 0, 100)), 0.5);
    CHECK(world.executor->evaluate(other, EvaluationSet::test).loss != world.executor->evaluate(weights, EvaluationSet::test).loss);
  }
}

TEST_CASE("evaluation gives the same bits for any number of threads, and a subset of everything is everything") {
  std::vector<double> losses;
  for (const unsigned threads : {1u, 2u, 8u}) {
    World world(threads, 8, 3000, 0, false, 5000);
    const Handle weights = world.lineage.initial();
    losses.push_back(world.executor->evaluate(weights, EvaluationSet::test).loss);
    CHECK(losses.back() == losses.front());
    CHECK(world.executor->evaluate(weights, EvaluationSet::train_subset).loss ==
          world.executor->evaluate(weights, EvaluationSet::train).loss);
  }
}

TEST_CASE("training by the executor lowers the loss") {
  World world(2);
  Handle weights = world.lineage.initial();
  const double before = world.executor->evaluate(weights, EvaluationSet::test).loss;
  for (std::uint32_t i = 0; i < 200; ++i) {
    std::vector<Handle> gradients;
    for (std::uint32_t worker = 0; worker < 4; ++worker)
      gradients.push_back(world.lineage.gradient(weights, batch(worker * 700, i * 16, 16)));
    weights = world.step(weights, world.lineage.elementwise(fake::mean, gradients), 0.1);
  }
  CHECK(world.executor->evaluate(weights, EvaluationSet::test).loss < before / 2);
}

}  // namespace executor_evaluation_test
