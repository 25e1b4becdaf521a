// Federated averaging (FedAvg): each round the server samples a fraction C of the clients; each of them trains for E epochs on
// its own data, with batch size B, and the server averages by the clients' numbers of samples n_k:
//   w ← Σ_k (n_k / n_S) w_k,   n_S = Σ_k n_k over the sampled clients.
// McMahan et al., Communication-Efficient Learning of Deep Networks from Decentralized Data, 2017.
#include "sim/schemes/federated.hpp"
#include "sim/schemes/momentum_at_sync.hpp"

namespace straggler::schemes::fedavg {
namespace {

class FedAvg final : public Scheme {
 public:
  explicit FedAvg(const Parameters& parameters) : rounds_(parameters), momentum_(parameters) {}

 private:
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    if (!rounds_.takes_part(node, weights)) weights = co_await node.receive<Weights>(node.server());
    weights = momentum_.incoming(node, weights);
    for (;;) {
      FederatedRounds::LocalBatches batches(node, rounds_);
      while (const std::optional<DrawnBatch> batch = batches.next()) {
        const std::optional<Gradient> gradient = co_await batches.gradient(weights, *batch);
        if (!gradient) break;
        weights = co_await node.step(weights, *gradient);
      }
      const Weights mine = momentum_.outgoing(node, weights);
      co_await node.send(node.server(), mine);
      const Weights average = co_await node.receive<Weights>(node.server());
      weights = momentum_.incoming(node, average);
    }
  }

  Process server(Node& node) const override {
    Weights weights = rounds_.initial_weights(node);
    FederatedRounds::Server clients(rounds_, node);
    for (;;) {
      const std::vector<Weights> parts = co_await clients.contributions(weights);
      if (!parts.empty()) weights = rounds_.mean(node, parts);
      weights = co_await node.publish(weights);
      clients.invite(weights);
    }
  }

  FederatedRounds rounds_;
  MomentumAtSync momentum_;
};

std::vector<Parameter> parameters() {
  std::vector<Parameter> all = FederatedRounds::parameters(Average::By::samples);
  all.push_back(via_choice.only({Exchange::server}).parameter(Exchange::server, "how weights are averaged"));
  all.push_back(MomentumAtSync::parameter(MomentumAtSync::Mode::reset));
  all.push_back(on_failure({OnFailure::drop, OnFailure::wait, OnFailure::abort}, "close the round without it, wait for it, or end"));
  return all;
}

const Register<SchemeEntry> entry({
    .name = "fedavg",
    .summary = "federated averaging: sampled clients train for local epochs, the server averages their weights",
    .reference = "McMahan et al. 2017",
    .other_names = {"federatedaveraging", "fedsgd"},
    .family = Family::federated,
    .rule = "w ← Σ (n_k/n) w_k, over the clients of a round",
    .paragraph =
        "The server invites clients, each trains on its own data, and the server averages their weights by samples. A round takes as "
        "long as its slowest client. Clients with different data drift apart while they train.",
    .traffic = MomentumAtSync::traffic(FederatedRounds::traffic(2)),
    .picture = {{"clients", "3"}, {"local_steps", "2"}},
    .parameters = parameters(),
    .examples = {{{"fraction", "0.5"}},
                 {{"fraction", "0.5"}, {"local_epochs", "2"}, {"momentum_at_sync", "average"}},
                 {{"clients", "2"}, {"local_steps", "3"}},
                 {{"clients", "2"}, {"over_select", "1.5"}},
                 {{"deadline.time", "50ms"}, {"deadline.late", "partial"}},
                 {{"fraction", "0.5"}, {"deadline.time", "200ms"}}},
    .make = made<FedAvg>,
    .average = FederatedRounds::average,
    .plain_sgd_alone = {{{"momentum_at_sync", "keep"}}},
    .updates_per_epoch = [](const Parameters& parameters, const TrainingPlan& plan) { return FederatedRounds(parameters).per_epoch(plan); },
    .invited = [](const Parameters& parameters,
                  const TrainingPlan& plan) { return std::optional(FederatedRounds(parameters).invited_of(plan.workers)); },
    .selection = FederatedRounds::selection,
    .invites = true,
});

}  // namespace
}  // namespace straggler::schemes::fedavg
