// Plain SGD on one worker (centralized SGD):
//   w ← w - lr g(w)
// Robbins & Monro, A Stochastic Approximation Method, 1951; mini-batches as in Bottou, Curtis & Nocedal 2018.
#include "sim/schemes/node.hpp"

namespace straggler {
namespace {

class Sequential final : public Scheme {
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      const DrawnBatch batch = node.next_batch(node.batch_size());
      const Gradient gradient = co_await node.gradient(weights, batch);
      weights = co_await node.step(weights, gradient);
      weights = co_await node.publish(weights);
    }
  }
};

SchemeEntry entry() {
  SchemeEntry scheme;
  scheme.name = "sequential";
  scheme.summary = "one worker, plain SGD";
  scheme.reference = "Robbins & Monro 1951";
  scheme.make = [](const Parameters&) { return std::make_unique<Sequential>(); };
  scheme.needs_server = [](const Parameters&) { return false; };
  scheme.updates_per_epoch = [](const Parameters&, double batches, double) {
    return std::optional<double>(batches);
  };
  scheme.minibatch = [](const Parameters&) { return std::optional<std::int64_t>(); };
  scheme.only_workers = 1;
  return scheme;
}
const Register<SchemeEntry> registered(entry());

}  // namespace
}  // namespace straggler
