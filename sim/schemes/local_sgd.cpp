// Local SGD: every worker takes H local steps, then all average their weights.
//   w_i ← w_i - lr g_i(w_i)  (H times),   w ← (1/p) Σ_i w_i
// Stich, Local SGD Converges Fast and Communicates Little, 2019; Zinkevich et al. 2010.
#include "sim/schemes/momentum_at_sync.hpp"
#include "sim/training/gather.hpp"

namespace straggler::schemes::local_sgd {
namespace {

struct LocalSgdOptions {
  explicit LocalSgdOptions(const Parameters& parameters) : steps(parameters.count("steps")), momentum(parameters) {}
  std::int64_t steps;
  MomentumAtSync momentum;
};

class LocalSgdByAllReduce final : public Scheme {
 public:
  explicit LocalSgdByAllReduce(const Parameters& parameters) : options_(parameters) {}

 private:
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      for (std::int64_t h = 0; h < options_.steps; ++h) {
        const Gradient gradient = co_await node.gradient(weights, node.batch_size());
        weights = co_await node.step(weights, gradient);
      }
      const Weights mine = options_.momentum.outgoing(node, weights);
      const Weights average = co_await node.all_reduce_mean(mine);
      weights = options_.momentum.incoming(node, average);
      weights = co_await node.publish(weights);
    }
  }

  LocalSgdOptions options_;
};

class LocalSgdByServer final : public Scheme {
 public:
  explicit LocalSgdByServer(const Parameters& parameters) : options_(parameters) {}

 private:
  Process worker(Node& node) const override {
    Weights weights = options_.momentum.incoming(node, node.initial_weights());
    for (;;) {
      for (std::int64_t h = 0; h < options_.steps; ++h) {
        const Gradient gradient = co_await node.gradient(weights, node.batch_size());
        weights = co_await node.step(weights, gradient);
      }
      const Weights mine = options_.momentum.outgoing(node, weights);
      co_await node.send(node.server(), mine);
      const Weights average = co_await node.receive<Weights>(node.server());
      weights = options_.momentum.incoming(node, average);
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

  LocalSgdOptions options_;
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
    .waits = "all for the slowest, every H steps",
    .traffic = MomentumAtSync::traffic(usual::traffic(exchange_via, {})),
    .parameters = {{.name = "steps",
                    .type = ValueType::count,
                    .required = true,
                    .meaning = "H, local steps between two averages",
                    .range = Range::at_least(1)},
                   via_choice.parameter(Exchange::all_reduce, "how weights are averaged"),
                   MomentumAtSync::parameter(MomentumAtSync::Mode::keep),
                   on_failure({OnFailure::wait, OnFailure::drop, OnFailure::abort}, "wait for it, average without it, or end")},
    .examples = {{{"steps", "3"}}, {{"via", "server"}, {"momentum_at_sync", "average"}}},
    .make = [](const Parameters& parameters) -> std::unique_ptr<Scheme> {
      if (via_choice.of(parameters) == Exchange::server) return std::make_unique<LocalSgdByServer>(parameters);
      return std::make_unique<LocalSgdByAllReduce>(parameters);
    },
    .average = Average::By::plain,
    .plain_sgd_alone = {{{"steps", "4"}}, {{"steps", "4"}, {"via", "server"}}},
});

}  // namespace
}  // namespace straggler::schemes::local_sgd
