// Decentralized parallel SGD (D-PSGD): no server, no all-reduce. Every worker has weights of its own; it averages them with its
// neighbours' while it computes its gradient at its own,
//   x_i ← Σ_j W_ij x_j - lr g_i(x_i),
// where W is symmetric and doubly stochastic (mixing_graph.hpp). The step is the worker's optimizer: its momentum is its own.
// Where messages are compressed by C, neighbours know estimates of each other's weights (CHOCO-SGD):
//   q_i = C(x_i - x̂_i),   x̂_i ← x̂_i + q_i,   x_i ← x_i + γ Σ_j W_ij (x̂_j - x̂_i) - lr g_i(x_i);   x̂_i = x_0 at first.
// Only q_i is sent. The paper takes the gradient before the exchange; here they are side by side, as without compression. With γ = 1 and
// nothing lost in C it is D-PSGD.
// Version n is the mean of all workers' n-th weights.
// Lian et al., Can Decentralized Algorithms Outperform Centralized Algorithms?, 2017, Algorithm 1; Koloskova, Stich & Jaggi,
// Decentralized Stochastic Optimization and Gossip Algorithms with Compressed Communication, 2019, Algorithm 2.
#include "sim/schemes/mixing_graph.hpp"
#include "sim/training/neighbours.hpp"

namespace straggler::schemes::dpsgd {
namespace {

class Dpsgd final : public Scheme {
 public:
  explicit Dpsgd(const Parameters& parameters) : graph_(parameters) {
    if (parameters.has("gamma")) gamma_ = parameters.number("gamma");
  }

 private:
  Process worker(Node& node) const override {
    const std::vector<MixingGraph::Share> row = graph_.row(node.self(), node.workers());
    Weights mine = node.initial_weights();
    for (;;) {
      const Weights shown = gamma_ ? node.estimate(mine) : mine;
      for (const auto& [neighbour, share] : row)
        if (neighbour != node.self() && node.takes_part(neighbour, mine->version)) node.post(neighbour, shown);
      const Gradient gradient = co_await node.gradient(mine, node.batch_size());
      const Weights mixed = co_await mix(node, row, mine, shown);
      mine = co_await node.step(mixed, gradient);
      mine = co_await node.publish(mine);
    }
  }

  /// Σ_j W_ij x_j, with the neighbours' estimates if given. The share of a neighbour that has none, or has gone, stays with this worker.
  Task<Weights> mix(Node& node, const std::vector<MixingGraph::Share>& row, Weights mine, Weights shown) const {
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
    if (gamma_) move_by_estimates(self, shown, parts, shares);
    co_return node.blend(mine, parts, shares);
  }

  /// Of Σ_j W_ij x̂_j with x_i for x̂_i: x_i + γ Σ_j W_ij (x̂_j - x̂_i).
  void move_by_estimates(std::size_t self, const Weights& shown, std::vector<Weights>& parts, std::vector<double>& shares) const {
    const double others = 1 - shares[self];
    if (parts.size() == 1) return;
    for (double& share : shares) share *= *gamma_;
    shares[self] = 1;
    parts.push_back(shown);
    shares.push_back(-*gamma_ * others);
  }

  MixingGraph graph_;
  std::optional<double> gamma_;  // messages are compressed
};

const Register<SchemeEntry> entry({
    .name = "dpsgd",
    .summary = "decentralized SGD: every worker averages its weights with its neighbours' while it computes",
    .reference = "Lian et al. 2017; with compression Koloskova et al. 2019",
    .other_names = {"gossip", "dsgd", "decentralized", "choco", "chocosgd"},
    .family = Family::gossip,
    .rule = "x_i ← Σ_j W_ij x_j - lr g_i(x_i)",
    .paragraph = "Every worker has weights of its own and averages them with its neighbours' while it computes. There is no server and no "
                 "all-reduce. A slow worker holds up its neighbours, and they hold up theirs a step later.",
    .waits = "a worker for its neighbours",
    .traffic = {.text = "d for each neighbour of each worker: 2 p d on a ring",
                .bytes =
                    [](const Parameters& parameters, const TrainingPlan& plan) {
                      const MixingGraph graph(parameters);
                      UpdateBytes bytes;
                      for (Rank worker = 0; worker < plan.workers; ++worker)
                        bytes.update += static_cast<double>(graph.neighbours(worker, plan.workers).size());
                      return bytes;
                    }},
    .parameters = {MixingGraph::parameter(),
                   {.name = "gamma",
                    .meaning = "γ of CHOCO-SGD: step towards the neighbours' estimates; only with training.compression",
                    .range = Range::above_to(0, 1)},
                   on_failure({OnFailure::drop, OnFailure::wait, OnFailure::abort},
                              "its neighbours continue without it, wait for it, or the run ends")},
    .make = made<Dpsgd>,
    .with_compression = {{"gamma", "0.4"}},
});

}  // namespace
}  // namespace straggler::schemes::dpsgd
