// DiLoCo: every worker takes H local steps from the global weights θ, then an outer optimizer steps on the mean of their changes,
//   Δ = θ - (1/p) Σ_i w_i,   θ ← Outer(θ, Δ),   w_i ← θ.
// Douillard et al., DiLoCo: Distributed Low-Communication Training of Language Models, 2023: Outer is SGD with Nesterov's momentum.
// Streaming DiLoCo (Douillard et al. 2025) cuts the weights into fragments that are synchronized in turn, H / fragments steps apart. With
// a delay a fragment's all-reduce is in flight while the worker takes `delay` more steps, and is then mixed in:
//   w_i ← (1 - mix) w_i + mix θ.
#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/schemes/diloco_quorum.hpp"
#include "sim/training/node.hpp"

namespace straggler::schemes::diloco {
namespace {

struct DilocoOptions {
  explicit DilocoOptions(const Parameters& parameters)
      : steps(parameters.count("steps")),
        fragments(parameters.count("fragments")),
        delay(parameters.count("delay")),
        mix(parameters.number("mix")) {}
  std::int64_t steps, fragments, delay;
  double mix;

  /// Fragment f = n mod fragments leaves as the n-th (0, 1, …) after this local step: (f + 1) H / fragments, rounded up, into its round.
  std::int64_t leaves_after(std::int64_t n) const {
    return n / fragments * steps + ((n % fragments + 1) * steps + fragments - 1) / fragments;
  }
  Fragment fragment(std::int64_t n) const { return {static_cast<std::uint32_t>(n % fragments), static_cast<std::uint32_t>(fragments)}; }
  /// Local steps of a worker that starts from version n: as many as the others have taken by then, minus at least one.
  std::int64_t steps_before(std::int64_t n) const { return n == 0 ? 0 : std::min(leaves_after(n - 1) + delay, leaves_after(n) - 1); }
};

/// One for each fragment. Their state travels with the global weights, for workers that come later.
class OuterOptimizers {
 public:
  OuterOptimizers(const Node& node, const Weights& global, std::int64_t fragments)
      : optimizers_(static_cast<std::size_t>(fragments), node.outer_optimizer()) {
    for (std::size_t f = 0; f < optimizers_.size(); ++f)
      for (std::size_t k = 0;; ++k) {
        const Handle state = find_attached(global->attached(), name(f, k));
        if (state.empty()) break;
        optimizers_[f].state().push_back(state);
      }
  }
  Optimizer& of(const Fragment& fragment) { return optimizers_[fragment.index]; }
  Weights attach_to(const Algebra& algebra, Weights global) const {
    global = algebra.without_attached(std::move(global));
    for (std::size_t f = 0; f < optimizers_.size(); ++f)
      for (std::size_t k = 0; k < optimizers_[f].state().size(); ++k)
        global = algebra.attach(std::move(global), name(f, k), optimizers_[f].state()[k]);
    return global;
  }

 private:
  static std::string name(std::size_t fragment, std::size_t k) { return "outer " + std::to_string(fragment) + " " + std::to_string(k); }
  std::vector<Optimizer> optimizers_;
};

class Diloco final : public Scheme {
 public:
  explicit Diloco(const Parameters& parameters) : options_(parameters) {
    const std::string steps = std::to_string(options_.steps);
    if (options_.fragments > options_.steps)
      throw std::invalid_argument("fragments: " + std::to_string(options_.fragments) + " in turn need as many steps; take at most " +
                                  steps);
    if (options_.delay >= options_.steps)
      throw std::invalid_argument("delay: a fragment must be back before it leaves again; take fewer than " + steps);
  }

 private:
  struct InFlight {
    Pending<AllReduceOperation<Gradient>> mean;
    Fragment fragment;
    std::int64_t due;  // the local step after which it is mixed in
  };

