// K-batch-sync SGD: the server steps on the mean of the first k gradients at its version, from any workers,
//   w ← w - lr (1/k) Σ g(w);
// workers take one mini-batch after the other at these weights until the new ones interrupt them. Unfinished mini-batches are discarded:
// each worker draws its next one. Dutta et al., Slow and Stale Gradients Can Win the Race, 2018.
#include "sim/schemes/parts.hpp"

namespace straggler::schemes::k_batch_sync {
namespace {

class KBatchSync final : public Scheme {
 public:
  explicit KBatchSync(const Parameters& parameters) : k_(parameters.count("k")) {}

 private:
  Process worker(Node& node) const override { return push_until_interrupted(node, false); }
  Process server(Node& node) const override { return average_first(node, {.count = k_, .at_this_version = true, .from_any = true}, {}); }

  std::int64_t k_;
};

const Register<SchemeEntry> entry({
    .name = "k_batch_sync",
    .summary = "synchronous SGD on the first k gradients from any workers: they compute on until they are interrupted",
    .reference = "Dutta et al. 2018",
    .contributions = from_any_workers("k"),
    .rule = "w ← w - lr (1/k) Σ g(w), over the first k from any workers; then all are interrupted",
    .paragraph =
        "As `k_sync`, but a fast worker does not wait for the others: it computes further batches at the same weights until k gradients "
        "have come from any workers.",
    .waits = "nobody: the new weights interrupt all",
    .traffic = up_and_to_all("k"),
    .parameters = {required_count("k", "gradients of an update", Range::between(1, 1e6)),
                   on_failure({OnFailure::drop, OnFailure::abort}, "the others compute on without it, or end")},
    .examples = {{{"k", "4"}}, {{"k", "1"}}},
    .make = made<KBatchSync>,
    .unanswered = true,
    .plain_sgd_alone = {},
    .worker_bytes = 1'900,
    .weighs_batches = true,
});

}  // namespace
}  // namespace straggler::schemes::k_batch_sync
