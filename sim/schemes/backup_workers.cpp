// Synchronous SGD with b backup workers: all p start, the server steps on the mean of the first p - b gradients at its version,
//   w ← w - lr (1/(p - b)) Σ_{i among the first} g_i(w).
// Later gradients are dropped when they come, and answered with the current weights: no worker is interrupted.
// Chen et al., Revisiting Distributed Synchronous SGD, 2016.
#include "sim/training/answers.hpp"
#include "sim/training/gather.hpp"

namespace straggler::schemes::backup_workers {
namespace {

class BackupWorkers final : public Scheme {
 public:
  explicit BackupWorkers(const Parameters& parameters) : backups_(parameters.count("backups")), answers_(parameters) {}

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
    const auto late = [&](const From<Gradient>& gradient) {
      node.discard<Gradient>(gradient);
      return answers_.send(node, gradient.sender, weights);
    };
    for (;;) {
      const auto first = co_await gather_first<Gradient>(node, weights->version, node.workers() - backups_, late);
      const Gradient mean = node.mean(payloads(first));
      weights = co_await node.step(weights, mean);
      weights = co_await node.publish(weights);
      for (const From<Gradient>& gradient : first) node.post(gradient.sender, weights);
    }
  }

  std::int64_t backups_;
  Answers answers_;  // to late workers
};

const Register<SchemeEntry> entry({
    .name = "backup_workers",
    .summary = "synchronous SGD on the first p - b gradients of an update: the slowest b are dropped",
    .reference = "Chen et al. 2016",
    .family = Family::synchronous,
    .rule = "w ← w - lr (1/(p - b)) Σ g_i(w), over the first p - b",
    .paragraph = "More workers start than an update needs, and the b slowest gradients are dropped. Nobody is interrupted: a late worker "
                 "finishes its batch, which is dropped, and joins the next update late.",
    .waits = "the server for the first p - b",
    .traffic = {.text = "2 (p - b) d, and 2 d per dropped gradient",
                .bytes =
                    [](const Parameters& parameters, const TrainingPlan& plan) {
                      return std::optional<UpdateBytes>({2 * (plan.workers - static_cast<double>(parameters.count("backups"))), 2});
                    }},
    .parameters = {{.name = "backups",
                    .type = ValueType::count,
                    .required = true,
                    .meaning = "b, the number of gradients that an update does not wait for; less than the number of workers",
                    .range = Range::at_least(0)},
                   Answers::parameter(),
                   on_failure({OnFailure::drop, OnFailure::wait, OnFailure::abort},
                              "average the others' gradients, wait if its gradient is needed, or end")},
    .examples = {{{"backups", "1"}}, {{"backups", "0"}}},
    .make = [](const Parameters& parameters) { return std::make_unique<BackupWorkers>(parameters); },
    .exchange = [](const Parameters&) { return Exchange::server; },
    .answers_together = [](const Parameters&, const TrainingPlan& plan) { return std::int64_t{plan.workers}; },
    .plain_sgd_alone = {{{"backups", "0"}}},
    .updates_per_epoch =
        [](const Parameters& parameters, const TrainingPlan& plan) {
          return plan.batches_per_epoch() / static_cast<double>(plan.workers - parameters.count("backups"));
        },
    .unfit = [](const Parameters& parameters, const TrainingPlan& plan) -> std::string {
      if (parameters.count("backups") < plan.workers) return {};
      return "backups: of " + std::to_string(plan.workers) + " workers at most " + std::to_string(plan.workers - 1) +
             " can be backups: an update needs a gradient";
    },
    .sends_gradients = [](const Parameters&) { return true; },
});

}  // namespace
}  // namespace straggler::schemes::backup_workers
