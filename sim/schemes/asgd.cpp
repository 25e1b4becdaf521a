// Asynchronous SGD with a parameter server: the server steps on each gradient as it arrives,
//   w ← w - lr s(τ) g(w_read), where w_read is τ updates old (its staleness).
// Dean et al., Large Scale Distributed Deep Networks, 2012 (n_push = n_fetch = 1; s = 1).
// Damped by staleness: s(τ) = 1/τ, Zhang et al., Staleness-aware Async-SGD, 2016, or 1/√τ; a fresh gradient (τ ≤ 1) counts whole.
#include <cmath>

#include "sim/training/node.hpp"

namespace straggler {
namespace {

enum class Damping { none, inverse, inverse_sqrt };
constexpr ChoiceTable<Damping> staleness_choice("staleness", {{Damping::none, "none"},
                                                              {Damping::inverse, "inverse"},
                                                              {Damping::inverse_sqrt, "inverse_sqrt"}});

enum class Answers { in_turn, at_once };
constexpr ChoiceTable<Answers> answers_choice("answers", {{Answers::in_turn, "in_turn"}, {Answers::at_once, "at_once"}});

class Asgd final : public Scheme {
 public:
  Asgd(Damping damping, Answers answers) : damping_(damping), answers_(answers) {}

 private:
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      const DrawnBatch batch = node.next_batch(node.batch_size());
      const Gradient gradient = co_await node.gradient(weights, batch);
      co_await node.send(node.server(), gradient);
      weights = co_await node.receive<Weights>(node.server());
    }
  }

  Process server(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      const From<Gradient> arrived = co_await node.receive<Gradient>();
      const Gradient gradient = damped(node, arrived, weights->version - arrived->version());
      weights = co_await node.step(weights, gradient);
      weights = co_await node.publish(weights);
      if (answers_ == Answers::at_once)
        node.post(arrived.sender, weights);
      else
        co_await node.send(arrived.sender, weights);
    }
  }

  Gradient damped(Node& node, const Gradient& gradient, std::uint64_t staleness) const {
    if (damping_ == Damping::none || staleness <= 1) return gradient;
    const double tau = static_cast<double>(staleness);
    return node.weighted_sum({gradient}, {damping_ == Damping::inverse ? 1 / tau : 1 / std::sqrt(tau)});
  }

  Damping damping_;
  Answers answers_;  // at_once: the server does not wait until its answer has left
};

const Register<SchemeEntry> entry({
    .name = "asgd",
    .summary = "asynchronous SGD: the server steps on each gradient as it arrives",
    .reference = "Dean et al. 2012; Zhang et al. 2016",
    .family = Family::asynchronous,
    .rule = "w ← w - lr s(τ) g(w_read)",
    .parameters = {staleness_choice.parameter(Damping::none, "how a gradient that is τ > 1 updates old is damped: not, by 1/τ, or by 1/√τ"),
                   answers_choice.parameter(Answers::in_turn,
                                            "the server sends one answer after the other before it takes the next "
                                            "gradient, or goes on at once while answers share its link"),
                   on_failure({OnFailure::drop, OnFailure::abort}, "nobody waits for it anyway, or end")},
    .make =
        [](const Parameters& parameters) { return std::make_unique<Asgd>(staleness_choice.of(parameters), answers_choice.of(parameters)); },
    .exchange = [](const Parameters&) { return Exchange::server; },
    .asynchronous = [](const Parameters&) { return true; },
    .plain_sgd_alone = {{}, {{"staleness", "inverse"}}},
    .updates_per_epoch = [](const Parameters&, const TrainingPlan& plan) { return plan.batches_per_epoch(); },
    .sends_gradients = [](const Parameters&) { return true; },
    .workers_hold = WorkersHold::own_version,
});

}  // namespace
}  // namespace straggler
