// FedDyn: dynamic regularization. Each client keeps h_i, the gradient of its own loss where it stopped, and takes its local steps along
//   g_i(y) - h_i + α (y - x),   then h_i ← h_i - α (y_i - x);
// the server, of N clients in all,
//   h ← h - (α/N) Σ_i (y_i - x),   x ← mean_i y_i - h / α.
// The fixed points of clients and server agree, however unlike their data.
// Acar, Zhao, Matas Navarro, Mattina, Whatmough, Saligrama, Federated Learning Based on Dynamic Regularization, ICLR 2021. The optimizer's
// state starts anew in each round. A client that crashes comes back with h_i = 0; one that goes away in a round keeps the h_i of its last
// completed round.
#include "sim/schemes/federated.hpp"

namespace straggler::schemes::feddyn {
namespace {

class FedDyn final : public Scheme {
 public:
  explicit FedDyn(const Parameters& parameters) : rounds_(parameters), alpha_(parameters.number("alpha")) {}

 private:
  Process worker(Node& node) const override {
    const Algebra& algebra = node.algebra();
    Weights weights = node.initial_weights();
    Handle& own = node.kept();  // h_i; empty: 0
    if (!rounds_.takes_part(node, weights)) weights = co_await node.receive<Weights>(node.server());
    for (;;) {
      node.reset_optimizer();
      const Handle start = weights->value;  // x
      FederatedRounds::LocalBatches batches(node, rounds_);
      while (const std::optional<DrawnBatch> batch = batches.next()) {
        const std::optional<Gradient> gradient = co_await batches.gradient(weights, *batch);
        if (!gradient) break;
        const Gradient corrected = algebra.corrected(*gradient, {{own, -1}, {weights->value, alpha_}, {start, -alpha_}});
        weights = co_await node.step(weights, corrected);
      }
      const Handle next = algebra.combination({{own, 1}, {weights->value, -alpha_}, {start, alpha_}});
      co_await node.send(node.server(), weights);
      own = next;
      weights = co_await node.receive<Weights>(node.server());
    }
  }

  Process server(Node& node) const override {
    Weights weights = node.initial_weights();
    std::optional<Weights> drift;  // -h / α = (1/N) Σ (y_i - x) over all rounds; none: 0
    FederatedRounds::Server clients(rounds_, node);
    for (;;) {
      const std::vector<Weights> parts = co_await clients.contributions(weights);
      if (!parts.empty()) {
        drift = grown(node, drift, weights, parts);
        const Weights mean = node.mean(parts);
        const Weights next = node.blend(mean, {mean, *drift}, {1, 1});
        weights = node.algebra().with_statistics(next, node.algebra().difference(weights, mean));
      }
      weights = co_await node.publish(weights);
      clients.invite(weights);
    }
  }

  static Weights grown(const Node& node, const std::optional<Weights>& drift, const Weights& weights, const std::vector<Weights>& parts) {
    const double share = 1 / static_cast<double>(node.workers());
    std::vector<Weights> all = parts;
    std::vector<double> factors(parts.size(), share);
    all.push_back(weights);
    factors.push_back(-share * static_cast<double>(parts.size()));
    if (drift) {
      all.push_back(*drift);
      factors.push_back(1);
    }
    return node.algebra().blend(weights, all, factors);
  }

  FederatedRounds rounds_;
  double alpha_;
};

std::vector<Parameter> parameters() {
  std::vector<Parameter> all = FederatedRounds::parameters();
  all.push_back({.name = "alpha", .fallback = "0.01", .meaning = "strength of the regularization", .range = Range::above(0)});
  all.push_back(on_failure({OnFailure::drop, OnFailure::wait, OnFailure::abort}, "close the round without it, wait for it, or end"));
  return all;
}

const Register<SchemeEntry> entry({
    .name = "feddyn",
    .summary = "federated averaging with dynamic regularization: clients and server remember the pull of the local optima",
    .reference = "Acar et al. 2021",
    .family = Family::federated,
    .rule = "y ← y - lr (g_i(y) - h_i + α (y - w)), w ← mean y_i - h/α",
    .paragraph = "Each client keeps a linear term that moves its own optimum to the common one, and the server keeps their mean. It "
                 "counters the drift between clients with different data, and sends no more bytes than `fedavg`.",
    .waits = "the server for all clients of the round",
    .traffic = FederatedRounds::traffic(2),
    .picture = {{"clients", "3"}, {"local_steps", "2"}},
    .parameters = parameters(),
    .examples = {{{"fraction", "0.5"}}, {{"alpha", "0.1"}, {"local_steps", "3"}}},
    .make = [](const Parameters& parameters) { return std::make_unique<FedDyn>(parameters); },
    .exchange = [](const Parameters&) { return Exchange::server; },
    .updates_per_epoch = [](const Parameters& parameters, const TrainingPlan& plan) { return FederatedRounds(parameters).per_epoch(plan); },
    .invited = [](const Parameters& parameters,
                  const TrainingPlan& plan) { return std::optional(FederatedRounds(parameters).invited_of(plan.workers)); },
    .selection = FederatedRounds::selection,
    .invites = true,
    .workers_hold = WorkersHold::own_weights,
    .worker_vectors = 2,  // h_i, and the weights of the round
});

}  // namespace
}  // namespace straggler::schemes::feddyn
