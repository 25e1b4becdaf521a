// Asynchronous decentralized parallel SGD (AD-PSGD): no server, no all-reduce, and nobody waits for a slow worker. Every worker has weights
// of its own. A worker that has finished a gradient g_i, taken at its weights x_i, averages atomically with one random neighbour j, and
// then applies the gradient to its current weights:
//   x_i, x_j ← (x_i + x_j) / 2,   x_i ← x_i - lr g_i.
// The graph is bipartite: one half is active, the other half passive: it answers at once, even while it computes, and never asks. So no
// waiting worker is waited for, and there is no deadlock. An update is one gradient; the versions are the mean of the current weights of
// all. Lian et al., Asynchronous Decentralized Parallel Stochastic Gradient Descent, 2018, Algorithm 1 and Section 3.
#include "sim/base/random.hpp"
#include "sim/schemes/bipartite_graph.hpp"
#include "sim/training/first_of.hpp"

namespace straggler::schemes::adpsgd {
namespace {

class Adpsgd final : public Scheme {
 public:
  explicit Adpsgd(const Parameters& parameters) : graph_(parameters) {}

 private:
  Process worker(Node& node) const override {
    const bool active = graph_.is_active(node.self(), node.workers());
    const std::vector<Rank> neighbours = graph_.neighbours(node.self(), node.workers());
    Weights mine = node.initial_weights();
    for (;;) {
      const DrawnBatch batch = node.next_batch(node.batch_size());
      Pending<GradientOperation> computing = node.begin(node.gradient(mine, batch));
      if (!active) mine = co_await answer_while(computing, node, mine);
      const Gradient gradient = co_await computing;
      if (active) mine = co_await ask_one_of(neighbours, node, mine);
      mine = co_await node.step(mine, gradient);
      mine = co_await node.publish(mine);
    }
  }

  /// The active side: waits for the answer of a random neighbour, if one is a member. Returns the average.
  Task<Weights> ask_one_of(const std::vector<Rank>& neighbours, Node& node, Weights mine) const {
    std::vector<Rank> in;
    for (const Rank neighbour : neighbours)
      if (node.is_member(neighbour)) in.push_back(neighbour);
    if (in.empty()) co_return mine;
    RandomStream draws(node.plan().seed, "worker/" + std::to_string(node.self()) + "/partner", mine->version);
    const Rank partner = in[draws.below(in.size())];
    node.post(partner, mine);
    std::optional<Weights> theirs;
    while (!theirs && node.is_member(partner)) {
      if (!node.members_change()) {
        theirs = co_await node.receive<Weights>(partner);
        continue;
      }
      auto arrived = co_await first_of(node.receive<Weights>(partner), node.receive<MembershipNotice>());
      if (arrived.index() == 0) theirs = std::get<0>(std::move(arrived));
    }
    if (!theirs) co_return mine;  // it has crashed, and the average with it
    const Weights mixed = average(node, mine, mine, *theirs);
    node.averaged_at(partner, mine, mixed);
    co_return mixed;
  }

  /// The passive side: averages with everybody who asks until the gradient is ready. It answers with its weights from before the average.
  /// Returns its new weights.
  Task<Weights> answer_while(Pending<GradientOperation>& computing, Node& node, Weights mine) const {
    for (;;) {
      auto first = co_await first_of_in_flight(computing, node.receive<Weights>());
      if (first.index() == 0) co_return mine;
      const From<Weights> theirs = std::get<1>(std::move(first));
      if (!node.is_member(theirs.sender)) continue;
      node.post(theirs.sender, mine);
      mine = average(node, mine, theirs, mine);
      node.averaged_with(theirs, mine);
    }
  }

  /// The same sum on both sides. All but the value is `own`'s.
  static Weights average(Node& node, const Weights& own, const Weights& active, const Weights& passive) {
    return node.blend(own, {active, passive}, {0.5, 0.5});
  }

  BipartiteGraph graph_;
};

const Register<SchemeEntry> entry({
    .name = "adpsgd",
    .summary = "asynchronous decentralized SGD: after each gradient a worker averages with one neighbour, which keeps computing",
    .reference = "Lian et al. 2018",
    .family = Family::gossip,
    .contributions = one_contribution(),
    .rule = "x_i, x_j ← (x_i + x_j)/2, then x_i ← x_i - lr g_i(x_read)",
    .paragraph =
        "After each gradient a worker averages with one random neighbour, which answers while it computes. Nobody waits for a slow "
        "worker. A slow link delays the two workers at its ends.",
    .waits = "nobody for another's batch",
    .traffic = {.text = "2 d for an active worker, 0 for a passive one"},
    .parameters = {BipartiteGraph::parameter(),
                   on_failure({OnFailure::drop, OnFailure::abort}, "its neighbours average with others, or the run ends")},
    .make = made<Adpsgd>,
    .unfit = [](const Parameters& parameters, const TrainingPlan& plan) { return BipartiteGraph(parameters).unfit(plan.workers); },
});

}  // namespace
}  // namespace straggler::schemes::adpsgd
