// K-batch asynchronous SGD: the server steps on the mean of the first k gradients from any workers, of any versions,
//   w ← w - lr (1/k) Σ g(w_read);
// each gradient is answered with the current weights.
// Dutta et al., Slow and Stale Gradients Can Win the Race, 2018.
#include "sim/schemes/parts.hpp"

namespace straggler::schemes::k_batch_async {
namespace {

class KBatchAsync final : public Scheme {
 public:
  explicit KBatchAsync(const Parameters& parameters) : k_(parameters.count("k")), answers_(parameters) {}

 private:
  Process worker(Node& node) const override { return push_and_fetch(node); }
  Process server(Node& node) const override {
    return average_first(node, {.count = k_, .at_this_version = false, .from_any = true}, answers_);
  }

  std::int64_t k_;
  Answers answers_;
};

const Register<SchemeEntry> entry({
    .name = "k_batch_async",
    .summary = "asynchronous SGD on the mean of k gradients from any workers",
    .reference = "Dutta et al. 2018",
    .family = Family::asynchronous,
    .contributions = from_any_workers("k"),
    .rule = "w ← w - lr (1/k) Σ g(w_read), over the first k from any workers",
    .paragraph = "The server averages k gradients from any workers, and answers each as it comes, so nobody waits. A larger k means fewer "
                 "updates, each of less noise and less staleness.",
    .parameters = {required_count("k", "gradients of an update", Range::between(1, 1e6)), Answers::parameter(),
                   on_failure({OnFailure::drop, OnFailure::abort}, "continue, as nobody waits for it, or end")},
    .examples = {{{"k", "3"}}, {{"k", "1"}}},
    .make = made<KBatchAsync>,
    .weighs_batches = true,
});

}  // namespace
}  // namespace straggler::schemes::k_batch_async
