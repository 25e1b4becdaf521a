// Plain SGD on one worker (centralized SGD):
//   w ← w - lr g(w)
// Robbins & Monro, A Stochastic Approximation Method, 1951; mini-batches as in Bottou, Curtis & Nocedal 2018.
#include "sim/training/node.hpp"

namespace straggler::schemes::sequential {
namespace {

class Sequential final : public Scheme {
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      const Gradient gradient = co_await node.gradient(weights, node.batch_size());
      weights = co_await node.step(weights, gradient);
      weights = co_await node.publish(weights);
    }
  }
};

const Register<SchemeEntry> entry({
    .name = "sequential",
    .summary = "one worker, plain SGD",
    .reference = "Robbins & Monro 1951",
    .exchange = Exchange::none,
    .rule = "w ← w - lr g(w)",
    .paragraph = "One worker computes a gradient, steps, and starts again. It sends nothing and waits for nobody. It is the reference for "
                 "all other schemes.",
    .batch_is = "one step",
    .parameters = {on_failure({OnFailure::wait, OnFailure::abort}, "continue from the latest version when it is back, or end")},
    .make = made<Sequential>,
    .only_workers = 1,
});

}  // namespace
}  // namespace straggler::schemes::sequential
