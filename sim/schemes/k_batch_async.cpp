// K-batch asynchronous SGD: the server steps on the mean of the first k gradients from any workers, of any versions,
//   w ← w - lr (1/k) Σ g(w_read);
// each gradient is answered with the current weights.
// Dutta et al., Slow and Stale Gradients Can Win the Race, 2018.
#include <algorithm>
#include <vector>

#include "sim/training/answers.hpp"

namespace straggler::schemes::k_batch_async {
namespace {

class KBatchAsync final : public Scheme {
 public:
  explicit KBatchAsync(const Parameters& parameters) : k_(static_cast<std::size_t>(parameters.count("k"))), answers_(parameters) {}

 private:
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      const Gradient gradient = co_await node.gradient(weights, node.batch_size());
      co_await node.send(node.server(), gradient);
      weights = co_await node.receive<Weights>(node.server());
    }
  }

  Process server(Node& node) const override {
    Weights weights = node.initial_weights();
    std::vector<From<Gradient>> parts;
    for (;;) {
      const From<Gradient> arrived = co_await node.receive<Gradient>();
      parts.push_back(arrived);
      if (parts.size() == k_) {
        std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.sender.rank < b.sender.rank; });
        const Gradient mean = node.mean(std::vector<Gradient>(parts.begin(), parts.end()));
        parts.clear();
        weights = co_await node.step(weights, mean);
        weights = co_await node.publish(weights);
      }
      co_await answers_.send(node, arrived.sender, weights);
    }
  }

  std::size_t k_;
  Answers answers_;
};

const Register<SchemeEntry> entry({
    .name = "k_batch_async",
    .summary = "asynchronous SGD on the mean of k gradients from any workers",
    .reference = "Dutta et al. 2018",
    .family = Family::asynchronous,
    .rule = "w ← w - lr (1/k) Σ g(w_read), over the first k from any workers",
    .paragraph = "The server averages k gradients from any workers, and answers each as it comes, so nobody waits. A larger k means fewer "
                 "updates, each of less noise and less staleness.",
    .waits = "nobody",
    .staleness = unbounded_staleness(),
    .traffic = {.text = "2 k d",
                .bytes =
                    [](const Parameters& parameters, const TrainingPlan&) {
                      return std::optional<UpdateBytes>({2 * static_cast<double>(parameters.count("k")), 0});
                    }},
    .parameters =
        {{.name = "k", .type = ValueType::count, .required = true, .meaning = "gradients of an update", .range = Range::between(1, 1e6)},
         Answers::parameter(),
         on_failure({OnFailure::drop, OnFailure::abort}, "continue, as nobody waits for it, or end")},
    .examples = {{{"k", "3"}}, {{"k", "1"}}},
    .make = [](const Parameters& parameters) { return std::make_unique<KBatchAsync>(parameters); },
    .exchange = [](const Parameters&) { return Exchange::server; },
    .asynchronous = [](const Parameters&) { return true; },
    .answers_hold_own = false,
    .plain_sgd_alone = {{{"k", "1"}}},
    .updates_per_epoch = [](const Parameters& parameters,
                            const TrainingPlan& plan) { return plan.batches_per_epoch() / static_cast<double>(parameters.count("k")); },
    .sends_gradients = [](const Parameters&) { return true; },
    .workers_hold = WorkersHold::own_version,
});

}  // namespace
}  // namespace straggler::schemes::k_batch_async
