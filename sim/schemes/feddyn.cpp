// FedDyn: dynamic regularization. Each client keeps h_i, the gradient of its own loss where it stopped, and takes its local steps along
//   g_i(y) - h_i + α (y - x),   then h_i ← h_i - α (y_i - x);
// the server, of N clients in all,
//   h ← h - (α/N) Σ_i (y_i - x),   x ← mean_i y_i - h / α.
// With `average: by_samples` each client counts its samples n_i, in both means and in N.
// The fixed points of clients and server agree, however unlike their data.
// Acar, Zhao, Matas Navarro, Mattina, Whatmough, Saligrama, Federated Learning Based on Dynamic Regularization, ICLR 2021. The optimizer's
// state starts anew in each round. y_i and x are those that arrived: compressed or rounded, if messages are.
//
// h is always the mean of all clients' h_i: a client takes its new h_i only if its contribution counted, as its next invitation says. A
// crash leaves h_i as it is, and who crashes for good stays in h. A client that joins has h_i = 0: h ← h N / (N + 1). One that leaves sends
// its h_i: h ← (N h - h_i) / (N - 1).
#include "sim/schemes/client_rounds.hpp"

namespace straggler::schemes::feddyn {
namespace {

class FedDyn final : public Scheme {
 public:
  explicit FedDyn(const Parameters& parameters) : rounds_(parameters), alpha_(parameters.number("alpha")) {}

 private:
  Process worker(Node& node) const override {
    const Algebra& algebra = node.algebra();
    Weights weights = node.initial_weights();
    const Handle& own = node.kept();  // h_i; empty: 0
    if (!rounds_.takes_part(node, weights)) weights = co_await node.receive<Weights>(node.server());
    for (;;) {
      node.settle(weights);
      node.reset_optimizer();
      const Handle start = weights->value;  // x
      const FederatedRounds::Direction direction = [&](const Weights& here, const Gradient& gradient) {
        return algebra.corrected(gradient, {{own, -1}, {here->value, alpha_}, {start, -alpha_}});
      };
      weights = co_await rounds_.train_locally(node, weights, &direction);
      Handle sent;  // y_i
      Pending<SendOperation> sending = node.send(node.server(), weights, sent);
      rounds_.keep(node, algebra.combination({{own, 1}, {sent, -alpha_}, {start, alpha_}}), weights);
      co_await sending;
      weights = co_await node.receive<Weights>(node.server());
    }
  }

  Process server(Node& node) const override {
    const Algebra& algebra = node.algebra();
    Weights weights = rounds_.initial_weights(node);
    Durable<Handle> drift(node);  // -h / α = (1/N) Σ (y_i - x) over all rounds; empty: 0
    ClientRounds clients(rounds_, node);
    for (;;) {
      const std::vector<Weights> parts = co_await clients.round(weights);
      *drift = next_drift(node, *drift, weights, parts, clients.turnover());
      if (!parts.empty()) {
        const Weights mean = rounds_.mean(node, parts);
        Weights next = mean;
        next.edit().value = algebra.combination({{mean->value, 1}, {*drift, 1}});
        weights = algebra.with_statistics(next, algebra.difference(weights, mean));
      }
      weights = co_await node.publish(weights);
    }
  }

  /// -h' / α, where h' = (N h - Σ n_j h_j of those that left - α Σ n_i (y_i - x)) / N', for clients that count N before and N' now.
  Handle next_drift(const Node& node, const Handle& drift, const Weights& weights, const std::vector<Weights>& parts,
                    const ClientRounds::Turnover& clients) const {
    const double now = clients.now, share = 1 / now;
    std::vector<Term> terms;
    for (const Weights& part : parts) terms.push_back({part->value, rounds_.count(node, part) * share});
    for (const auto& [start, count] : starts_of(node, weights, parts)) terms.push_back({start, -share * count});
    terms.push_back({drift, clients.before / now});
    for (const Term& left : clients.left) terms.push_back({left.vector, left.factor * share / alpha_});
    return node.algebra().combination(terms);
  }

  /// x as it has arrived at the clients, and what those count; nobody was sent the initial weights.
  std::vector<std::pair<Handle, double>> starts_of(const Node& node, const Weights& weights, const std::vector<Weights>& parts) const {
    std::vector<std::pair<Handle, double>> starts;
    for (const Weights& part : parts) {
      const Handle start = weights->version == 0 ? weights->value : node.as_held_by(part->made().front().worker, weights)->value;
      const auto known = std::ranges::find_if(starts, [&](const auto& each) { return each.first.key() == start.key(); });
      if (known == starts.end())
        starts.emplace_back(start, rounds_.count(node, part));
      else
        known->second += rounds_.count(node, part);
    }
    return starts;
  }

  FederatedRounds rounds_;
  double alpha_;
};

const Register<SchemeEntry> entry(round_entry({
    .name = "feddyn",
    .summary = "federated averaging with dynamic regularization: clients and server remember the pull of the local optima",
    .reference = "Acar et al. 2021",
    .family = Family::federated,
    .rule = "y ← y - lr (g_i(y) - h_i + α (y - w)), w ← mean y_i - h/α",
    .paragraph =
        "Each client keeps a linear term that moves its own optimum to the common one, and the server keeps their mean. It "
        "counters the drift between clients with different data, and sends no more bytes than `fedavg`. A client that leaves sends "
        "its term; that of one that crashes for good stays in the mean.",
    .parameters = FederatedRounds::parameters(
        Average::By::plain, {{.name = "alpha", .fallback = "0.01", .meaning = "strength of the regularization", .range = Range::above(0)}}),
    .examples = {{{"fraction", "0.5"}}, {{"alpha", "0.1"}, {"local_steps", "3"}}},
    .make = made<FedDyn>,
    .clients_keep_vectors = true,
    .worker_vectors = 2,  // h_i, and the weights of the round or the next h_i
}));

}  // namespace
}  // namespace straggler::schemes::feddyn
