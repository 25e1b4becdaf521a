// FedAsync: asynchronous federated learning. The server mixes in each client's weights as they come,
//   w ← (1 - α_t) w + α_t w_k,   α_t = α s(τ),
// where w_k began τ updates ago, and s is 1 (constant), (τ + 1)^-a (polynomial), or 1 if τ ≤ b, else 1 / (a (τ - b) + 1) (hinge).
// α_t is of this update alone: the next one begins from α again.
// Xie, Koyejo, Gupta, Asynchronous Federated Optimization, 2019.
#include <cmath>

#include "sim/schemes/client_rounds.hpp"
#include "sim/schemes/concurrent_clients.hpp"
#include "sim/training/answers.hpp"

namespace straggler::schemes::fedasync {
namespace {

enum class Damping { constant, polynomial, hinge };
constexpr ChoiceTable<Damping> staleness_choice("staleness", {{Damping::constant, "constant"},
                                                              {Damping::polynomial, "polynomial"},
                                                              {Damping::hinge, "hinge"}});

class FedAsync final : public Scheme {
 public:
  explicit FedAsync(const Parameters& parameters)
      : rounds_(parameters),
        damping_(staleness_choice.of(parameters)),
        answers_(parameters),
        alpha_(parameters.number("alpha")),
        a_(parameters.has("a")          ? parameters.number("a")
           : damping_ == Damping::hinge ? 10
                                        : 0.5),
        b_(parameters.number("b")) {}

  /// s(τ).
  double damping(double tau) const {
    switch (damping_) {
      case Damping::constant:
        return 1;
      case Damping::polynomial:
        return std::pow(tau + 1, -a_);
      case Damping::hinge:
        return tau <= b_ ? 1 : 1 / (a_ * (tau - b_) + 1);
    }
    throw std::logic_error("no such damping");
  }

 private:
  Process worker(Node& node) const override { return answer_invitations(node, rounds_, MomentumAtSync::Mode::reset); }

  Process server(Node& node) const override {
    ConcurrentClients clients(node, rounds_.clients_of(node.workers()));
    Weights weights = clients.initial_weights(node);
    while (const std::optional<Peer> next = clients.at_restart()) co_await answers_.send(node, *next, weights);
    for (;;) {
      const std::optional<From<Weights>> arrived = co_await arrival_or_change<Weights>(node);
      if (arrived) {
        const double rate = alpha_ * damping(static_cast<double>(weights->version - (*arrived)->version));
        weights = node.weighted_mean({weights, *arrived}, {1 - rate, rate});
        weights = co_await node.publish(weights);
      }
      if (arrived) clients.answered(arrived->sender);
      while (const std::optional<Peer> next = clients.next()) co_await answers_.send(node, *next, weights);
    }
  }

  FederatedRounds rounds_;
  Damping damping_;
  Answers answers_;
  double alpha_, a_, b_;
};

const Register<SchemeEntry> entry(concurrent_entry(
    {
        .name = "fedasync",
        .summary = "asynchronous federated learning: the server mixes in each client's weights as they come",
        .reference = "Xie et al. 2019",
        .family = Family::federated,
        .contributions = one_contribution(),
        .rule = "w ← (1 - α s(τ)) w + α s(τ) w_k",
        .paragraph =
            "Some clients train at any time. The server mixes in the weights of each as they come and invites another client, so no round "
            "waits for a slow one. Old weights can be given a smaller share. The age τ counts the updates since the client got its "
            "weights: 0 for fresh ones, where the paper's is 1.",
        .damping = [](const Parameters& parameters, const TrainingPlan&,
                      std::uint64_t staleness) { return FedAsync(parameters).damping(static_cast<double>(staleness)); },
        .picture = {{"clients", "3"}, {"local_steps", "2"}},
        .parameters = FederatedRounds::parameters_without_rounds(
            {{.name = "alpha", .fallback = "0.6", .meaning = "share of a client's weights in the new ones", .range = Range::above_to(0, 1)},
             staleness_choice.parameter(Damping::constant, "how that share falls with the age τ of the client's initial weights"),
             {.name = "a", .meaning = "speed of that fall; default 0.5 with polynomial, 10 with hinge", .range = Range::above(0)},
             {.name = "b", .fallback = "4", .meaning = "with hinge: the age from which the share falls", .range = Range::at_least(0)},
             Answers::parameter()}),
        .examples = {{{"staleness", "polynomial"}}, {{"clients", "2"}, {"staleness", "hinge"}, {"b", "1"}}, {{"local_steps", "3"}}},
        .make = made<FedAsync>,
    },
    [](const Parameters& parameters, Rank workers) { return FederatedRounds(parameters).clients_of(workers); }));

}  // namespace
}  // namespace straggler::schemes::fedasync
