// Synchronous SGD: every worker's gradient is taken at the same weights, one step is made on their mean,
//   w ← w - lr (1/p) Σ_i g_i(w),
// exchanged by all-reduce (every worker steps, identically) or by a parameter server (the server steps).
// Chen et al., Revisiting Distributed Synchronous SGD, 2016; all-reduce: Goyal et al. 2017.
#include "sim/schemes/sharded.hpp"
#include "sim/schemes/vote.hpp"
#include "sim/training/gather.hpp"

namespace straggler::schemes::ssgd {
namespace {

class SsgdByAllReduce final : public Scheme {
  Process worker(Node& node) const override { return node.plan().sharding.on() ? sharded_ssgd(node) : whole(node); }

  static Process whole(Node& node) {
    Weights weights = node.initial_weights();
    for (;;) {
      const DrawnBatch batch = node.next_batch(node.batch_size());
      const Gradient mean = co_await node.averaged_gradient(weights, batch);
      weights = co_await node.step(weights, mean);
      weights = co_await node.publish(weights);
    }
  }
};

class SsgdByServer final : public Scheme {
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      const Gradient gradient = co_await node.gradient(weights, node.batch_size());
      co_await node.send(node.server(), gradient);
      weights = co_await answer(node, weights);
    }
  }

  Process server(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      const std::vector<Gradient> gradients = co_await gather<Gradient>(node, weights->version);
      const Gradient direction = node.votes() ? node.algebra().vote(gradients) : node.mean(gradients);
      weights = co_await node.step(weights, direction);
      weights = co_await node.publish(weights);
      if (node.votes())
        node.broadcast(leading_to(direction, weights));
      else
        node.broadcast(weights);
    }
  }

 private:
  /// The server's weights, or the majority's direction, along which the worker steps as the server did (Bernstein et al. 2018).
  static Task<Weights> answer(Node& node, Weights weights) {
    if (!node.votes()) co_return co_await node.receive<Weights>(node.server());
    const Gradient vote = co_await node.receive<Gradient>(node.server());
    const Weights stepped = co_await node.step(weights, vote);
    co_return of_version(stepped, vote);
  }
};

const Register<SchemeEntry> entry({
    .name = "ssgd",
    .summary = "synchronous SGD: one step on the mean of all workers' gradients",
    .reference = "Chen et al. 2016; Goyal et al. 2017",
    .other_names = {"bsp", "sync", "syncsgd", "synchronous", "synchronoussgd", "sgd", "allreduce", "ringallreduce"},
    .exchange = exchange_via,
    .rule = "w ← w - lr (1/p) Σ g_i(w)",
    .paragraph =
        "All workers compute a gradient at the same weights, and one step is taken on the mean. An update takes as long as the slowest "
        "worker and the exchange after it. In return p workers give exactly the gradient of a batch that is p times as large.",
    .parameters = {via_choice.parameter(Exchange::all_reduce, "how gradients are averaged"),
                   on_failure({OnFailure::wait, OnFailure::drop, OnFailure::abort}, "wait for it, average without it, or end")},
    .make = [](const Parameters& parameters) -> std::unique_ptr<Scheme> {
      if (via_choice.of(parameters) == Exchange::server) return std::make_unique<SsgdByServer>();
      return std::make_unique<SsgdByAllReduce>();
    },
    .weighs_batches = true,
    .shards = [](const Parameters& parameters) { return via_choice.of(parameters) == Exchange::all_reduce; },
    .baseline = "synchronous SGD",
});

}  // namespace
}  // namespace straggler::schemes::ssgd
