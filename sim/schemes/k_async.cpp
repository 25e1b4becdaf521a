// K-async SGD: the server steps on the mean of the first k gradients of distinct workers, of any versions,
//   w ← w - lr (1/k) Σ_{i among the first} g_i(w_read);
// those k get the new weights and start again; the others continue. Dutta et al., Slow and Stale Gradients Can Win the Race, 2018.
#include <vector>

#include "sim/training/answers.hpp"
#include "sim/training/gather.hpp"

namespace straggler::schemes::k_async {
namespace {

class KAsync final : public Scheme {
 public:
  explicit KAsync(const Parameters& parameters) : k_(parameters.count("k")), answers_(parameters) {}

 private:
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      const Gradient gradient = co_await node.gradient(weights, node.batch_size());
      co_await node.send(node.server(), gradient);
      weights = co_await node.receive<Weights>(node.server());
    }
  }

  Process server(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      const auto first = co_await gather_first<Gradient>(node, k_);
      const Gradient mean = node.mean(payloads(first));
      weights = co_await node.step(weights, mean);
      weights = co_await node.publish(weights);
      std::vector<Answer> leaving;  // side by side
      for (const From<Gradient>& gradient : first) leaving.push_back(answers_.send(node, gradient.sender, weights));
      for (Answer& answer : leaving) co_await answer;
    }
  }

  std::int64_t k_;
  Answers answers_;
};

const Register<SchemeEntry> entry({
    .name = "k_async",
    .summary = "asynchronous SGD on the mean of k workers' gradients: the others continue",
    .reference = "Dutta et al. 2018",
    .family = Family::asynchronous,
    .rule = "w ← w - lr (1/k) Σ g_i(w_read), over the first k workers",
    .paragraph =
        "The server waits for the gradients of k different workers, however old, and answers these k. It stands between `asgd` (k = 1) "
        "and a round of all workers: there is less staleness than in the former and less waiting than in the latter.",
    .waits = "the first k for the k-th",
    .staleness = unbounded_staleness(),
    .traffic = {.text = "2 k d",
                .bytes =
                    [](const Parameters& parameters, const TrainingPlan&) {
                      return std::optional<UpdateBytes>({2 * static_cast<double>(parameters.count("k")), 0});
                    }},
    .parameters = {{.name = "k",
                    .type = ValueType::count,
                    .required = true,
                    .meaning = "gradients of an update, each from a different worker; at most the number of workers",
                    .range = Range::at_least(1)},
                   Answers::parameter(),
                   on_failure({OnFailure::drop, OnFailure::wait, OnFailure::abort},
                              "average the others' gradients, wait if its gradient is needed, or end")},
    .examples = {{{"k", "2"}}, {{"k", "1"}}},
    .make = [](const Parameters& parameters) { return std::make_unique<KAsync>(parameters); },
    .exchange = [](const Parameters&) { return Exchange::server; },
    .asynchronous = [](const Parameters&) { return true; },
    .answers_together = [](const Parameters& parameters, const TrainingPlan&) { return parameters.count("k"); },
    .plain_sgd_alone = {{{"k", "1"}}},
    .updates_per_epoch = [](const Parameters& parameters,
                            const TrainingPlan& plan) { return plan.batches_per_epoch() / static_cast<double>(parameters.count("k")); },
    .unfit = [](const Parameters& parameters, const TrainingPlan& plan) -> std::string {
      if (parameters.count("k") <= plan.workers) return {};
      return "k: is " + std::to_string(parameters.count("k")) + ", but an update takes one gradient of a worker; of " +
             std::to_string(plan.workers) + " workers at most " + std::to_string(plan.workers);
    },
    .sends_gradients = [](const Parameters&) { return true; },
    .workers_hold = WorkersHold::own_version,
});

}  // namespace
}  // namespace straggler::schemes::k_async
