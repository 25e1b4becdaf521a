// FedProx: federated averaging whose clients are held near the weights x of the round: each local step goes along
//   g_i(y) + μ (y - x),
// the gradient of f_i(y) + (μ/2) |y - x|². The server averages by the clients' numbers of samples. With μ = 0 it is FedAvg, bit for bit.
// Li, Sahu, Zaheer, Sanjabi, Talwalkar, Smith, Federated Optimization in Heterogeneous Networks, MLSys 2020.
#include "sim/schemes/federated.hpp"
#include "sim/schemes/momentum_at_sync.hpp"

namespace straggler::schemes::fedprox {
namespace {

class FedProx final : public Scheme {
 public:
  explicit FedProx(const Parameters& parameters) : rounds_(parameters), momentum_(parameters), mu_(parameters.number("mu")) {}

 private:
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    if (!rounds_.takes_part(node, weights)) weights = co_await node.receive<Weights>(node.server());
    weights = momentum_.incoming(node, weights);
    for (;;) {
      const Handle start = weights->value;
      FederatedRounds::LocalBatches batches(node, rounds_);
      while (const std::optional<DrawnBatch> batch = batches.next()) {
        const std::optional<Gradient> gradient = co_await batches.gradient(weights, *batch);
        if (!gradient) break;
        const Gradient proximal = held_near(node, *gradient, weights->value, start);
        weights = co_await node.step(weights, proximal);
      }
      const Weights mine = momentum_.outgoing(node, weights);
      co_await node.send(node.server(), mine);
      const Weights average = co_await node.receive<Weights>(node.server());
      weights = momentum_.incoming(node, average);
    }
  }

  Gradient held_near(const Node& node, const Gradient& gradient, const Handle& here, const Handle& start) const {
    return mu_ > 0 ? node.algebra().corrected(gradient, {{here, mu_}, {start, -mu_}}) : gradient;
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
  double mu_;
};

std::vector<Parameter> parameters() {
  std::vector<Parameter> all = FederatedRounds::parameters(Average::By::samples);
  all.push_back({.name = "mu",
                 .fallback = "0.01",
                 .meaning = "pull towards the weights of the round, times the distance from them; 0: fedavg",
                 .range = Range::at_least(0)});
  all.push_back(MomentumAtSync::parameter(MomentumAtSync::Mode::reset));
  all.push_back(on_failure({OnFailure::drop, OnFailure::wait, OnFailure::abort}, "close the round without it, wait for it, or end"));
  return all;
}

const Register<SchemeEntry> entry({
    .name = "fedprox",
    .summary = "federated averaging whose clients stay near the weights of the round",
    .reference = "Li et al. 2020",
    .family = Family::federated,
    .rule = "fedavg, with local steps along g + μ (y - w)",
    .paragraph = "Federated averaging whose local steps are pulled back towards the weights of the round, so that clients with different "
                 "data drift less.",
    .traffic = MomentumAtSync::traffic(FederatedRounds::traffic(2)),
    .picture = {{"clients", "3"}, {"local_steps", "2"}},
    .parameters = parameters(),
    .examples = {{{"fraction", "0.5"}, {"mu", "0.1"}}, {{"mu", "0"}}, {{"clients", "2"}, {"local_steps", "3"}}},
    .make = made<FedProx>,
    .average = FederatedRounds::average,
    .plain_sgd_alone = {{{"mu", "0"}, {"momentum_at_sync", "keep"}}},
    .updates_per_epoch = [](const Parameters& parameters, const TrainingPlan& plan) { return FederatedRounds(parameters).per_epoch(plan); },
    .invited = [](const Parameters& parameters,
                  const TrainingPlan& plan) { return std::optional(FederatedRounds(parameters).invited_of(plan.workers)); },
    .selection = FederatedRounds::selection,
    .invites = true,
    .worker_vectors = 1,  // the weights of the round
});

}  // namespace
}  // namespace straggler::schemes::fedprox
