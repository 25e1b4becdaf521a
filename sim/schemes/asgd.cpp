// Asynchronous SGD with a parameter server: the server steps on each gradient as it arrives,
//   w ← w - lr s(τ) g(w_read), where w_read is τ updates old (its staleness).
// Dean et al., Large Scale Distributed Deep Networks, 2012 (n_push = n_fetch = 1; s = 1). By staleness:
//   inverse            s(τ) = 1/τ, Zhang et al., Staleness-aware Async-SGD, 2016; inverse_sqrt 1/√τ; a fresh gradient (τ ≤ 1) counts whole
//   adaptive           s(τ) = min(1, p/τ), Mishchenko et al., Asynchronous SGD Beats Minibatch SGD Under Arbitrary Delays, 2022;
//                      Koloskova et al., Sharper Convergence Guarantees for Asynchronous SGD, 2022
//   delay_compensated  g + λ g⊙g⊙(w - w_read) for g, Zheng et al., Asynchronous SGD with Delay Compensation, 2017
// max_delay R: a gradient with τ ≥ R is dropped, and answered like the others; Maranjyan, Tyurin & Richtárik, Ringmaster ASGD, 2025.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "sim/training/answers.hpp"

namespace straggler::schemes::asgd {
namespace {

enum class Staleness { none, inverse, inverse_sqrt, adaptive, delay_compensated };
constexpr ChoiceTable<Staleness> staleness_choice("staleness", {{Staleness::none, "none"},
                                                                {Staleness::inverse, "inverse"},
                                                                {Staleness::inverse_sqrt, "inverse_sqrt"},
                                                                {Staleness::adaptive, "adaptive"},
                                                                {Staleness::delay_compensated, "delay_compensated"}});

/// The weights at which each worker computes, as the server sent them.
class ReadWeights {
 public:
  explicit ReadWeights(Node& node) : node_(node), read_(static_cast<std::size_t>(node.workers()), node.initial_weights()) {}
  void sent(Rank worker, const Weights& weights) { read_[index_of(worker)] = node_.as_held_by(worker, weights); }
  /// A worker's new life began from weights that this server has not sent; real ranks have only one life.
  const Weights& of(const From<Gradient>& gradient) const {
    const Weights& sent = read_[index_of(gradient.sender)];
    return sent->version == gradient->version() ? sent : gradient->at;
  }

 private:
  Node& node_;
  std::vector<Weights> read_;  // [workers]
};

/// s(τ).
double damping(Staleness rule, Rank workers, std::uint64_t staleness) {
  const double tau = std::max(1.0, static_cast<double>(staleness));
  switch (rule) {
    case Staleness::inverse:
      return 1 / tau;
    case Staleness::inverse_sqrt:
      return 1 / std::sqrt(tau);
    case Staleness::adaptive:
      return std::min(1.0, workers / tau);
    case Staleness::none:
    case Staleness::delay_compensated:
      break;
  }
  return 1;
}

class Asgd final : public Scheme {
 public:
  explicit Asgd(const Parameters& parameters)
      : staleness_(staleness_choice.of(parameters)),
        answers_(parameters),
        lambda_(parameters.number("lambda")),
        by_batch_(parameters.has("scale_with_batch") && parameters.flag("scale_with_batch")) {
    if (parameters.has("max_delay")) max_delay_ = static_cast<std::uint64_t>(parameters.count("max_delay"));
  }

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
    std::optional<ReadWeights> read;
    if (staleness_ == Staleness::delay_compensated) read.emplace(node);
    for (;;) {
      const From<Gradient> arrived = co_await node.receive<Gradient>();
      const std::uint64_t staleness = weights->version - arrived->version();
      if (max_delay_ && staleness >= *max_delay_) {
        node.discard<Gradient>(arrived);
      } else {
        Gradient gradient =
            read ? compensated(node, arrived, weights, read->of(arrived)) : damped(node, arrived, Node::staleness(weights, arrived));
        if (by_batch_) gradient = counted_by_batch(node, gradient, arrived.sender);
        weights = co_await node.step(weights, gradient);
        weights = co_await node.publish(weights);
      }
      co_await answers_.send(node, arrived.sender, weights);
      if (read) read->sent(arrived.sender, weights);
    }
  }

