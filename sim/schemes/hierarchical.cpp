// Hierarchical federated averaging: each aggregator averages its clients' weights κ2 = edge_rounds times, after local epochs of the clients
// each time; then the server averages the aggregators' weights. Both weigh by numbers of samples, or all clients alike (n_k = 1):
//   aggregator ℓ:  w_ℓ ← Σ_k (n_k / N_ℓ) w_k,   server:  w ← Σ_ℓ (N_ℓ / Σ N_ℓ) w_ℓ,
// where n_k are the samples of client k, and N_ℓ those of all clients of ℓ that contributed.
// Liu, Zhang, Song, Letaief, Client-Edge-Cloud Hierarchical Federated Learning, ICC 2020, algorithm 1.
//
// Versions of the run do not distinguish the rounds of a group; `progress` does, which increases from round to round.
#include <algorithm>
#include <cmath>

#include "sim/schemes/client_rounds.hpp"
#include "sim/training/momentum_at_sync.hpp"

namespace straggler::schemes::hierarchical {
namespace {

class Hierarchical final : public Scheme {
 public:
  explicit Hierarchical(const Parameters& parameters)
      : edge_rounds_(parameters.count("edge_rounds")), local_(parameters), momentum_(parameters) {}

 private:
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    if (!begins(node, weights)) weights = co_await node.receive<Weights>(node.aggregator());
    weights = momentum_.incoming(node, weights);
    for (;;) {
      weights = co_await local_.train_locally(node, weights);
      const Weights mine = momentum_.outgoing(node, weights);
      co_await node.send(node.aggregator(), mine);
      const Weights averaged = co_await node.receive<Weights>(node.aggregator());
      weights = momentum_.incoming(node, averaged);
    }
  }

  /// The workers of an aggregator.
  static Node::Pool pool_of(const Node& node, Rank aggregator) {
    const std::vector<Rank>& first = node.plan().aggregation.first_worker;
    return {first[index_of(aggregator)], first[index_of(aggregator) + 1] - first[index_of(aggregator)]};
  }
  bool begins(const Node& node, Weights& weights) const {
    const Node::Pool pool = pool_of(node, node.plan().aggregation.number_of(node.self()));
    if (!begins_by_itself(node, pool, local_.invited_of(pool.count))) return false;
    weights = with_participants(std::move(weights), participants(node));
    return true;
  }
  /// The clients of a round, in all groups together.
  std::int64_t participants(const Node& node) const {
    if (participants_ == 0)
      for (Rank k = 0; k < node.aggregators(); ++k) participants_ += local_.clients_of(pool_of(node, k).count);
    return participants_;
  }

  Process aggregator(Node& node) const override {
    const Node::Pool pool = pool_of(node, node.self() - node.aggregator(0));
    ClientRounds clients(local_, node, pool);
    Weights weights = with_participants(node.initial_weights(), participants(node));
    for (;;) {
      const Weights start = weights;
      RoundsOfGroup rounds;
      for (std::int64_t round = 0; round < edge_rounds_; ++round) {
        const std::vector<Weights> parts = co_await clients.round(weights);
        if (parts.empty() && !local_.deadline().exists()) break;  // no client of the group is in
        if (!parts.empty()) {
          weights = local_.mean(node, parts);
          rounds.add(weights);
        }
        weights = next_round(node, pool, weights);
      }
      const Weights mine = rounds.contribution(start, weights);
      co_await node.send(node.server(), mine);
      weights = co_await node.receive<Weights>(node.server());
    }
  }

  Process server(Node& node) const override {
    std::vector<Rank> aggregators;
    for (Rank k = 0; k < node.aggregators(); ++k) aggregators.push_back(node.aggregator(k));
    Weights weights = with_participants(node.initial_weights(), participants(node));
    for (;;) {
      std::vector<Weights> parts = co_await gather<Weights>(node, weights->version, aggregators);
      std::erase_if(parts, [](const Weights& part) { return part->made().empty(); });
      if (parts.empty()) {
        while (nobody_is_in(node)) {
          if (node.plan().clients_come_and_go) node.await_comers();
          co_await node.receive<MembershipNotice>();
        }
      } else {
        const Weights mean = mean_of_groups(node, parts);
        weights = co_await node.publish(mean);
      }
      for (const Rank aggregator : aggregators) node.post(aggregator, weights);
    }
  }

  /// Each part counts what its clients do, also where these are drawn by their samples: nobody drew the groups.
  Weights mean_of_groups(Node& node, const std::vector<Weights>& parts) const {
    std::vector<double> counts;
    for (const Weights& part : parts) counts.push_back(local_.count(node, part));
    return node.weighted_mean(parts, Average::shares(counts));
  }

  static bool nobody_is_in(const Node& node) {
    for (Rank worker = 0; worker < node.workers(); ++worker)
      if (node.is_member(worker)) return false;
    return true;
  }

