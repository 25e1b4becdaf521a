// What a run tells of its dynamic loss scale, against what follows from the size of its gradients.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "scenarios/results/summary.hpp"
#include "scenarios/sweep/evaluation_file.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

using Sets = std::vector<std::string>;

/// One worker takes all samples at once, and its weights hardly move: every gradient has the same size.
Sets standing_still(const std::string& more, std::uint64_t updates) {
  return {"workload.model={kind: softmax}",
          "workload.data={kind: coordinates, samples: 400, test_samples: 100}",
          "training.batch.per_worker=400",
          "training.optimizer.learning_rate=1e-30",
          "training.stop={updates: " + std::to_string(updates) + "}",
          "workload.precision=mixed",
          "workload.loss_scale=" + more};
}

/// The gradient's largest element, by a step of rate 1 in FP32.
double largest_gradient() {
  Sets sets = standing_still("{}", 1);
  sets.resize(sets.size() - 2);
  const std::vector<float> still = run(cluster(1), sets).weights;
  sets.emplace_back("training.optimizer.learning_rate=1");
  const std::vector<float> moved = run(cluster(1), sets).weights;
  double largest = 0;
  for (std::size_t i = 0; i < still.size(); ++i) largest = std::max(largest, static_cast<double>(std::abs(moved[i] - still[i])));
  return largest;
}

constexpr int start_exponent = 40, growth = 3;

/// Powers of two down from 2^40 are skipped until one fits. From then on there are cycles of four updates: three good ones, after which the
/// scale doubles to one that does not fit, and a skipped one.
struct Course {
  explicit Course(std::uint64_t updates) {
    const double gradient = largest_gradient();
    while (std::ldexp(gradient, fits) >= 65520) --fits;  // that is rounded to infinity
    // FP16's rounding of inputs and weights moves a gradient by less than this.
    REQUIRE(std::ldexp(gradient, fits) < 65520 / 1.02);
    REQUIRE(std::ldexp(gradient, fits + 1) > 65520 * 1.02);
    const auto first = static_cast<std::uint64_t>(start_exponent - fits);
    REQUIRE(updates >= first);
    const std::uint64_t left = updates - first;
    skipped = first + left / (growth + 1);
    scale = std::ldexp(1.0, left % (growth + 1) == growth ? fits + 1 : fits);
  }
  int fits = start_exponent;
  std::uint64_t skipped = 0;
  double scale = 0;
};

const std::string from_far_above = "{initial: 1099511627776, growth_every: 3}";

}  // namespace

TEST_CASE("skipped updates and the final loss scale follow from the gradient's size") {
  const int fits = Course(60).fits;
  CHECK(fits > 10);
  CHECK(fits < 22);  // no derivative inside the network is as large as the sum of 400 of them
  for (const std::uint64_t updates : {40, 41, 42, 43, 60}) {
    CAPTURE(updates);
    const Course course(updates);
    const Result result = run(cluster(1), standing_still(from_far_above, updates));
    CHECK(result.record.updates == updates);
    REQUIRE(result.record.skipped_updates);
    CHECK(*result.record.skipped_updates == course.skipped);
    CHECK(result.record.final_loss_scale == course.scale);
  }
  // What fits from the start is never skipped.
  const Result calm = run(cluster(1), standing_still("{initial: 1024}", 5));
  CHECK(calm.record.skipped_updates == 0);
  CHECK(calm.record.final_loss_scale == 1024);
}

TEST_CASE("every scheme reports skipped updates; with averaged weights, of the worker that skipped most; elsewhere they do not apply") {
  for (const char* scheme : {"{kind: ssgd}", "{kind: ssgd, via: server}", "{kind: local_sgd, steps: 5}", "{kind: fedavg}",
                             "{kind: nonblocking, minibatch: 50}", "{kind: asgd}"}) {
    CAPTURE(scheme);
    Sets sets = standing_still("{initial: 1099511627776}", 12);
    sets.emplace_back("training.batch.per_worker=100");
    sets.push_back(std::string("training.scheme=") + scheme);
    const Result result = run(cluster(2), sets);
    REQUIRE(result.record.skipped_updates);
    // Nothing grows within 2,000 updates, so that each skipped one is a halving.
    CHECK(*result.record.final_loss_scale == std::ldexp(1.0, 40 - static_cast<int>(*result.record.skipped_updates)));
    CHECK(*result.record.skipped_updates >= 12);
    for (const char* precision : {"fp16", "bf16", "fp32"}) {
      Sets fixed = sets;
      fixed[5] = std::string("workload.precision=") + precision;
      fixed[6] = "workload.fuse=auto";
      const Result without = run(cluster(2), fixed);
      CHECK(!without.record.skipped_updates);
      CHECK(!without.record.final_loss_scale);
    }
    CHECK(!run_timing(cluster(2), sets).record.skipped_updates);
  }
}

TEST_CASE("a run from the store, or from a checkpoint, reports the same loss scale") {
  const Sets sets = standing_still(from_far_above, 60);
  const std::string alone = summary_json(summarize(run(cluster(1), sets).record));
  EvaluationFile store(":memory:");
  RunOptions options;
  options.store = &store;
  CHECK(summary_json(summarize(run(cluster(1), standing_still(from_far_above, 45), options).record)) != alone);
  CHECK(summary_json(summarize(run(cluster(1), sets, options).record)) == alone);  // from update 45 on
  const Experiment::FromStore known = Experiment(read_scenario_text(cluster(1), "test.yaml", sets), options).run_from_store(nullptr);
  REQUIRE(known.record);
  CHECK(summary_json(summarize(*known.record)) == alone);

  const TemporaryFolder folder;
  RunOptions saving;
  saving.checkpoint.emplace();
  saving.checkpoint->file = folder.path() / "run.checkpoint";
  saving.checkpoint->interval.updates = 50;
  run(cluster(1), sets, saving);
  saving.checkpoint->resume = true;
  std::uint64_t from = 0;
  saving.checkpoint->tell = [&](const CheckpointNote& note) {
    if (note.what == CheckpointNote::What::reached) from = note.version;
  };
  CHECK(summary_json(summarize(run(cluster(1), sets, saving).record)) == alone);
  CHECK(from == 50);
}
