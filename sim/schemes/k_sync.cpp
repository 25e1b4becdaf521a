// K-sync SGD: the server steps on the mean of the first k gradients at its version,
//   w ← w - lr (1/k) Σ_{i among the first} g_i(w);
// the new weights interrupt the other workers. Their unfinished mini-batches are discarded: each draws its next one.
// Dutta et al., Slow and Stale Gradients Can Win the Race, 2018.
#include "sim/training/gather.hpp"

namespace straggler::schemes::k_sync {
namespace {

class KSync final : public Scheme {
 public:
  explicit KSync(std::int64_t k) : k_(k) {}

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
      weights = co_await node.receive<Weights>(node.server());
    }
  }

  Process server(Node& node) const override {
    Weights weights = node.initial_weights();
    // Its worker had finished before the new weights came.
    const auto late = [&node](const From<Gradient>& gradient) { node.discard<Gradient>(gradient); };
    for (;;) {
      const auto first = co_await gather_first<Gradient>(node, weights->version, k_, late);
      const Gradient mean = node.mean(payloads(first));
      weights = co_await node.step(weights, mean);
      weights = co_await node.publish(weights);
      node.broadcast(weights);
    }
  }

  std::int64_t k_;
};

const Register<SchemeEntry> entry({
    .name = "k_sync",
    .summary = "synchronous SGD on the first k gradients of an update: the other workers are interrupted",
    .reference = "Dutta et al. 2018",
    .family = Family::synchronous,
    .rule = "w ← w - lr (1/k) Σ g_i(w), over the first k; the others are interrupted",
    .paragraph =
        "An update takes the first k gradients. The new weights interrupt the other workers, whose unfinished batches are thrown away. "
        "So everybody starts the next update in time, and a worker that is always slow never contributes.",
    .waits = "the first k for the k-th",
    .traffic = {.text = "(k + p) d, and d per dropped gradient",
                .bytes =
                    [](const Parameters& parameters, const TrainingPlan& plan) {
                      return std::optional<UpdateBytes>({static_cast<double>(parameters.count("k")) + plan.workers, 1});
                    }},
    .picture = {{"k", "3"}},
    .parameters = {{.name = "k",
                    .type = ValueType::count,
                    .required = true,
                    .meaning = "gradients of an update, each from a different worker; at most the number of workers",
                    .range = Range::at_least(1)},
                   on_failure({OnFailure::drop, OnFailure::wait, OnFailure::abort},
                              "average the others' gradients, wait if its gradient is needed, or end")},
    .examples = {{{"k", "2"}}, {{"k", "1"}}},
    .make = [](const Parameters& parameters) { return std::make_unique<KSync>(parameters.count("k")); },
    .exchange = [](const Parameters&) { return Exchange::server; },
    .plain_sgd_alone = {{{"k", "1"}}},
    .updates_per_epoch = [](const Parameters& parameters,
                            const TrainingPlan& plan) { return plan.batches_per_epoch() / static_cast<double>(parameters.count("k")); },
    .unfit = [](const Parameters& parameters, const TrainingPlan& plan) -> std::string {
      if (parameters.count("k") <= plan.workers) return {};
      return "k: is " + std::to_string(parameters.count("k")) + ", but an update takes one gradient of a worker; of " +
             std::to_string(plan.workers) + " workers at most " + std::to_string(plan.workers);
    },
    .sends_gradients = [](const Parameters&) { return true; },
});

}  // namespace
}  // namespace straggler::schemes::k_sync
