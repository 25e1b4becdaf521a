// K-batch-sync SGD: the server steps on the mean of the first k gradients at its version, from any workers,
//   w ← w - lr (1/k) Σ g(w);
// workers take one mini-batch after the other at these weights until the new ones interrupt them. Unfinished mini-batches are discarded:
// each worker draws its next one. Dutta et al., Slow and Stale Gradients Can Win the Race, 2018.
#include <algorithm>
#include <vector>

#include "sim/training/first_of.hpp"

namespace straggler::schemes::k_batch_sync {
namespace {

class KBatchSync final : public Scheme {
 public:
  explicit KBatchSync(std::int64_t k) : k_(static_cast<std::size_t>(k)) {}

 private:
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      const DrawnBatch batch = node.next_batch(node.batch_size());
      auto outcome = co_await first_of(node.gradient(weights, batch), node.receive<Weights>(node.server()));
      if (outcome.index() == 1) {
        weights = std::get<1>(std::move(outcome));
        continue;
      }
      const Gradient gradient = std::get<0>(std::move(outcome));
      co_await node.send(node.server(), gradient);
    }
  }

  Process server(Node& node) const override {
    Weights weights = node.initial_weights();
    std::vector<From<Gradient>> parts;
    for (;;) {
      const From<Gradient> arrived = co_await node.receive<Gradient>();
      if (arrived->version() != weights->version) {  // its worker had finished before the new weights came
        node.discard<Gradient>(arrived);
        continue;
      }
      parts.push_back(arrived);
      if (parts.size() < k_) continue;
      std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.sender.rank < b.sender.rank; });
      const Gradient mean = node.mean(std::vector<Gradient>(parts.begin(), parts.end()));
      parts.clear();
      weights = co_await node.step(weights, mean);
      weights = co_await node.publish(weights);
      node.broadcast(weights);
    }
  }

  std::size_t k_;
};

const Register<SchemeEntry> entry({
    .name = "k_batch_sync",
    .summary = "synchronous SGD on the first k gradients from any workers: they compute on until they are interrupted",
    .reference = "Dutta et al. 2018",
    .family = Family::synchronous,
    .rule = "w ← w - lr (1/k) Σ g(w), over the first k from any workers; then all are interrupted",
    .paragraph =
        "As `k_sync`, but a fast worker does not wait for the others: it computes further batches at the same weights until k gradients "
        "have come from any workers.",
    .waits = "nobody: the new weights interrupt all",
    .traffic = {.text = "(k + p) d, and d per dropped gradient",
                .bytes =
                    [](const Parameters& parameters, const TrainingPlan& plan) {
                      return std::optional<UpdateBytes>({static_cast<double>(parameters.count("k")) + plan.workers, 1});
                    }},
    .parameters =
        {{.name = "k", .type = ValueType::count, .required = true, .meaning = "gradients of an update", .range = Range::between(1, 1e6)},
         on_failure({OnFailure::drop, OnFailure::abort}, "the others compute on without it, or end")},
    .examples = {{{"k", "4"}}, {{"k", "1"}}},
    .make = [](const Parameters& parameters) { return std::make_unique<KBatchSync>(parameters.count("k")); },
    .exchange = [](const Parameters&) { return Exchange::server; },
    .asynchronous =
        [](const Parameters& parameters) { return parameters.count("k") > 1; },  // a worker may make two gradients of one update
    .answers_hold_own = false,
    .unanswered = true,
    .updates_per_epoch = [](const Parameters& parameters,
                            const TrainingPlan& plan) { return plan.batches_per_epoch() / static_cast<double>(parameters.count("k")); },
    .sends_gradients = [](const Parameters&) { return true; },
    .worker_bytes = 1'900,
});

}  // namespace
}  // namespace straggler::schemes::k_batch_sync
