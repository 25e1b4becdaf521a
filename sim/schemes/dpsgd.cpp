// Decentralized parallel SGD (D-PSGD): no server, no all-reduce. Every worker has weights of its own; it averages them with its
// neighbours' while it computes its gradient at its own,
//   x_i ← Σ_j W_ij x_j - lr g_i(x_i),
// where W is symmetric and doubly stochastic (mixing_graph.hpp). The step is the worker's optimizer: its momentum is its own.
// Version n is the mean of all workers' n-th weights.
// Lian et al., Can Decentralized Algorithms Outperform Centralized Algorithms?, 2017, Algorithm 1.
#include "sim/schemes/mixing_graph.hpp"
#include "sim/training/neighbours.hpp"

namespace straggler::schemes::dpsgd {
namespace {

class Dpsgd final : public Scheme {
 public:
  explicit Dpsgd(const Parameters& parameters) : graph_(parameters) {}

 private:
  Process worker(Node& node) const override {
    const std::vector<MixingGraph::Share> row = graph_.row(node.self(), node.workers());
    Weights mine = node.initial_weights();
    for (;;) {
      for (const auto& [neighbour, share] : row)
        if (neighbour != node.self() && node.takes_part(neighbour, mine->version)) node.post(neighbour, mine);
      const DrawnBatch batch = node.next_batch(node.batch_size());
      const Gradient gradient = co_await node.gradient(mine, batch);
      const Weights mixed = co_await mix(node, row, mine);
      mine = co_await node.step(mixed, gradient);
      mine = co_await node.publish(mine);
    }
  }

  /// Σ_j W_ij x_j. The share of a neighbour that has none, or has gone, stays with this worker.
  Task<Weights> mix(Node& node, const std::vector<MixingGraph::Share>& row, Weights mine) const {
    std::vector<std::optional<Weights>> found(row.size());
    for (std::size_t k = 0; k < row.size(); ++k)
      if (row[k].worker != node.self()) found[k] = co_await receive_version(node, row[k].worker, mine->version);
    std::vector<Weights> parts;
    std::vector<double> shares;
    double kept = 0;
    std::size_t self = 0;
    for (std::size_t k = 0; k < row.size(); ++k) {
      const auto& [neighbour, share] = row[k];
      if (neighbour == node.self()) {
        self = parts.size();
        found[k] = mine;
      } else if (!found[k] || !node.takes_part(neighbour, mine->version)) {
        kept += share;
        continue;
      }
      parts.push_back(*found[k]);
      shares.push_back(share);
    }
    shares[self] += kept;
    co_return node.blend(mine, parts, shares);
  }

  MixingGraph graph_;
};

const Register<SchemeEntry> entry({
    .name = "dpsgd",
    .summary = "decentralized SGD: every worker averages its weights with its neighbours' while it computes",
    .reference = "Lian et al. 2017",
    .family = Family::gossip,
    .rule = "x_i ← Σ_j W_ij x_j - lr g_i(x_i)",
    .paragraph = "Every worker has weights of its own and averages them with its neighbours' while it computes. There is no server and no "
                 "all-reduce. A slow worker holds up its neighbours, and they hold up theirs a step later.",
    .waits = "a worker for its neighbours",
    .traffic = {.text = "d a neighbour of each worker: 2 p d on a ring",
                .bytes =
                    [](const Parameters& parameters, const TrainingPlan& plan) {
                      const MixingGraph graph(parameters);
                      UpdateBytes bytes;
                      for (Rank worker = 0; worker < plan.workers; ++worker)
                        bytes.update += static_cast<double>(graph.neighbours(worker, plan.workers).size());
                      return std::optional(bytes);
                    }},
    .parameters = {MixingGraph::parameter(), on_failure({OnFailure::drop, OnFailure::wait, OnFailure::abort},
                                                        "its neighbours go on without it, wait for it, or the run ends")},
    .make = [](const Parameters& parameters) { return std::make_unique<Dpsgd>(parameters); },
    .exchange = [](const Parameters&) { return Exchange::peers; },
    .versions = [](const Parameters&) { return Versions::lockstep; },
    .plain_sgd_alone = {{}},
    .updates_per_epoch = [](const Parameters&, const TrainingPlan& plan) { return plan.batches_per_epoch() / plan.workers; },
    .workers_hold = WorkersHold::own_weights,
    .worker_bytes = 3'600,
});

}  // namespace
}  // namespace straggler::schemes::dpsgd
