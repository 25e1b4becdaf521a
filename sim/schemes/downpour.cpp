// Downpour SGD: each worker takes local steps; every n_push of them it pushes the sum of its gradients since the last push,
//   w ← w - lr Σ g(w_local),   at the server, as it arrives;
// every n_fetch of them it requests the server's weights and waits for them. The worker computes on while a push is in flight; a sum that
// is not pushed yet survives a fetch. Dean et al., Large Scale Distributed Deep Networks, 2012, algorithm 7.1; there a fetch overlaps too.
#include <optional>
#include <variant>

#include "sim/training/answers.hpp"
#include "sim/training/first_of.hpp"

namespace straggler::schemes::downpour {
namespace {

class Downpour final : public Scheme {
 public:
  explicit Downpour(const Parameters& parameters)
      : push_every_(parameters.count("push_every")), fetch_every_(parameters.count("fetch_every")), answers_(parameters) {}

 private:
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    Gradient sum = node.no_gradient(weights);
    std::optional<Pending<SendOperation>> push;  // in flight
    for (std::int64_t step = 1;; ++step) {
      const Gradient gradient = co_await node.gradient(weights, node.batch_size());
      sum = node.algebra().add(sum, gradient);
      const bool pushes = step % push_every_ == 0, fetches = step % fetch_every_ == 0;
      if (pushes) {
        co_await left(push);
        push.emplace(node.begin(node.send(node.server(), sum)));
        sum = node.no_gradient(weights);
      }
      if (fetch_every_ > 1) weights = co_await node.step(weights, gradient);  // otherwise the fetch below overwrites it
      if (!fetches) continue;
      co_await left(push);  // the request does not overtake the gradients that its answer is to hold
      node.post(node.server(), Token());
      weights = co_await node.receive<Weights>(node.server());
    }
  }

  /// The push in flight has left, if there is one.
  static Task<std::monostate> left(std::optional<Pending<SendOperation>>& push) {
    if (push) {
      Pending<SendOperation>& sending = *push;
      co_await sending;
      push.reset();
    }
    co_return std::monostate();
  }

  Process server(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      // Gradients that have arrived go first, so that an answer includes its worker's pushes.
      const auto arrived = co_await first_of(node.receive<Token>(), node.receive<Gradient>());
      if (arrived.index() == 1) {
        weights = co_await node.step(weights, std::get<1>(arrived));
        weights = co_await node.publish(weights);
      } else {
        co_await answers_.send(node, std::get<0>(arrived).sender, weights);
      }
    }
  }

  std::int64_t push_every_, fetch_every_;
  Answers answers_;
};

const Register<SchemeEntry> entry({
    .name = "downpour",
    .summary = "asynchronous SGD with local steps: sums of gradients are pushed, weights are fetched, each every few steps",
    .reference = "Dean et al. 2012",
    .other_names = {"downpoursgd"},
    .family = Family::asynchronous,
    .contributions = {.text = "1", .count = 1, .batches = "push_every"},
    .rule = "w ← w - lr Σ g(w_read), of n_push local steps",
    .paragraph =
        "Workers step on weights of their own. Every few steps they push the sum of their gradients, and every few steps they fetch the "
        "server's weights. There are fewer messages than under `asgd`, and gradients are older. Local steps use `training.optimizer` too, "
        "with a state of each worker's own. In the paper they are plain, and Adagrad's sums lie at the server.",
    .waits = "a worker for the weights that it fetches",
    .traffic = {.text = "(1 + n_push / n_fetch) d",
                .bytes =
                    [](const Parameters& parameters) {
                      return UpdateBytes{1 + static_cast<double>(parameters.count("push_every")) /
                                                 static_cast<double>(parameters.count("fetch_every"))};
                    }},
    .picture = {{"push_every", "2"}, {"fetch_every", "2"}},
    .parameters = {count_or("push_every", "1", "local steps between two pushes of the sum of gradients"),
                   count_or("fetch_every", "1", "local steps between two requests for the server's weights"), Answers::parameter(),
                   on_failure({OnFailure::drop, OnFailure::abort}, "continue, as nobody waits for it, or end")},
    .examples = {{{"push_every", "2"}, {"fetch_every", "3"}}, {{"push_every", "1"}, {"fetch_every", "4"}}, {{"push_every", "3"}}},
    .make = made<Downpour>,
    .answers_hold_own = false,
    .plain_sgd_alone = {{}, {{"fetch_every", "4"}}},
    .worker_vectors = 1,
});

}  // namespace
}  // namespace straggler::schemes::downpour