  Process worker(Node& node) const override {
    const Algebra& algebra = node.algebra();
    Weights global = node.initial_weights();
    Durable<Weights> local(node, algebra.without_attached(global));
    OuterOptimizers outer(node, global, options_.fragments);
    std::deque<InFlight> in_flight;
    auto next = static_cast<std::int64_t>(global->version);  // to leave
    // Of a version that another fragment's steps come after, its weights alone do not tell the worker's own.
    if (node.starts_again() && next > 0) *local = algebra.blend(*local, global, 1, options_.fragment(next - 1));
    Durable<std::int64_t> step(node, options_.steps_before(next));
    for (;;) {
      ++*step;
      const Gradient gradient = co_await node.gradient(*local, node.batch_size());
      *local = co_await node.step(*local, gradient);
      if (*step == options_.leaves_after(next)) {
        const Fragment fragment = options_.fragment(next++);
        const Gradient change = algebra.difference(global, *local, fragment);
        *local = algebra.without_contributions(*local);
        in_flight.push_back({node.begin(node.all_reduce_mean(change)), fragment, *step + options_.delay});
      }
      while (!in_flight.empty() && in_flight.front().due <= *step) {
        InFlight first = std::move(in_flight.front());
        in_flight.pop_front();
        const Fragment fragment = first.fragment;
        const Gradient mean = co_await first.mean;
        global = co_await node.step(outer.of(fragment), algebra.without_attached(global), mean);
        global = outer.attach_to(algebra, algebra.with_statistics(global, mean));
        global = co_await node.publish(global);
        *local = algebra.blend(*local, global, options_.delay > 0 ? options_.mix : 1, fragment);
      }
    }
  }

