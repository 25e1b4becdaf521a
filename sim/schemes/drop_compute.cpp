// DropCompute: synchronous SGD whose workers take their batches in M micro-batches and stop at a timeout, wherever they are. The unfinished
// micro-batch is cancelled, later ones are not begun, and the completed ones are averaged by samples,
//   w ← w - lr Σ_i n_i ḡ_i(w) / Σ_i n_i,   ḡ_i the mean over the n_i samples that worker i has done in this update.
// If no worker has completed any, the step is along zero. Giladi et al., DropCompute: Simple and More Robust Distributed Synchronous
// Training via Compute Variance Reduction, 2023.
#include <algorithm>
#include <vector>

#include "sim/schemes/parts.hpp"

namespace straggler::schemes::drop_compute {
namespace {

/// Micro-batch m of `count`: equal parts, up to a sample. They share the batch's jitter.
DrawnBatch micro_batch(const DrawnBatch& batch, std::int64_t m, std::int64_t count) {
  const auto from = static_cast<std::uint32_t>(batch.size * m / count), to = static_cast<std::uint32_t>(batch.size * (m + 1) / count);
  DrawnBatch part = batch;
  part.position += from;
  part.work += from;
  part.offset += from;
  part.size = to - from;
  return part;
}

class DropCompute final : public Scheme {
 public:
  explicit DropCompute(const Parameters& parameters)
      : micro_batches_(parameters.count("micro_batches")),
        timeout_(Time::from_seconds(std::min(parameters.number("timeout"), Time::limit().seconds()))) {}

 private:
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      const Gradient share = co_await computed_share(node, weights);
      const Gradient mean = co_await node.all_reduce_mean(share);
      const Gradient by_samples = averaged_by_samples(node, mean);
      weights = co_await node.step(weights, by_samples);
      weights = co_await node.publish(weights);
    }
  }

  /// (n / b) ḡ: n of the b samples of a batch are done by the timeout.
  Task<Gradient> computed_share(Node& node, Weights weights) const {
    const DrawnBatch batch = node.next_batch(node.batch_size());
    Pending<TimerOperation> timer = node.begin(node.timer(timeout_));
    std::vector<Gradient> done;
    for (std::int64_t m = 0; m < micro_batches_; ++m) {
      const DrawnBatch part = micro_batch(batch, m, micro_batches_);
      if (part.size == 0) continue;
      auto first = co_await first_of_in_flight(timer, node.gradient(weights, part));
      if (first.index() == 0) break;
      done.push_back(std::get<1>(std::move(first)));
    }
    co_return share_of_batch(node, accumulated(node, weights, done));
  }

  /// The mean over the samples of all parts, as one contribution; zero if there are none.
  static Gradient accumulated(Node& node, const Weights& weights, const std::vector<Gradient>& parts) {
    if (parts.empty()) return no_samples(node, weights);
    if (parts.size() == 1) return parts.front();
    Gradient all = node.no_gradient(weights);
    for (const Gradient& part : parts) all = node.algebra().add(all, part);
    std::vector<Term> terms;
    for (const Gradient& part : parts)
      terms.push_back({part->value(), static_cast<double>(part->samples()) / static_cast<double>(all->samples())});
    return node.algebra().replaced(all, node.algebra().combination(terms));
  }

  std::int64_t micro_batches_;
  Time timeout_;
};

const Register<SchemeEntry> entry({
    .name = "drop_compute",
    .summary = "synchronous SGD in micro-batches: workers stop at a timeout, and finished micro-batches are averaged",
    .reference = "Giladi et al. 2023",
    .exchange = Exchange::all_reduce,
    .rule = "w ← w - lr Σ g_i(w), over the micro-batches that end in time",
    .paragraph = "Each worker takes its batch in M micro-batches and stops at a timeout. Finished micro-batches are averaged by samples. "
                 "So a slow worker makes the batch smaller instead of delaying the update.",
    .waits = "all for the slowest, at most for the timeout",
    .batch_is = "at most one worker's part of one step",
    .picture = {{"micro_batches", "4"}, {"timeout", "80ms"}},
    .parameters = {required_count("micro_batches", "M, the number of equal parts of a worker's batch", Range::between(1, 1e6)),
                   {.name = "timeout",
                    .type = ValueType::time,
                    .required = true,
                    .meaning = "longest time that a worker computes in one update",
                    .range = Range::above(0)},
                   on_failure({OnFailure::wait, OnFailure::drop, OnFailure::abort}, "wait for it, average without it, or end")},
    .examples = {{{"micro_batches", "4"}, {"timeout", "6ms"}}, {{"micro_batches", "1"}, {"timeout", "1h"}}},
    .make = made<DropCompute>,
    .average = std::nullopt,  // by samples
    .plain_sgd_alone = {{{"micro_batches", "1"}, {"timeout", "1h"}}},
    .updates_per_epoch = std::nullopt,
    .worker_vectors = 1,  // gradients of micro-batches
    .worker_bytes = 2'700,
    .accumulates = false,
});

}  // namespace
}  // namespace straggler::schemes::drop_compute
