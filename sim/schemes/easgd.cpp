// Elastic averaging SGD (EASGD): each worker has its own weights x, which an elastic force ties to a centre c at the server. Before every
// τ-th step the two exchange, and each moves by the difference from before the exchange,
//   x' = x - α (x - c),   c' = c + α (x - c),   and then x ← x' - lr g(x):
// That step's gradient is still the one at x. Steps between exchanges are plain local ones. With momentum in the local steps it is EAMSGD.
// The centre is evaluated. The paper's exchange before the first step, where x = c, is left out. Zhang, Choromanska, LeCun, Deep learning
// with elastic averaging SGD, NeurIPS 2015, arXiv:1412.6651, algorithms 1 and 2.
#include <optional>

#include "sim/training/answers.hpp"

namespace straggler::schemes::easgd {
namespace {

class Easgd final : public Scheme {
 public:
  explicit Easgd(const Parameters& parameters) : period_(parameters.count("period")), answers_(parameters) {
    if (parameters.has("alpha")) alpha_ = parameters.number("alpha");
  }

 private:
  /// Default: pα = 0.9, whether or not all workers are members at the time.
  double alpha(const Node& node) const { return alpha_.value_or(0.9 / node.workers()); }

  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    for (std::int64_t steps = 0;; ++steps) {
      const Weights before = weights;
      if (steps > 0 && steps % period_ == 0) {
        co_await node.send(node.server(), weights);
        weights = co_await node.receive<Weights>(node.server());
      }
      const Gradient gradient = co_await node.gradient(before, node.batch_size());
      weights = co_await node.step(weights, gradient);
    }
  }

  Process server(Node& node) const override {
    const Algebra& algebra = node.algebra();
    const double share = alpha(node);
    Weights centre = node.initial_weights();
    for (;;) {
      const From<Weights> arrived = co_await node.receive<Weights>();
      const Weights moved = algebra.blend(algebra.without_contributions(arrived), centre, share);
      const Weights pulled = node.weighted_mean({centre, arrived}, {1 - share, share});
      centre = co_await node.publish(pulled);
      // This version counts the worker's steps: the worker continues from it, with the value that it moved to.
      const Weights answer = algebra.blend(moved, centre, 0);
      co_await answers_.send(node, arrived.sender, answer);
    }
  }

  std::int64_t period_;
  std::optional<double> alpha_;
  Answers answers_;
};

const Register<SchemeEntry> entry({
    .name = "easgd",
    .summary = "elastic averaging SGD: workers' own weights and the server's centre pull each other; with momentum EAMSGD",
    .reference = "Zhang et al. 2015",
    .other_names = {"eamsgd", "elasticaveraging", "elasticaveragingsgd"},
    .family = Family::asynchronous,
    .contributions = {.text = "1", .count = 1, .batches = "period"},
    .rule = "x ← x - α (x - c), c ← c + α (x - c), every period steps",
    .paragraph =
        "Each worker explores with weights of its own. Every few steps it exchanges them with the server, and its weights and the "
        "centre move towards each other by a share of their difference. The centre is evaluated. The paper's EAMSGD takes gradients "
        "at x + δ v, with Nesterov's momentum v. Here momentum is the optimizer's. With `nesterov: true` that point is what a worker holds "
        "and exchanges.",
    .waits = "a worker for the answer to its exchange",
    .picture = {{"period", "3"}},
    .parameters = {count_or("period", "10", "local steps between two exchanges", Range::between(1, 1e6)),
                   {.name = "alpha",
                    .type = ValueType::number,
                    .meaning = "moving rate: both move by this share of their difference; default 0.9 / workers",
                    .range = Range::between(0, 1)},
                   Answers::parameter(),
                   on_failure({OnFailure::drop, OnFailure::abort}, "continue, as nobody waits for it, or end")},
    .examples = {{{"period", "3"}, {"alpha", "0.2"}}, {{"period", "1"}}},
    .make = made<Easgd>,
    .answers_hold_own = false,  // the gradient after an exchange is taken at the weights before it
    .sends_gradients = false,
    .worker_vectors = 1,  // the weights before the exchange
    .rolls_back = RollsBack::never,
});

}  // namespace
}  // namespace straggler::schemes::easgd
