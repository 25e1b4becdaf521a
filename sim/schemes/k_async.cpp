// K-async SGD: the server steps on the mean of the first k gradients of distinct workers, of any versions,
//   w ← w - lr (1/k) Σ_{i among the first} g_i(w_read);
// those k get the new weights and start again; the others continue. Dutta et al., Slow and Stale Gradients Can Win the Race, 2018.
#include "sim/schemes/parts.hpp"

namespace straggler::schemes::k_async {
namespace {

class KAsync final : public Scheme {
 public:
  explicit KAsync(const Parameters& parameters) : k_(parameters.count("k")), answers_(parameters) {}

 private:
  Process worker(Node& node) const override { return push_and_fetch(node); }
  Process server(Node& node) const override { return average_first(node, {.count = k_, .at_this_version = false}, answers_); }

  std::int64_t k_;
  Answers answers_;
};

const Register<SchemeEntry> entry({
    .name = "k_async",
    .summary = "asynchronous SGD on the mean of k workers' gradients: the others continue",
    .reference = "Dutta et al. 2018",
    .family = Family::asynchronous,
    .contributions = from_different_workers("k"),
    .rule = "w ← w - lr (1/k) Σ g_i(w_read), over the first k workers",
    .paragraph =
        "The server waits for the gradients of k different workers, however old, and answers these k. It stands between `asgd` (k = 1) "
        "and a round of all workers: there is less staleness than in the former and less waiting than in the latter.",
    .parameters = {required_count("k", "gradients of an update, each from a different worker; at most the number of workers"),
                   Answers::parameter(),
                   on_failure({OnFailure::drop, OnFailure::wait, OnFailure::abort},
                              "average the others' gradients, wait if its gradient is needed, or end")},
    .examples = {{{"k", "2"}}, {{"k", "1"}}},
    .make = made<KAsync>,
    .weighs_batches = true,
});

}  // namespace
}  // namespace straggler::schemes::k_async
