// Adaptive federated optimization (FedOpt): clients train as in FedAvg, and the server takes their mean change for a gradient,
//   Δ = Σ_k p_k (y_k - x),   x ← x - server_rate · Server(-Δ),
// where Server is SGD, SGD with momentum (FedAvgM), or, without bias correction, from m = 0 and v = τ²,
//   m ← β1 m + (1 - β1) Δ,   x ← x + server_rate m / (√v + τ),
//   FedAdagrad: v ← v + Δ²,   FedAdam: v ← β2 v + (1 - β2) Δ²,   FedYogi: v ← v - (1 - β2) Δ² sign(v - Δ²).
// Reddi, Charles, Zaheer, Garrett, Rush, Konečný, Kumar, McMahan, Adaptive Federated Optimization, ICLR 2021, Algorithm 2.
// With SGD at rate 1 it is FedAvg, up to rounding.
#include "sim/schemes/client_rounds.hpp"

namespace straggler::schemes::fedopt {
namespace {

enum class Server { sgd, momentum, adagrad, adam, yogi };
constexpr ChoiceTable<Server> server_choice(
    "server",
    {{Server::sgd, "sgd"}, {Server::momentum, "momentum"}, {Server::adagrad, "adagrad"}, {Server::adam, "adam"}, {Server::yogi, "yogi"}});

class FedOpt final : public Scheme {
 public:
  explicit FedOpt(const Parameters& parameters) : rounds_(parameters) {}

 private:
  Process worker(Node& node) const override { return answer_invitations(node, rounds_, MomentumAtSync::Mode::reset); }

  Process server(Node& node) const override {
    const Algebra& algebra = node.algebra();
    Weights weights = rounds_.initial_weights(node);
    Durable<Optimizer> optimizer(node, node.outer_optimizer());
    ClientRounds clients(rounds_, node);
    for (;;) {
      const std::vector<Weights> parts = co_await clients.round(weights);
      if (!parts.empty()) {
        const Weights mean = rounds_.mean(node, parts);
        const Gradient change = algebra.difference(weights, mean);  // -Δ
        const Weights next = co_await node.step(*optimizer, weights, change);
        weights = algebra.with_statistics(next, change);
      }
      weights = co_await node.publish(weights);
    }
  }

  FederatedRounds rounds_;
};

OptimizerChoice server_optimizer(const Parameters& parameters) {
  const Server server = server_choice.of(parameters);
  OptimizerChoice choice{server == Server::sgd || server == Server::momentum ? "sgd" : "adaptive", {}};
  choice.parameters.set("learning_rate", parameters.number("server_rate"));
  if (choice.kind == "sgd") {
    choice.parameters.set("momentum", server == Server::momentum ? parameters.number("beta1") : 0.0);
    return choice;
  }
  choice.parameters.set("second_moment", std::string(server_choice.name_of(server)));
  for (const char* name : {"beta1", "beta2", "tau"}) choice.parameters.set(name, parameters.number(name));
  return choice;
}

std::vector<Parameter> parameters() {
  const Range share{0, 1, false, true};
  return FederatedRounds::parameters(
      Average::By::samples,
      {server_choice.parameter(Server::adam, "the server's optimizer"),
       {.name = "server_rate", .required = true, .meaning = "the server's learning rate", .range = Range::above(0)},
       {.name = "beta1", .fallback = "0.9", .meaning = "share of its momentum that the server keeps each round", .range = share},
       {.name = "beta2",
        .fallback = "0.99",
        .meaning = "share that the average of squared changes keeps each round, of adam and yogi",
        .range = share},
       {.name = "tau",
        .fallback = "1e-3",
        .meaning = "adaptivity of adagrad, adam and yogi: added to the root of the squares, which start at its square",
        .range = Range::above(0)}});
}

const Register<SchemeEntry> entry(round_entry({
    .name = "fedopt",
    .summary = "federated averaging with an optimizer on the server: FedAvgM, FedAdagrad, FedAdam, FedYogi",
    .reference = "Reddi et al. 2021",
    .other_names = {"fedavgm", "fedadagrad", "fedadam", "fedyogi"},
    .family = Family::federated,
    .rule = "w ← Server(w, w - Σ p_k y_k)",
    .paragraph =
        "The server takes the clients' mean change as a gradient and steps along it with an optimizer: Adam, Adagrad, Yogi or momentum. "
        "`beta1` is 0.9 with `adagrad` too. The paper's experiments with FedAdagrad have β1 = 0.",
    .parameters = parameters(),
    .examples = {{{"server_rate", "0.1"}}, {{"server", "sgd"}, {"server_rate", "1"}}, {{"fraction", "0.5"}, {"local_steps", "3"}}},
    .make = made<FedOpt>,
    .outer_optimizer = [](const Parameters& parameters) { return std::optional(server_optimizer(parameters)); },
}));

}  // namespace
}  // namespace straggler::schemes::fedopt
