// FedNova: normalized averaging. A client that takes more local steps does not pull harder. Of client k, with share p_k of the samples and
// τ_k local steps, whose gradients are in its change with weights a_k, the server takes the mean change per weight,
//   d_k = (x - y_k) / |a_k|₁,   x ← x - τ_eff Σ_k p_k d_k,   τ_eff = Σ_k p_k |a_k|₁,
// where |a_k|₁ = τ_k for plain SGD, and Σ_j (1 - ρ^(τ_k-j)) / (1 - ρ), j = 0 … τ_k - 1, with local momentum ρ, whose buffer starts at 0 in
// each round. With equal numbers of steps it is FedAvg, up to rounding.
// Wang, Liu, Liang, Joshi, Poor, Tackling the Objective Inconsistency Problem in Heterogeneous Federated Optimization, NeurIPS 2020.
#include "sim/schemes/client_rounds.hpp"

namespace straggler::schemes::fednova {
namespace {

class FedNova final : public Scheme {
 public:
  explicit FedNova(const Parameters& parameters) : rounds_(parameters) {}

 private:
  Process worker(Node& node) const override { return answer_invitations(node, rounds_, MomentumAtSync::Mode::reset); }

  Process server(Node& node) const override {
    Weights weights = rounds_.initial_weights(node);
    ClientRounds clients(rounds_, node);
    for (;;) {
      const std::vector<Weights> parts = co_await clients.round(weights);
      if (!parts.empty()) weights = normalized(node, weights, parts);
      weights = co_await node.publish(weights);
    }
  }

  /// x - τ_eff Σ p_k d_k = (1 - Σ p_k τ_eff/|a_k|) x + Σ (p_k τ_eff/|a_k|) y_k. Running statistics are averaged as they are.
  Weights normalized(const Node& node, const Weights& weights, const std::vector<Weights>& parts) const {
    const Algebra& algebra = node.algebra();
    const std::vector<double> shares = Average::shares(rounds_.counts(node, parts));
    std::vector<double> norms;  // |a_k|₁; 0 without a step
    double effective = 0;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      norms.push_back(*node.plan().optimizer->weight_of_steps(steps_of(parts[k])));
      effective += shares[k] * norms[k];
    }
    std::vector<Weights> all = {weights};
    std::vector<double> factors = {1};
    for (std::size_t k = 0; k < parts.size(); ++k) {
      all.push_back(parts[k]);
      factors.push_back(norms[k] > 0 ? shares[k] * effective / norms[k] : 0);
      factors.front() -= factors.back();
    }
    const Gradient change = algebra.difference(weights, algebra.weighted_mean(parts, shares));
    return algebra.with_statistics(algebra.weighted_mean(all, factors), change);
  }

  static double steps_of(const Weights& part) {
    double steps = 0;
    for (const Contribution& made : part->made()) steps += made.steps;
    return steps;
  }

  FederatedRounds rounds_;
};

constexpr auto reset = MomentumAtSync::Mode::reset;  // the only one for which |a_k|₁ holds

const Register<SchemeEntry> entry(round_entry({
    .name = "fednova",
    .summary = "federated averaging of changes per step: clients with more local steps do not count more",
    .reference = "Wang et al. 2020",
    .family = Family::federated,
    .rule = "w ← w - τ Σ p_k (w - y_k)/|a_k|, τ = Σ p_k |a_k|; |a_k| = Σ_j (1 - ρ^(τ_k-j))/(1 - ρ), τ_k with ρ = 0",
    .paragraph = "Federated averaging for clients that take unequal numbers of local steps. Each client's change is divided by the "
                 "weight of its steps, which is their number for plain SGD, so that more steps do not mean more influence. The optimizer "
                 "is `sgd`, with or without momentum, and without `nesterov`.",
    .parameters = FederatedRounds::parameters(
        Average::By::samples, {MomentumAtSync::choice.only({reset}).parameter(reset, "what a round does to the clients' momentum")}),
    .examples = {{{"fraction", "0.5"}}, {{"local_epochs", "2"}}, {{"clients", "2"}, {"local_steps", "3"}}},
    .make = made<FedNova>,
    .weighs_steps = true,
}));

}  // namespace
}  // namespace straggler::schemes::fednova
