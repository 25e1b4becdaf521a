// Local SGD: every worker takes H local steps, then all average their weights.
//   w_i ← w_i - lr g_i(w_i)  (H times),   w ← (1/p) Σ_i w_i
// Stich, Local SGD Converges Fast and Communicates Little, 2019; Zinkevich et al. 2010.
#include "sim/training/gather.hpp"
#include "sim/training/momentum_at_sync.hpp"

namespace straggler::schemes::local_sgd {
namespace {

class LocalSgd final : public Scheme {
 public:
  explicit LocalSgd(const Parameters& parameters)
      : steps_(parameters.count("steps")), by_server_(via_choice.of(parameters) == Exchange::server), momentum_(parameters) {}

 private:
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    if (by_server_) weights = momentum_.incoming(node, weights);  // an all-reduce keeps the state of a newcomer beside its weights
    for (;;) {
      for (std::int64_t h = 0; h < steps_; ++h) {
        const Gradient gradient = co_await node.gradient(weights, node.batch_size());
        weights = co_await node.step(weights, gradient);
      }
      Weights average = momentum_.outgoing(node, weights);
      if (by_server_) {
        co_await node.send(node.server(), average);
        average = co_await node.receive<Weights>(node.server());
      } else {
        average = co_await node.all_reduce_mean(average);
      }
      weights = momentum_.incoming(node, average);
      if (!by_server_) weights = co_await node.publish(weights);
    }
  }

  Process server(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      const std::vector<Weights> parts = co_await gather<Weights>(node, weights->version);
      const Weights average = node.mean(parts);
      weights = co_await node.publish(average);
      node.broadcast(weights);
    }
  }

  std::int64_t steps_;
  bool by_server_;
  MomentumAtSync momentum_;
};

const Register<SchemeEntry> entry({
    .name = "local_sgd",
    .summary = "local SGD: H local steps on every worker, then the mean of the weights",
    .reference = "Stich 2019; Zinkevich et al. 2010",
    .family = Family::local,
    .exchange = exchange_via,
    .contributions = {.batches = "steps"},
    .rule = "w_i ← w_i - lr g_i(w_i) H times, then w ← (1/p) Σ w_i",
    .paragraph =
        "Workers take H steps of their own between two averages of their weights. That needs one message in H, and a worker that is "
        "slow in one step may catch up in the next. The workers' weights drift apart meanwhile.",
    .parameters = {required_count("steps", "H, local steps between two averages"),
                   via_choice.parameter(Exchange::all_reduce, "how weights are averaged"),
                   MomentumAtSync::parameter(MomentumAtSync::Mode::keep),
                   on_failure({OnFailure::wait, OnFailure::drop, OnFailure::abort}, "wait for it, average without it, or end")},
    .examples = {{{"steps", "3"}}, {{"via", "server"}, {"momentum_at_sync", "average"}}},
    .make = made<LocalSgd>,
    .plain_sgd_alone = {{{"steps", "4"}}, {{"steps", "4"}, {"via", "server"}}},
    .weighs_batches = true,
});

}  // namespace
}  // namespace straggler::schemes::local_sgd
