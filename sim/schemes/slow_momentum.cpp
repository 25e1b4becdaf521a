// Slow momentum (SlowMo): after H local steps from w_t the workers average, then step along a momentum of the rounds' changes,
//   w̄ = (1/p) Σ_i w_i,   u ← β u + (w_t - w̄) / lr,   w_{t+1} = w_t - α lr u.
// lr is the learning rate at w_t. With β = 0 and α = 1 it is local SGD, up to rounding.
// Wang, Tantia, Ballas, Rabbat, SlowMo: Improving Communication-Efficient Distributed SGD with Slow Momentum, ICLR 2020.
#include "sim/schemes/parts.hpp"
#include "sim/training/momentum_at_sync.hpp"

namespace straggler::schemes::slow_momentum {
namespace {

/// u, which travels with published weights for workers that come later.
constexpr std::string_view slow_momentum = "slow momentum";

class SlowMomentum final : public Scheme {
 public:
  explicit SlowMomentum(const Parameters& parameters)
      : steps_(parameters.count("steps")), beta_(parameters.number("beta")), alpha_(parameters.number("alpha")), momentum_(parameters) {}

 private:
  Process worker(Node& node) const override {
    const Algebra& algebra = node.algebra();
    Optimizer outer = node.outer_optimizer();  // a step of rate 1
    Weights global = node.initial_weights();
    for (;;) {
      Handle slow = find_attached(global->attached(), slow_momentum);
      const Weights start = algebra.without_attached(global);
      const double rate = node.plan().optimizer->learning_rate(node.epochs_at(start), 1);
      Weights local = start;
      for (std::int64_t h = 0; h < steps_; ++h) {
        const Gradient gradient = co_await node.gradient(local, node.batch_size());
        local = co_await node.step(local, gradient);
      }
      const Weights mine = momentum_.outgoing(node, local);
      const Weights average = co_await node.all_reduce_mean(mine);
      const Weights mean = momentum_.incoming(node, average);
      const Gradient change = algebra.difference(start, mean);
      slow = algebra.combination({{slow, beta_}, {change->value(), 1 / rate}});
      const Gradient along = algebra.scaled(algebra.replaced(change, slow), alpha_ * rate);
      const Weights next = co_await node.step(outer, start, along);
      global = co_await node.publish(algebra.attach(algebra.with_statistics(next, change), slow_momentum, slow));
    }
  }

  std::int64_t steps_;
  double beta_, alpha_;
  MomentumAtSync momentum_;
};

const Register<SchemeEntry> entry({
    .name = "slow_momentum",
    .summary = "local SGD with momentum over the changes of rounds (SlowMo)",
    .reference = "Wang et al. 2020",
    .other_names = {"slowmo"},
    .family = Family::local,
    .contributions = {.batches = "steps"},
    .rule = "u ← β u + (w - w̄)/lr, w ← w - α lr u, after H local steps",
    .paragraph =
        "Local SGD after which all workers take a common step along a momentum of past rounds. It needs no more messages than `local_sgd`.",
    .parameters =
        {required_count("steps", "H, local steps between two averages"),
         {.name = "beta", .fallback = "0.7", .meaning = "share of the slow momentum that a round keeps", .range = {0, 1, false, true}},
         {.name = "alpha", .fallback = "1", .meaning = "slow learning rate", .range = Range::above(0)},
         MomentumAtSync::parameter(MomentumAtSync::Mode::keep),
         on_failure({OnFailure::wait, OnFailure::drop, OnFailure::abort}, "wait for it, average without it, or end")},
    .examples = {{{"steps", "3"}}, {{"beta", "0"}}, {{"alpha", "0.5"}, {"momentum_at_sync", "reset"}}},
    .make = made<SlowMomentum>,
    .worker_vectors = 1,  // the weights of the round; u is the same for all
    .worker_bytes = 2'300,
    .outer_optimizer = plain_steps(1),
    .weighs_batches = true,
});

}  // namespace
}  // namespace straggler::schemes::slow_momentum
