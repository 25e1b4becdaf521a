// Asynchronous DiLoCo: every worker takes local steps from the global weights θ and sends the change Δ = θ_start - w when it is done; the
// server steps on each change as it comes and answers with θ. Its momentum is applied once in n changes (delayed Nesterov, c = 0),
//   s ← s + Δ,   θ ← θ - lr Δ / n;   at every n-th change also m ← β m + s / n,   θ ← θ - lr β m,   s ← 0.
// With `dynamic_steps` slow workers take fewer steps, H_i = max(1, ⌊H v_i / max v⌋), where v_i is a worker's speed in steps a second, by
// its device and slowdown, without jitter. So all send about equally often.
// Liu, Chhaparia, Douillard, Kale, Rusu, Shen, Szlam & Ranzato, Asynchronous Local-SGD Training for Language Modeling, 2024.
#include <algorithm>
#include <utility>

#include "sim/schemes/parts.hpp"

namespace straggler::schemes::async_diloco {
namespace {

/// θ ← θ - lr Δ / n, with the momentum of n changes at every n-th.
class DelayedNesterov {
 public:
  DelayedNesterov(double beta, std::int64_t n) : beta_(beta), n_(n) {}
  /// The direction of the next step, of rate lr.
  Gradient direction(const Algebra& algebra, const Gradient& change) {
    const double share = 1 / static_cast<double>(n_);
    sum_ = algebra.combination({{sum_, 1}, {change->value(), share}});
    if (++changes_ < n_) return algebra.scaled(change, share);
    momentum_ = algebra.combination({{momentum_, beta_}, {sum_, 1}});
    sum_ = Handle();
    changes_ = 0;
    return algebra.replaced(change, algebra.combination({{change->value(), share}, {momentum_, beta_}}));
  }

 private:
  double beta_;
  std::int64_t n_, changes_ = 0;
  Handle sum_, momentum_;  // s / n and m; empty: 0
};

class AsyncDiloco final : public Scheme {
 public:
  explicit AsyncDiloco(const Parameters& parameters)
      : steps_(parameters.count("steps")),
        by_speed_(parameters.flag("dynamic_steps")),
        beta_(parameters.number("outer.momentum")),
        answers_(parameters) {
    if (parameters.has("buffer")) buffer_ = parameters.count("buffer");
  }

 private:
  Process worker(Node& node) const override {
    const Algebra& algebra = node.algebra();
    const std::int64_t steps = steps_of(node);
    Weights global = node.initial_weights();
    for (;;) {
      Weights local = global;
      for (std::int64_t step = 0; step < steps; ++step) {
        const Gradient gradient = co_await node.gradient(local, node.batch_size());
        local = co_await node.step(local, gradient);
      }
      const Gradient change = algebra.difference(global, local);
      co_await node.send(node.server(), change);
      global = co_await node.receive<Weights>(node.server());
    }
  }

  Process server(Node& node) const override {
    Durable<Optimizer> outer(node, node.outer_optimizer());
    Durable<DelayedNesterov> rule(node, DelayedNesterov(beta_, buffer_.value_or(node.workers())));
    Weights global = node.initial_weights();
    for (;;) {
      const From<Gradient> change = co_await node.receive<Gradient>();
      const Gradient direction = rule->direction(node.algebra(), change);
      const Weights next = co_await node.step(*outer, global, direction);
      global = co_await node.publish(node.algebra().with_statistics(next, change));
      co_await answers_.send(node, change.sender, global);
    }
  }

  /// H_i.
  std::int64_t steps_of(const Node& node) const {
    const std::vector<double>& seconds = node.plan().step_seconds;
    if (!by_speed_ || seconds.empty()) return steps_;
    const double fastest = *std::ranges::min_element(seconds);
    const double steps = static_cast<double>(steps_) * fastest / seconds[index_of(node.self())];
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(steps * (1 + 1e-9)));  // rounding of seconds takes no step
  }

  std::int64_t steps_;
  bool by_speed_;
  double beta_;
  std::optional<std::int64_t> buffer_;
  Answers answers_;
};

const Register<SchemeEntry> entry({
    .name = "async_diloco",
    .summary = "asynchronous DiLoCo: the server steps on each worker's change as it comes, with delayed momentum",
    .reference = "Liu et al. 2024",
    .other_names = {"asynclocalsgd", "asynchronouslocalsgd", "delayednesterov", "asyncdiloco"},
    .family = Family::local,
    .exchange = Exchange::server,
    .contributions = {.text = "1", .count = 1, .batches = "steps"},
    .asynchronous = true,
    .rule = "θ ← θ - lr Δ/n as each Δ comes; at every n-th also m ← β m + s/n, θ ← θ - lr β m, s the sum of n changes",
    .paragraph = "DiLoCo without a barrier: each worker sends its change after its local steps and continues from the server's weights. "
                 "Momentum on stale changes diverges easily, so it is applied once in n changes. With `dynamic_steps` slow workers take "
                 "fewer steps, so that their changes are not older than others'.",
    .traffic = {.text = "2 d", .bytes = UpdateBytes{2}},
    .picture = {{"steps", "3"}},
    .parameters = {required_count("steps", "H, local steps of the fastest worker between two exchanges"),
                   {.name = "outer.learning_rate", .fallback = "0.7", .meaning = "learning rate of the server", .range = Range::above(0)},
                   {.name = "outer.momentum",
                    .fallback = "0.9",
                    .meaning = "β, share of the momentum that n changes keep",
                    .range = {0, 1, false, true}},
                   optional_count("buffer", "n, changes after which the momentum is applied; default: the number of workers",
                                  Range::between(1, 1e6)),
                   {.name = "dynamic_steps",
                    .type = ValueType::boolean,
                    .fallback = "true",
                    .meaning = "a worker takes steps in proportion to its speed, ⌊H v_i / max v⌋, at least 1; false: all take H"},
                   Answers::parameter(),
                   on_failure({OnFailure::drop, OnFailure::abort}, "continue, as nobody waits for it, or end")},
    .examples = {{{"steps", "1"}},
                 {{"steps", "3"}, {"outer.momentum", "0.4"}},
                 {{"steps", "4"}, {"dynamic_steps", "false"}, {"outer.momentum", "0.5"}},
                 {{"steps", "1"}, {"buffer", "1"}, {"outer.momentum", "0"}, {"outer.learning_rate", "1"}}},
    .make = made<AsyncDiloco>,
    .updates_per_epoch = [](const Parameters& parameters, const TrainingPlan& plan) -> std::optional<double> {
      if (parameters.flag("dynamic_steps")) return std::nullopt;
      return plan.batches_per_epoch() / static_cast<double>(parameters.count("steps"));
    },
    .steps_by_speed = [](const Parameters& parameters) { return parameters.flag("dynamic_steps"); },
    .worker_bytes = 2'300,
    .outer_optimizer = [](const Parameters& parameters) { return std::optional(plain_steps(parameters.number("outer.learning_rate"))); },
    .rolls_back = RollsBack::server,
});

}  // namespace
}  // namespace straggler::schemes::async_diloco
