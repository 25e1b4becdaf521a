// Rennala SGD: the server steps on the mean of the first B gradients at its version, from any workers,
//   w ← w - lr (1/B) Σ g(w);
// gradients of older versions are dropped. No worker is interrupted: each one that sends a gradient, dropped or not, gets the current
// weights and starts again on them. Tyurin & Richtárik, Optimal Time Complexities of Parallel Stochastic Optimization Methods Under a Fixed
// Computation Model, 2023.
#include "sim/schemes/parts.hpp"

namespace straggler::schemes::rennala {
namespace {

class Rennala final : public Scheme {
 public:
  explicit Rennala(const Parameters& parameters) : batch_(parameters.count("batch")), answers_(parameters) {}

 private:
  Process worker(Node& node) const override { return push_and_fetch(node); }
  Process server(Node& node) const override {
    return average_first(node, {.count = batch_, .at_this_version = true, .from_any = true}, answers_);
  }

  std::int64_t batch_;
  Answers answers_;
};

const Register<SchemeEntry> entry({
    .name = "rennala",
    .summary = "synchronous SGD on the first B gradients from any workers: stale ones are dropped, no worker is interrupted",
    .reference = "Tyurin & Richtarik 2023",
    .other_names = {"rennalasgd"},
    .contributions = from_any_workers("batch", "B"),
    .rule = "w ← w - lr (1/b) Σ g(w), over the first b at this version; stale ones are dropped",
    .paragraph =
        "The server collects B gradients at its current weights, from any workers, and drops those that were taken at older ones. No "
        "worker is interrupted or waits, so a slow worker wastes only its own work. Tyurin and Richtárik prove that the right B is "
        "optimal, up to a constant, where each worker's compute time is fixed.",
    .parameters = {required_count("batch", "B, gradients of an update", Range::between(1, 1e6)), Answers::parameter(),
                   on_failure({OnFailure::drop, OnFailure::abort}, "continue, as nobody waits for it, or end")},
    .examples = {{{"batch", "4"}}, {{"batch", "1"}}},
    .make = made<Rennala>,
    .weighs_batches = true,
    .accumulates = false,
});

}  // namespace
}  // namespace straggler::schemes::rennala