  /// As many mean batches as its worker's batch is.
  static Gradient counted_by_batch(Node& node, const Gradient& gradient, Rank worker) {
    const double mean = node.plan().batches.mean(node.workers());
    return node.algebra().counted_as(gradient, static_cast<double>(node.batch_size(worker)) / mean);
  }

  Gradient damped(Node& node, const Gradient& gradient, std::uint64_t staleness) const {
    if (staleness_ == Staleness::none || staleness <= 1) return gradient;
    const double share = damping(staleness_, node.workers(), staleness);
    return staleness_ == Staleness::adaptive ? node.algebra().scaled(gradient, share) : node.algebra().weighted_sum({gradient}, {share});
  }

  /// g + λ g⊙g⊙(w - w_read). A fresh gradient has a w_read other than w where answers are compressed.
  Gradient compensated(Node& node, const Gradient& gradient, const Weights& weights, const Weights& read) const {
    const bool taken_again = gradient->version() != weights->version && Node::staleness(weights, gradient) == 0;
    if (taken_again || weights->value.key() == read->value.key()) return gradient;
    const Algebra& algebra = node.algebra();
    const Handle drift = algebra.combination({{weights->value, 1}, {read->value, -1}});
    return algebra.corrected(gradient, {{algebra.product({gradient->value(), gradient->value(), drift}), lambda_}});
  }

  Staleness staleness_;
  Answers answers_;
  double lambda_;
  bool by_batch_;
  std::optional<std::uint64_t> max_delay_;
};

const Register<SchemeEntry> entry({
    .name = "asgd",
    .summary = "asynchronous SGD: the server steps on each gradient as it arrives",
    .reference = "Dean et al. 2012; Zhang et al. 2016; Zheng et al. 2017; Mishchenko et al. 2022; Maranjyan et al. 2025",
    .other_names = {"async", "asyncsgd", "asynchronous", "asynchronoussgd", "ringmaster", "ringmasterasgd", "dcasgd", "ps",
                    "parameterserver"},
    .family = Family::asynchronous,
    .asynchronous = [](const Parameters& parameters) { return !parameters.has("max_delay") || parameters.count("max_delay") > 1; },
    .rule = "w ← w - lr s(τ) g(w_read)",
    .paragraph =
        "The server steps on each gradient as it comes and answers with the current weights, so nobody waits. The price is staleness: "
        "while a worker computes, the others move the weights on. Stale gradients can be damped, corrected, or dropped (`max_delay` is "
        "Ringmaster ASGD).",
    .staleness = {.text = "none, or max_delay - 1",
                  .most =
                      [](const Parameters& parameters) {
                        return parameters.has("max_delay") ? std::optional(static_cast<std::uint64_t>(parameters.count("max_delay")) - 1)
                                                           : std::nullopt;
                      }},
    .damping = [](const Parameters& parameters, const TrainingPlan& plan,
                  std::uint64_t staleness) { return damping(staleness_choice.of(parameters), plan.workers, staleness); },
    .traffic = {.text = "2 d, and 2 d per dropped gradient", .bytes = UpdateBytes{2, 2}},
    .parameters =
        {staleness_choice.parameter(Staleness::none,
                                    "what happens to a gradient that is τ > 1 updates old: nothing, a factor 1/τ, 1/√τ or (if τ > p) p/τ, "
                                    "or a correction for the change of the weights since"),
         {.name = "lambda",
          .type = ValueType::number,
          .fallback = "0.04",
          .meaning = "λ, the strength of `staleness: delay_compensated`",
          .range = Range::at_least(0)},
         optional_count("max_delay", "a gradient with τ of at least this is dropped; default: none"),
         {.name = "scale_with_batch",
          .type = ValueType::boolean,
          .meaning = "`true`: the learning rate is multiplied by b / b̄, the batch of the gradient's worker over the mean batch (its root "
                     "with `schedule.scale_with_workers: square_root`)"},
         Answers::parameter(),
         on_failure({OnFailure::drop, OnFailure::abort}, "continue, as nobody waits for it, or end")},
    .examples = {{{"max_delay", "3"}}, {{"max_delay", "1"}}, {{"staleness", "delay_compensated"}, {"lambda", "1"}, {"max_delay", "6"}}},
    .make = made<Asgd>,
    .plain_sgd_alone =
        {{}, {{"staleness", "inverse"}}, {{"staleness", "adaptive"}}, {{"staleness", "delay_compensated"}}, {{"max_delay", "1"}}},
});

}  // namespace
}  // namespace straggler::schemes::asgd
