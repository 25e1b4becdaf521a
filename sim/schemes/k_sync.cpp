// K-sync SGD: the server steps on the mean of the first k gradients at its version,
//   w ← w - lr (1/k) Σ_{i among the first} g_i(w);
// the new weights interrupt the other workers. Their unfinished mini-batches are discarded: each draws its next one.
// Dutta et al., Slow and Stale Gradients Can Win the Race, 2018.
#include "sim/schemes/parts.hpp"

namespace straggler::schemes::k_sync {
namespace {

class KSync final : public Scheme {
 public:
  explicit KSync(const Parameters& parameters) : k_(parameters.count("k")) {}

 private:
  Process worker(Node& node) const override { return push_until_interrupted(node, true); }
  Process server(Node& node) const override { return average_first(node, {.count = k_, .at_this_version = true}, {}); }

  std::int64_t k_;
};

const Register<SchemeEntry> entry({
    .name = "k_sync",
    .summary = "synchronous SGD on the first k gradients of an update: the other workers are interrupted",
    .reference = "Dutta et al. 2018",
    .contributions = from_different_workers("k"),
    .rule = "w ← w - lr (1/k) Σ g_i(w), over the first k; the others are interrupted",
    .paragraph =
        "An update takes the first k gradients. The new weights interrupt the other workers, whose unfinished batches are thrown away. "
        "So everybody starts the next update in time, and a worker that is always slow never contributes.",
    .traffic = up_and_to_all("k"),
    .picture = {{"k", "3"}},
    .parameters = {required_count("k", "gradients of an update, each from a different worker; at most the number of workers"),
                   on_failure({OnFailure::drop, OnFailure::wait, OnFailure::abort},
                              "average the others' gradients, wait if its gradient is needed, or end")},
    .examples = {{{"k", "2"}}, {{"k", "1"}}},
    .make = made<KSync>,
    .weighs_batches = true,
});

}  // namespace
}  // namespace straggler::schemes::k_sync