  /// The weights from which the group's clients start the next round. For schedules the aggregator assumes that each participant of other
  /// groups has made as much progress as one of its own.
  Weights next_round(Node& node, Node::Pool pool, const Weights& mean) const {
    const auto all = static_cast<std::uint64_t>(participants(node));
    const auto own = static_cast<std::uint64_t>(local_.clients_of(pool.count));
    const std::uint64_t samples = mean->local_samples * all / own;
    Weights next = node.algebra().without_contributions(mean);
    next.edit().progress += std::max<std::uint64_t>(samples, 1);
    return next;
  }

  std::int64_t edge_rounds_;
  FederatedRounds local_;
  MomentumAtSync momentum_;
  mutable std::int64_t participants_ = 0;  // 0: not counted yet
};

std::vector<Parameter> parameters() {
  std::vector<Parameter> all = {
      count_or("edge_rounds", "5", "averages over the clients of an aggregator before the server averages the aggregators"),
      optional_count("aggregators",
                     "number of aggregators, at most one per worker; default: one per rack, or the square root of the number of workers")};
  const Parameter momentum = MomentumAtSync::parameter(MomentumAtSync::Mode::reset);
  for (Parameter& shared : FederatedRounds::parameters(Average::By::samples, {momentum})) {
    if (shared.name == "fraction") {
      shared.fallback.reset();
      shared.meaning = "share of the clients of each group that take part in a round; default: all";
    }
    if (shared.name == "clients") shared.meaning = "number of clients of each group in a round; overrides fraction";
    all.push_back(std::move(shared));
  }
  return all;
}

/// √p groups of √p clients: an aggregator gets as many messages as the server.
Rank aggregators(const Parameters& parameters, const TrainingPlan& plan) {
  if (parameters.has("aggregators")) return static_cast<Rank>(std::min<std::int64_t>(parameters.count("aggregators"), plan.workers));
  return plan.racks > 1 ? plan.racks : static_cast<Rank>(std::lround(std::sqrt(plan.workers)));
}

/// Rounds of the server in an epoch. `clients` is a number in each group.
std::optional<double> rounds_per_epoch(const Parameters& parameters, const TrainingPlan& plan) {
  const FederatedRounds rounds(parameters);
  std::optional<double> all = rounds.per_epoch(plan);
  if (!all) return all;
  if (parameters.has("clients")) {
    const double groups = aggregators(parameters, plan);
    const double of_all = std::min(groups * static_cast<double>(parameters.count("clients")), static_cast<double>(plan.workers));
    *all *= static_cast<double>(rounds.clients_of(plan.workers)) / of_all;
  }
  return *all / static_cast<double>(parameters.count("edge_rounds"));
}

const Register<SchemeEntry> entry({
    .name = "hierarchical",
    .summary = "federated averaging by aggregators of groups, several times, then by the server",
    .reference = "Liu et al. 2020",
    .other_names = {"hsgd", "hierfavg"},
    .family = Family::federated,
    .rule = "fedavg in each group edge_rounds times, then over the groups",
    .paragraph = "Each group has an aggregator that averages its clients E times over nearby links. Then the server averages the "
                 "aggregators. Fewer bytes cross the core of the network.",
    .waits = "aggregators for their clients, the server for the aggregators",
    .traffic =
        MomentumAtSync::traffic({.text = "2 (E p + a) d of a aggregators",
                                 .bytes =
                                     [](const Parameters& parameters, const TrainingPlan& plan) {
                                       for (const char* some : {"fraction", "clients", "over_select", "deadline.time", "deadline.adaptive"})
                                         if (parameters.has(some)) return std::optional<UpdateBytes>();
                                       const double rounds = static_cast<double>(parameters.count("edge_rounds"));
                                       return std::optional<UpdateBytes>({2 * (rounds * plan.workers + aggregators(parameters, plan)), 2});
                                     }}),
    .picture = {{"edge_rounds", "2"}, {"aggregators", "2"}, {"local_steps", "2"}},
    .parameters = parameters(),
    .examples = {{{"edge_rounds", "2"}, {"aggregators", "3"}},
                 {{"edge_rounds", "2"}, {"local_epochs", "2"}, {"momentum_at_sync", "average"}},
                 {{"local_steps", "3"}, {"aggregators", "1"}},
                 {{"edge_rounds", "2"}, {"aggregators", "2"}, {"fraction", "0.5"}}},
    .make = made<Hierarchical>,
    .average = FederatedRounds::average,
    .plain_sgd_alone = {{{"edge_rounds", "1"}, {"momentum_at_sync", "keep"}}},
    .updates_per_epoch = [](const Parameters& parameters, const TrainingPlan& plan) { return rounds_per_epoch(parameters, plan); },
    .selection = FederatedRounds::selection,
    .aggregators = aggregators,
    .worker_bytes = 2'200,
});

}  // namespace
}  // namespace straggler::schemes::hierarchical