  DilocoOptions options_;
};

OptimizerChoice outer_optimizer(const Parameters& parameters) {
  OptimizerChoice outer{"sgd", {}};
  for (const char* name : {"learning_rate", "momentum"}) outer.parameters.set(name, parameters.number(std::string("outer.") + name));
  outer.parameters.set("nesterov", parameters.flag("outer.nesterov"));
  return outer;
}

std::vector<Parameter> parameters() {
  std::vector<Parameter> all = {
      required_count("steps", "H, local steps between two synchronizations of the same weights"),
      {.name = "outer.learning_rate", .fallback = "0.7", .meaning = "learning rate of the outer optimizer", .range = Range::above(0)},
      {.name = "outer.momentum",
       .fallback = "0.9",
       .meaning = "share of its velocity that an outer step keeps",
       .range = {0, 1, false, true}},
      {.name = "outer.nesterov",
       .type = ValueType::boolean,
       .fallback = "true",
       .meaning = "the outer step looks ahead along its velocity; needs momentum"},
      count_or("fragments", "1", "equal pieces of the weights that are synchronized in turn; at most steps", Range::between(1, 1e6)),
      count_or("delay", "0", "local steps for which a fragment's all-reduce is in flight before it is mixed in; fewer than steps",
               Range::at_least(0)),
      {.name = "mix",
       .type = ValueType::fraction,
       .fallback = "0.5",
       .meaning = "share of the global weights in that mixture; without a delay they replace the local ones",
       .range = Range::between(0, 1)}};
  for (Parameter& each : quorum_parameters()) all.push_back(std::move(each));
  all.push_back(on_failure({OnFailure::wait, OnFailure::drop, OnFailure::abort}, "wait for it, average without it, or end"));
  return all;
}

const Register<SchemeEntry> entry({
    .name = "diloco",
    .summary = "DiLoCo: local steps, then an outer optimizer on the workers' mean change; whole or in fragments",
    .reference = "Douillard et al. 2023, 2025, 2026",
    .family = Family::local,
    .exchange = [](const Parameters& parameters) { return has_quorum(parameters) ? Exchange::server : Exchange::all_reduce; },
    .asynchronous = [](const Parameters& parameters) { return parameters.count("delay") > 0 || has_quorum(parameters); },
    .rule = "w ← Outer(w, w - (1/p) Σ w_i), after H local steps",
    .paragraph =
        "Local SGD for slow links: after H local steps an outer optimizer, SGD with Nesterov's momentum, steps along the mean change. "
        "Weights may travel in F fragments (`fragments`), each in flight while the workers compute on (`delay`). With a `quorum` a server "
        "waits for some changes and a window, and workers never stop, after Decoupled DiLoCo (Douillard et al. 2026).",
    .waits = "all for the slowest, every H steps; with a quorum nobody",
    .staleness = {.text = "0, or ⌈F delay / H⌉; with a quorum no bound",
                  .most = [](const Parameters& parameters) -> std::optional<std::uint64_t> {
                    if (has_quorum(parameters)) return std::nullopt;
                    const std::int64_t steps = parameters.count("steps");
                    return static_cast<std::uint64_t>((parameters.count("fragments") * parameters.count("delay") + steps - 1) / steps);
                  }},
    .traffic = {.text = "2 (p - 1) d / F; with a quorum 2 d per change",
                .bytes = [](const Parameters& parameters, const TrainingPlan& plan) -> std::optional<UpdateBytes> {
                  if (has_quorum(parameters)) return std::nullopt;
                  return UpdateBytes{2.0 * (plan.workers - 1) / static_cast<double>(parameters.count("fragments"))};
                }},
    .picture = {{"steps", "3"}},
    .parameters = parameters(),
    .examples = {{{"steps", "4"}},
                 {{"steps", "4"}, {"fragments", "2"}},
                 {{"steps", "6"}, {"fragments", "2"}, {"delay", "2"}},
                 {{"steps", "2"}, {"quorum", "2"}, {"grace", "5ms"}},
                 {{"steps", "3"}, {"quorum", "1"}, {"late", "drop"}, {"average", "by_samples_times_rate"}}},
    .make = [](const Parameters& parameters) -> std::unique_ptr<Scheme> {
      if (has_quorum(parameters)) return diloco_by_quorum(parameters);
      require_quorum(parameters);
      return std::make_unique<Diloco>(parameters);
    },
    .average =
        [](const Parameters& parameters) {
          return has_quorum(parameters) ? std::nullopt : std::optional(Average::By::plain);  // the fastest decide who is in it
        },
    .answers_hold_own = false,  // behind a quorum learners never stop
    .updates_per_epoch = [](const Parameters& parameters, const TrainingPlan& plan) -> std::optional<double> {
      if (has_quorum(parameters)) return std::nullopt;
      return plan.batches_per_epoch() / plan.workers * static_cast<double>(parameters.count("fragments")) /
             static_cast<double>(parameters.count("steps"));
    },
    .unfit =
        [](const Parameters& parameters, const TrainingPlan& plan) {
          if (has_quorum(parameters) && parameters.count("quorum") > plan.workers)
            return "quorum: of " + std::to_string(plan.workers) + " workers at most " + std::to_string(plan.workers) +
                   " are a quorum, not " + std::to_string(parameters.count("quorum"));
          if (parameters.count("fragments") == 1 || !plan.statistics) return std::string();
          return "fragments: " + std::to_string(parameters.count("fragments")) +
                 " of a model with running statistics (batch norm) or a dynamic loss scale (precision: mixed) are not possible; take "
                 "fragments: 1";
        },
    .worker_vectors = 2,  // its change, in flight, and the weights that the change started from
    .worker_bytes = 3'000,
    .outer_optimizer = outer_optimizer,
    .weighs_batches = true,
    // With a delay fragments are in flight when a version is published; with a quorum nobody waits for a learner.
    .rolls_back =
        [](const Parameters& parameters) {
          if (has_quorum(parameters)) return RollsBack::server;
          return parameters.count("delay") > 0 ? RollsBack::never : RollsBack::together;
        },
});

}  // namespace
}  // namespace straggler::schemes::diloco
