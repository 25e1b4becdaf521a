// SCAFFOLD: local steps corrected by control variates, which travel beside the weights. From y = x a client takes K steps,
//   y ← y - lr (g_i(y) - c_i + c),
// and then, by option II,
//   c_i⁺ = c_i - c + (x - y_i) / (K lr) = (1/K) Σ g_i(y);
// the server averages uniformly over the S clients of the round, of N in all,
//   x ← x + server_rate (1/S) Σ (y_i - x),   c ← c + (1/N) Σ (c_i⁺ - c_i).
// With `average: by_samples` each client counts its samples n_i: N is Σ n_i of all, S that of the round, and c the weighted mean.
// Karimireddy et al., SCAFFOLD: Stochastic Controlled Averaging for Federated Learning, ICML 2020. The two forms of c_i⁺ are the same for
// plain SGD; the second one, which is used here, holds for other optimizers too. Their state starts anew in each round.
//
// c is always the mean of all clients' c_i: a client takes c_i⁺ for its c_i only if its contribution counted, as its next invitation
// says. A crash leaves c_i as it is, and who crashes for good stays in c. A client that joins has c_i = 0: c ← c N / (N + 1). One that
// leaves sends its c_i: c ← (N c - c_i) / (N - 1).
#include <numeric>

#include "sim/schemes/client_rounds.hpp"

namespace straggler::schemes::scaffold {
namespace {

/// c on the way down, c_i⁺ - c_i on the way up.
constexpr std::string_view control = "control variate";

class Scaffold final : public Scheme {
 public:
  explicit Scaffold(const Parameters& parameters) : rounds_(parameters), server_rate_(parameters.number("server_rate")) {}

 private:
  Process worker(Node& node) const override {
    const Algebra& algebra = node.algebra();
    Weights global = node.initial_weights();
    const Handle& own = node.kept();  // c_i; empty: 0
    if (!rounds_.takes_part(node, global)) global = co_await node.receive<Weights>(node.server());
    for (;;) {
      node.settle(global);
      const Handle common = find_attached(global->attached(), control);
      Weights local = algebra.without_attached(global);
      node.reset_optimizer();
      Gradient sum = node.no_gradient(local);  // of g_i(y)
      double steps = 0;                        // K
      const FederatedRounds::Direction direction = [&](const Weights&, const Gradient& gradient) {
        sum = algebra.add(sum, gradient);
        ++steps;
        return algebra.corrected(gradient, {{common, 1}, {own, -1}});
      };
      local = co_await rounds_.train_locally(node, local, &direction);
      if (steps == 0) {  // the deadline came before the first step: there is nothing to send
        co_await node.send(node.server(), algebra.without_attached(global));
        global = co_await node.receive<Weights>(node.server());
        continue;
      }
      const Handle next = algebra.combination({{sum->value(), 1 / steps}});
      const Weights mine = algebra.attach(local, control, algebra.combination({{next, 1}, {own, -1}}));
      rounds_.keep(node, next, global);
      co_await node.send(node.server(), mine);
      global = co_await node.receive<Weights>(node.server());
    }
  }

  Process server(Node& node) const override {
    Weights weights = rounds_.initial_weights(node);
    ClientRounds clients(rounds_, node);
    for (;;) {
      const std::vector<Weights> parts = co_await clients.round(weights);
      const ClientRounds::Turnover turnover = clients.turnover();
      weights = co_await node.publish(next_weights(node, weights, parts, turnover));
    }
  }

  /// With c' = (N c - Σ n_j c_j of those that left + Σ n_i (c_i⁺ - c_i)) / N', for clients that count N before and N' now.
  Weights next_weights(Node& node, const Weights& weights, const std::vector<Weights>& parts, const ClientRounds::Turnover& clients) const {
    const Algebra& algebra = node.algebra();
    const double now = clients.now;
    std::vector<Term> terms = {{find_attached(weights->attached(), control), clients.before / now}};
    Weights next = weights;
    if (!parts.empty()) {
      std::vector<double> counts;  // among all clients, however those of a round are drawn
      for (const Weights& part : parts) counts.push_back(rounds_.count(node, part));
      const std::vector<double> shares = Average::shares(counts);
      std::vector<Term> changes;
      for (std::size_t i = 0; i < parts.size(); ++i) changes.push_back({find_attached(parts[i]->attached(), control), shares[i]});
      terms.push_back({algebra.combination(changes), std::accumulate(counts.begin(), counts.end(), 0.0) / now});
      next = algebra.blend(rounds_.mean(node, parts), weights, 1 - server_rate_);
    }
    for (const Term& left : clients.left) terms.push_back({left.vector, -left.factor / now});
    return algebra.attach(algebra.without_attached(next), control, algebra.combination(terms));
  }

  FederatedRounds rounds_;
  double server_rate_;
};

const Register<SchemeEntry> entry(round_entry(
    {
        .name = "scaffold",
        .summary = "federated averaging with control variates for clients with different data: two vectors travel each way",
        .reference = "Karimireddy et al. 2020",
        .family = Family::federated,
        .rule = "y ← y - lr (g_i(y) - c_i + c), w ← w + server_rate (1/S) Σ (y_i - w)",
        .paragraph =
            "Each client corrects its local steps by the difference between its own gradients and the mean gradient (control "
            "variates). That counters the drift between clients with different data. Two vectors travel each way. A client that leaves "
            "sends its control variate; that of one that crashes for good stays in the mean.",
        .parameters = FederatedRounds::parameters(Average::By::plain, {{.name = "server_rate",
                                                                        .fallback = "1",
                                                                        .meaning = "step of the server along the clients' mean change",
                                                                        .range = Range::above(0)}}),
        .examples = {{{"fraction", "0.5"}},
                     {{"local_steps", "2"}, {"server_rate", "0.5"}},
                     {{"deadline.time", "50ms"}, {"deadline.late", "partial"}}},
        .make = made<Scaffold>,
        .clients_keep_vectors = true,
        .worker_vectors = 3,  // c_i, the sum that makes the next one, and its change
        .worker_bytes = 2'900,
    },
    4));

}  // namespace
}  // namespace straggler::schemes::scaffold
