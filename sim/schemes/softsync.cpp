// n-softsync: the server steps on the mean of c = ⌊p / n⌋ gradients as they come, of any versions,
//   w ← w - lr (1/c) Σ s(τ) g(w_read);
// no worker waits: each gradient is answered with the current weights. With `inverse` a gradient that is τ ≥ 1 updates old counts
// s(τ) = 1/τ; otherwise s = 1. Zhang, Gupta, Lian & Liu, Staleness-aware Async-SGD for Distributed Deep Learning, 2016.
#include <algorithm>
#include <vector>

#include "sim/training/answers.hpp"

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
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      const Gradient gradient = co_await node.gradient(weights, node.batch_size());
      co_await node.send(node.server(), gradient);
      weights = co_await node.receive<Weights>(node.server());
    }
  }

  Process server(Node& node) const override {
    const auto count = static_cast<std::size_t>(gradients_of(parameters_, node.workers()));
    Weights weights = node.initial_weights();
    std::vector<From<Gradient>> parts;
    for (;;) {
      const From<Gradient> arrived = co_await node.receive<Gradient>();
      parts.push_back(arrived);
      if (parts.size() == count) {
        std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.sender.rank < b.sender.rank; });
        std::vector<Gradient> damped;
        for (const Gradient& part : parts) damped.push_back(this->damped(node, part, Node::staleness(weights, part)));
        parts.clear();
        const Gradient mean = node.mean(damped);
        weights = co_await node.step(weights, mean);
        weights = co_await node.publish(weights);
      }
      co_await answers_.send(node, arrived.sender, weights);
    }
  }

  Gradient damped(Node& node, const Gradient& gradient, std::uint64_t staleness) const {
    const double share = damping(damping_, staleness);
    return share == 1 ? gradient : node.algebra().scaled(gradient, share);
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
    .rule = "w ← w - lr (1/c) Σ s(τ) g(w_read), over c = ⌊p/n⌋ gradients",
    .paragraph = "The server averages c = ⌊p / n⌋ gradients, and answers each as it comes: gradients are about n updates old. "
                 "With `staleness: inverse` each counts 1/τ, so larger learning rates work.",
    .waits = "nobody",
    .staleness = unbounded_staleness(),
    .damping = [](const Parameters& parameters, const TrainingPlan&,
                  std::uint64_t staleness) { return damping(staleness_choice.of(parameters), staleness); },
    .traffic = {.text = "2 c d",
                .bytes =
                    [](const Parameters& parameters, const TrainingPlan& plan) {
                      return std::optional<UpdateBytes>({2 * static_cast<double>(gradients_of(parameters, plan.workers)), 0});
                    }},
    .parameters = {{.name = "n",
                    .type = ValueType::count,
                    .required = true,
                    .meaning = "an update takes ⌊p / n⌋ gradients; at most the number of workers",
                    .range = Range::at_least(1)},
                   staleness_choice.parameter(Damping::none, "damping of a gradient that is τ ≥ 1 updates old: none, or a factor 1/τ"),
                   Answers::parameter(),
                   on_failure({OnFailure::drop, OnFailure::abort}, "continue, as nobody waits for it, or end")},
    .examples = {{{"n", "2"}}, {{"n", "1"}, {"staleness", "inverse"}}},
    .make = [](const Parameters& parameters) { return std::make_unique<Softsync>(parameters); },
    .exchange = [](const Parameters&) { return Exchange::server; },
    .asynchronous = [](const Parameters&) { return true; },
    .answers_hold_own = false,
    .plain_sgd_alone = {{{"n", "1"}}, {{"n", "1"}, {"staleness", "inverse"}}},
    .updates_per_epoch =
        [](const Parameters& parameters, const TrainingPlan& plan) {
          return plan.batches_per_epoch() / static_cast<double>(gradients_of(parameters, plan.workers));
        },
    .unfit = [](const Parameters& parameters, const TrainingPlan& plan) -> std::string {
      if (parameters.count("n") <= plan.workers) return {};
      return "n: is " + std::to_string(parameters.count("n")) + ", but an update takes workers / n gradients, at least one; with " +
             std::to_string(plan.workers) + " workers n is at most " + std::to_string(plan.workers);
    },
    .sends_gradients = [](const Parameters&) { return true; },
    .workers_hold = WorkersHold::own_version,
});

}  // namespace
}  // namespace straggler::schemes::softsync
