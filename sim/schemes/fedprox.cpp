// FedProx: federated averaging whose clients are held near the weights x of the round: each local step goes along
//   g_i(y) + μ (y - x),
// the gradient of f_i(y) + (μ/2) |y - x|². The server averages by the clients' numbers of samples. With μ = 0 it is FedAvg, bit for bit.
// Li, Sahu, Zaheer, Sanjabi, Talwalkar, Smith, Federated Optimization in Heterogeneous Networks, MLSys 2020.
#include "sim/schemes/client_rounds.hpp"

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
      const FederatedRounds::Direction direction = [&](const Weights& here, const Gradient& gradient) {
        return held_near(node, gradient, here->value, start);
      };
      weights = co_await rounds_.train_locally(node, weights, &direction);
      const Weights mine = momentum_.outgoing(node, weights);
      co_await node.send(node.server(), mine);
      const Weights average = co_await node.receive<Weights>(node.server());
      weights = momentum_.incoming(node, average);
    }
  }

  Gradient held_near(const Node& node, const Gradient& gradient, const Handle& here, const Handle& start) const {
    return mu_ > 0 ? node.algebra().corrected(gradient, {{here, mu_}, {start, -mu_}}) : gradient;
  }

  Process server(Node& node) const override { return average_rounds(node, rounds_); }

  FederatedRounds rounds_;
  MomentumAtSync momentum_;
  double mu_;
};

const Register<SchemeEntry> entry(round_entry({
    .name = "fedprox",
    .summary = "federated averaging whose clients stay near the weights of the round",
    .reference = "Li et al. 2020",
    .family = Family::federated,
    .rule = "fedavg, with local steps along g + μ (y - w)",
    .paragraph = "Federated averaging whose local steps are pulled back towards the weights of the round, so that clients with different "
                 "data drift less.",
    .parameters = FederatedRounds::parameters(Average::By::samples,
                                              {{.name = "mu",
                                                .fallback = "0.01",
                                                .meaning = "pull towards the weights of the round, times the distance from them; 0: fedavg",
                                                .range = Range::at_least(0)},
                                               MomentumAtSync::parameter(MomentumAtSync::Mode::reset)}),
    .examples = {{{"fraction", "0.5"}, {"mu", "0.1"}}, {{"mu", "0"}}, {{"clients", "2"}, {"local_steps", "3"}}},
    .make = made<FedProx>,
    .plain_sgd_alone = {{{"mu", "0"}, {"momentum_at_sync", "keep"}}},
    .worker_vectors = 1,  // the weights of the round
}));

}  // namespace
}  // namespace straggler::schemes::fedprox
