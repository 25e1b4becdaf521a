// n-softsync: the server steps on the mean of c = ⌊p / n⌋ gradients as they come, of any versions,
//   w ← w - lr (1/c) Σ s(τ) g(w_read);
// no worker waits: each gradient is answered with the current weights. With `inverse` a gradient that is τ ≥ 1 updates old counts
// s(τ) = 1/τ; otherwise s = 1. Zhang, Gupta, Lian & Liu, Staleness-aware Async-SGD for Distributed Deep Learning, 2016.
#include "sim/schemes/parts.hpp"

namespace straggler::schemes::softsync {
namespace {

enum class Damping { none, inverse };
constexpr ChoiceTable<Damping> staleness_choice("staleness", {{Damping::none, "none"}, {Damping::inverse, "inverse"}});

/// s(τ).
double damping(Damping rule, std::uint64_t staleness) {
  return rule == Damping::none || staleness <= 1 ? 1 : 1 / static_cast<double>(staleness);
}

/// c, gradients of an update.
std::int64_t gradients_of(const Parameters& parameters, Rank workers) { return workers / parameters.count("n"); }

class Softsync final : public Scheme {
 public:
  explicit Softsync(const Parameters& parameters)
      : parameters_(parameters), damping_(staleness_choice.of(parameters)), answers_(parameters) {}

 private:
  Process worker(Node& node) const override { return push_and_fetch(node); }
  Process server(Node& node) const override {
    const auto share = [rule = damping_](std::uint64_t staleness) { return damping(rule, staleness); };
    const std::int64_t count = gradients_of(parameters_, node.workers());
    return average_first(node, {.count = count, .at_this_version = false, .from_any = true, .damping = share}, answers_);
  }

  Parameters parameters_;
  Damping damping_;
  Answers answers_;
};

const Register<SchemeEntry> entry({
    .name = "softsync",
    .summary = "asynchronous SGD on the mean of p/n gradients from any workers, optionally damped by staleness",
    .reference = "Zhang, Gupta, Lian & Liu 2016",
    .family = Family::asynchronous,
    .contributions = {.text = "c",
                      .count = [](const Parameters& parameters,
                                  const TrainingPlan& plan) { return static_cast<double>(gradients_of(parameters, plan.workers)); }},
    .rule = "w ← w - lr (1/c) Σ s(τ) g(w_read), over c = ⌊p/n⌋ gradients",
    .paragraph = "The server averages c = ⌊p / n⌋ gradients, and answers each as it comes: gradients are about n updates old. "
                 "With `staleness: inverse` each counts 1/τ, so larger learning rates work.",
    .damping = [](const Parameters& parameters, const TrainingPlan&,
                  std::uint64_t staleness) { return damping(staleness_choice.of(parameters), staleness); },
    .parameters = {required_count("n", "an update takes ⌊p / n⌋ gradients; at most the number of workers"),
                   staleness_choice.parameter(Damping::none, "damping of a gradient that is τ ≥ 1 updates old: none, or a factor 1/τ"),
                   Answers::parameter(), on_failure({OnFailure::drop, OnFailure::abort}, "continue, as nobody waits for it, or end")},
    .examples = {{{"n", "2"}}, {{"n", "1"}, {"staleness", "inverse"}}},
    .make = made<Softsync>,
    .answers_hold_own = false,
    .plain_sgd_alone = {{{"n", "1"}}, {{"n", "1"}, {"staleness", "inverse"}}},
    .unfit = [](const Parameters& parameters, const TrainingPlan& plan) -> std::string {
      if (parameters.count("n") <= plan.workers) return {};
      return "n is " + std::to_string(parameters.count("n")) + ", but an update takes workers / n gradients, at least one; with " +
             std::to_string(plan.workers) + " workers n is at most " + std::to_string(plan.workers);
    },
    .weighs_batches = true,
});

}  // namespace
}  // namespace straggler::schemes::softsync
