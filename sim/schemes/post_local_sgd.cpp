// Post-local SGD: synchronous SGD at first, then local SGD. Until `start`, every update is one step on the mean gradient,
//   w ← w - lr (1/p) Σ_i g_i(w);
// from then on every worker takes H local steps between two averages,
//   w_i ← w_i - lr g_i(w_i)  (H times),   w ← (1/p) Σ_i w_i.
// Lin, Stich, Patel, Jaggi, Don't Use Large Mini-Batches, Use Local SGD, ICLR 2020.
#include "sim/training/momentum_at_sync.hpp"

namespace straggler::schemes::post_local_sgd {
namespace {

class PostLocalSgd final : public Scheme {
 public:
  explicit PostLocalSgd(const Parameters& parameters)
      : steps_(parameters.count("steps")), start_(parameters.number("start.epochs")), momentum_(parameters) {}

 private:
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    while (node.epochs_at(weights) < start_) {
      const DrawnBatch batch = node.next_batch(node.batch_size());
      const Gradient mean = co_await node.averaged_gradient(weights, batch);
      weights = co_await node.step(weights, mean);
      weights = co_await node.publish(weights);
    }
    for (;;) {
      for (std::int64_t h = 0; h < steps_; ++h) {
        const Gradient gradient = co_await node.gradient(weights, node.batch_size());
        weights = co_await node.step(weights, gradient);
      }
      const Weights mine = momentum_.outgoing(node, weights);
      const Weights average = co_await node.all_reduce_mean(mine);
      weights = momentum_.incoming(node, average);
      weights = co_await node.publish(weights);
    }
  }

  std::int64_t steps_;
  double start_;
  MomentumAtSync momentum_;
};

const Register<SchemeEntry> entry({
    .name = "post_local_sgd",
    .summary = "synchronous SGD at first, then local SGD",
    .reference = "Lin et al. 2020",
    .family = Family::local,
    .rule = "ssgd until start, then local_sgd",
    .paragraph = "Synchronous SGD for the first epochs, while weights change fastest, and local SGD from `start` on, which saves messages.",
    .waits = "all for the slowest, later every H steps",
    .batch_is = "as `ssgd`, then one local step",
    .traffic = MomentumAtSync::traffic({.text = "2 (p - 1) d",
                                        .bytes = [](const Parameters& parameters, const TrainingPlan& plan) -> std::optional<UpdateBytes> {
                                          // Momentum is averaged from `start` on.
                                          if (MomentumAtSync(parameters).averages() && parameters.number("start.epochs") > 0)
                                            return std::nullopt;
                                          return UpdateBytes{2.0 * (plan.workers - 1)};
                                        }}),
    .picture = {{"steps", "3"}, {"start.epochs", "0.2"}},
    .parameters = {required_count("steps", "H, local steps between two averages"),
                   {.name = "start.epochs",
                    .required = true,
                    .meaning = "passes over the data before the local steps begin",
                    .range = Range::at_least(0)},
                   MomentumAtSync::parameter(MomentumAtSync::Mode::keep),
                   on_failure({OnFailure::wait, OnFailure::drop, OnFailure::abort}, "wait for it, average without it, or end")},
    .examples = {{{"steps", "3"}, {"start.epochs", "0.5"}}, {{"start.epochs", "0"}}, {{"momentum_at_sync", "average"}}},
    .make = made<PostLocalSgd>,
    .plain_sgd_alone = {{{"steps", "4"}, {"start.epochs", "0.5"}}},
    // More at first: the number of an epoch is not fixed.
    .updates_per_epoch = [](const Parameters& parameters, const TrainingPlan& plan) -> std::optional<double> {
      if (parameters.number("start.epochs") > 0 && parameters.count("steps") > 1) return std::nullopt;
      return plan.batches_per_epoch() / plan.workers / static_cast<double>(parameters.count("steps"));
    },
    .weighs_batches = true,
});

}  // namespace
}  // namespace straggler::schemes::post_local_sgd
