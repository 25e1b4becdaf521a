// Stochastic gradient push (SGP): no server, no all-reduce, and each worker sends to one other worker in each step. A worker i holds a sum
// x_i and a push-sum weight w_i, and estimates z_i = x_i / w_i. In step k
//   x_i ← x_i - lr g_i(z_i),   then it sends (x_i / 2, w_i / 2) to worker i + 2^(k mod ⌈log2 p⌉), modulo p,
//   and adds what arrives to the half that it keeps:   x_i ← x_i / 2 + Σ x_j / 2,   w_i ← w_i / 2 + Σ w_j / 2.
// The step is the worker's optimizer, on x_i. Version n is the mean of all workers' n-th estimates.
// Assran, Loizou, Ballas, Rabbat, Stochastic Gradient Push for Distributed Deep Learning, ICML 2019, Algorithm 1 and Appendix A (the
// directed exponential graph, one peer).
//
// While all workers are in, each gets one message per step, so every weight stays 1 and x_i is the estimate. If workers leave, one may get
// two messages and another none (push_peers.hpp). The weights then give each worker's share of the total. They always add up to p
// (push_weight.hpp): the worker that averages next adds the weight that was lost with a worker, or with a message from it or to it, at its
// own estimate. A worker that comes back begins with weight 0, unless some is left to take, and keeps the weights it was sent as its
// estimate until it gets its first share.
#include <limits>

#include "sim/schemes/push_peers.hpp"

namespace straggler::schemes::sgp {
namespace {

class Sgp final : public Scheme {
 private:
  Process worker(Node& node) const override {
    Weights estimate = node.initial_weights();
    PushWeight weight(node.push_weights(), 1);
    Weights sum = times(node, estimate, weight.amount());
    PushPeers peers(node);
    for (;;) {
      const Gradient gradient = co_await node.gradient(estimate, node.batch_size());
      sum = co_await node.step(sum, gradient);
      std::vector<Weights> parts;
      std::vector<double> shares;
      parts.push_back(sum);
      shares.push_back(1);
      if (const std::optional<Rank> peer = peers.receiver(sum->version)) {
        Weights half = node.algebra().without_contributions(sum);  // its receiver halves it: no bit is lost by that
        half.edit().more.edit().push_weight = std::make_shared<PushWeight>(weight.half());
        node.post(*peer, half);
        shares.front() = 0.5;
      }
      const std::vector<Weights> arrived = co_await peers.receive(sum->version);
      for (const Weights& each : arrived) {
        weight.add(*each->push_weight());
        parts.push_back(each);
        shares.push_back(0.5);
      }
      sum = node.blend(sum, parts, shares);
      estimate = estimate_of(node, sum, weight.amount(), estimate);
      if (node.members_change()) {
        PushWeight lost(node.push_weights(), std::numeric_limits<double>::infinity());
        if (lost.amount() > 0) {
          sum = node.blend(sum, {sum, estimate}, {1, lost.amount()});
          weight.add(lost);
          estimate = estimate_of(node, sum, weight.amount(), estimate);
        }
      }
      estimate = co_await node.publish(estimate);
      sum = node.blend(estimate, {sum}, {1});
    }
  }

  /// Of its own history, with another value.
  static Weights times(Node& node, const Weights& weights, double factor) { return node.blend(weights, {weights}, {factor}); }

  /// sum / weight; without weight, the previous estimate.
  static Weights estimate_of(Node& node, const Weights& sum, double weight, const Weights& before) {
    return weight > 0 ? times(node, sum, 1 / weight) : node.blend(sum, {before}, {1});
  }
};

const Register<SchemeEntry> entry({
    .name = "sgp",
    .summary = "stochastic gradient push: in each step every worker sends half of its sum to one other worker (push-sum)",
    .reference = "Assran et al. 2019",
    .other_names = {"stochasticgradientpush", "gradientpush", "pushsum", "pushsumsgd"},
    .family = Family::gossip,
    .rule = "x_i ← ½ (x_i - lr g_i(x_i/w_i)) + ½ Σ_j (x_j - lr g_j(x_j/w_j)), w_i ← ½ w_i + ½ Σ_j w_j",
    .paragraph =
        "In each step every worker sends half of its sum to one other worker, a different one each time, and keeps the other half. "
        "After log2 p steps a gradient has reached all p workers. Each waits for the one that sends to it.",
    .waits = "a worker for one other, a different one in each step",
    .traffic = {.text = "p d, and 8 bytes a worker",
                .bytes = [](const Parameters&,
                            const TrainingPlan& plan) { return UpdateBytes{plan.workers > 1 ? 1.0 * plan.workers : 0}; }},
    .parameters = {on_failure({OnFailure::drop, OnFailure::wait, OnFailure::abort},
                              "the others continue without it, those that need its share wait, or the run ends")},
    .make = made<Sgp>,
});

}  // namespace
}  // namespace straggler::schemes::sgp
