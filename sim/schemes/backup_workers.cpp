// Synchronous SGD with b backup workers: all p start, the server steps on the mean of the first p - b gradients at its version,
//   w ← w - lr (1/(p - b)) Σ_{i among the first} g_i(w).
// Later gradients are dropped when they come, and answered with the current weights: no worker is interrupted.
// Chen et al., Revisiting Distributed Synchronous SGD, 2016.
#include "sim/schemes/parts.hpp"

namespace straggler::schemes::backup_workers {
namespace {

class BackupWorkers final : public Scheme {
 public:
  explicit BackupWorkers(const Parameters& parameters) : backups_(parameters.count("backups")), answers_(parameters) {}

 private:
  Process worker(Node& node) const override { return push_and_fetch(node); }
  Process server(Node& node) const override {
    const std::int64_t count = node.workers() - backups_;
    return average_first(node, {.count = count, .at_this_version = true, .at_once = true}, answers_);
  }

  std::int64_t backups_;
  Answers answers_;  // to late workers
};

double gradients_of(const Parameters& parameters, const TrainingPlan& plan) {
  return plan.workers - static_cast<double>(parameters.count("backups"));
}

const Register<SchemeEntry> entry({
    .name = "backup_workers",
    .summary = "synchronous SGD on the first p - b gradients of an update: the slowest b are dropped",
    .reference = "Chen et al. 2016",
    .contributions = {.text = "(p - b)", .count = gradients_of},
    .rule = "w ← w - lr (1/(p - b)) Σ g_i(w), over the first p - b",
    .paragraph = "More workers start than an update needs, and the b slowest gradients are dropped. Nobody is interrupted: a late worker "
                 "finishes its batch, which is dropped, and joins the next update late.",
    .waits = "the server for the first p - b",
    .parameters = {required_count("backups", "b, the number of gradients that an update does not wait for; less than the number of workers",
                                  Range::at_least(0)),
                   Answers::parameter(),
                   on_failure({OnFailure::drop, OnFailure::wait, OnFailure::abort},
                              "average the others' gradients, wait if its gradient is needed, or end")},
    .examples = {{{"backups", "1"}}, {{"backups", "0"}}},
    .make = made<BackupWorkers>,
    .answers_together = [](const Parameters&, const TrainingPlan& plan) { return plan.workers; },
    .plain_sgd_alone = {{{"backups", "0"}}},
    .unfit = [](const Parameters& parameters, const TrainingPlan& plan) -> std::string {
      if (parameters.count("backups") < plan.workers) return {};
      return "backups: of " + std::to_string(plan.workers) + " workers at most " + std::to_string(plan.workers - 1) +
             " can be backups: an update needs a gradient";
    },
    .weighs_batches = true,
    .rolls_back = RollsBack::server,
});

}  // namespace
}  // namespace straggler::schemes::backup_workers
