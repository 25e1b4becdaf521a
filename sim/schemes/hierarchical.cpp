// Hierarchical federated averaging: each aggregator averages its clients' weights κ2 = edge_rounds times, after local epochs of the clients
// each time; then the server averages the aggregators' weights. Both weigh by numbers of samples, or all clients alike (n_k = 1):
//   aggregator ℓ:  w_ℓ ← Σ_k (n_k / N_ℓ) w_k,   server:  w ← Σ_ℓ (N_ℓ / Σ N_ℓ) w_ℓ,
// where n_k are the samples of client k, and N_ℓ those of all clients of ℓ that contributed.
// Liu, Zhang, Song, Letaief, Client-Edge-Cloud Hierarchical Federated Learning, ICC 2020, algorithm 1.
//
// A client has one message at a time in flight to its aggregator, and each gets one answer: the weights of the next round. A contribution
// from the weights of an earlier round (by a client that came back meanwhile) is dropped, and answered with the weights of the present
// round. The run's versions do not distinguish rounds; `progress` does, which increases from round to round.
#include <algorithm>
#include <cmath>

#include "sim/schemes/federated.hpp"
#include "sim/schemes/momentum_at_sync.hpp"

namespace straggler::schemes::hierarchical {
namespace {

/// The clients' contributions in the rounds of one version of the run, joined to one each.
class Contributed {
 public:
  void add(const Weights& weights) {
    samples_ += weights->local_samples;
    for (const Contribution& made : weights->made()) {
      const auto known = std::ranges::find(made_, made.worker, &Contribution::worker);
      if (known == made_.end()) {
        made_.push_back(made);
        continue;
      }
      known->steps += made.steps;
      known->samples += made.samples;
      known->spent += made.spent;
    }
  }
  /// `weights` as contributed to the version of `start`.
  Weights to(const Weights& start, Weights weights) {
    std::ranges::sort(made_, {}, &Contribution::worker);
    WeightsState& state = weights.edit();
    state.progress = start->progress;
    state.local_samples = samples_;
    if (!made_.empty()) state.more.edit().made = std::move(made_);
    return weights;
  }

 private:
  std::uint64_t samples_ = 0;
  Contributions made_;
};

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
      FederatedRounds::LocalBatches batches(node, local_);
      while (const std::optional<DrawnBatch> batch = batches.next()) {
        const std::optional<Gradient> gradient = co_await batches.gradient(weights, *batch);
        if (!gradient) break;
        weights = co_await node.step(weights, *gradient);
      }
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
  /// It invites some of its group only, or it may lose some.
  bool keeps_account(const Node& node, Node::Pool pool) const {
    return local_.keeps_account(node) || local_.clients_of(pool.count) < pool.count;
  }
  bool begins(const Node& node, Weights& weights) const {
    const Node::Pool pool = pool_of(node, node.plan().aggregation.number_of(node.self()));
    if (keeps_account(node, pool) && !local_.begins(node, pool)) return false;
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
    return keeps_account(node, pool) ? inviting_aggregator(node, pool) : aggregator_of_all(node);
  }

  Process inviting_aggregator(Node& node, Node::Pool pool) const {
    const std::vector<Rank> group = node.group();
    FederatedRounds::Server clients(local_, node, pool, true);
    Weights weights = with_participants(node.initial_weights(), participants(node));
    bool invited = true;  // to the first round
    for (;;) {
      const Weights start = weights;
      Contributed contributed;
      for (std::int64_t round = 0; round < edge_rounds_; ++round) {
        if (!invited) clients.invite(weights);
        invited = false;
        const std::vector<Weights> parts = co_await clients.contributions(weights);
        if (!parts.empty()) {
          const Weights mean = local_.mean(node, parts);
          contributed.add(mean);
          weights = next_round(node, group, mean);
        } else if (local_.has_deadline()) {
          weights = next_round(node, group, weights);
        } else {
          break;  // no client of the group is in
        }
      }
      const Weights mine = contributed.to(start, weights);
      co_await node.send(node.server(), mine);
      weights = co_await node.receive<Weights>(node.server());
    }
  }

  Process aggregator_of_all(Node& node) const {
    const std::vector<Rank> group = node.group();
    Weights weights = with_participants(node.initial_weights(), participants(node));
    std::vector<Peer> waiting;
    for (;;) {
      const Weights start = weights;
      Contributed contributed;
      for (std::int64_t round = 0; round < edge_rounds_; ++round) {
        for (const Peer& client : std::exchange(waiting, {})) node.post(client, weights);
        const std::vector<From<Weights>> parts = co_await round_of(node, group, weights);
        if (parts.empty()) break;  // no client of the group is in
        for (const From<Weights>& part : parts) waiting.push_back(part.sender);
        const Weights mean = local_.mean(node, payloads(parts));
        contributed.add(mean);
        weights = next_round(node, group, mean);
      }
      const Weights mine = contributed.to(start, weights);
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
          if (node.plan().clients_come_and_go) node.backend().await_comers();
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

  /// A contribution to these weights from each client of the group that is in, or whose return is awaited; in rank order.
  Task<std::vector<From<Weights>>> round_of(Node& node, const std::vector<Rank>& group, const Weights& weights) const {
    std::vector<From<Weights>> parts;
    const auto part_of = [&](Rank client) {
      return std::ranges::find(parts, client, [](const From<Weights>& part) { return part.sender.rank; });
    };
    const auto complete = [&] {
      if (!node.members_change()) return parts.size() == group.size();
      return std::ranges::all_of(group, [&](Rank client) { return part_of(client) != parts.end() || !node.awaits(client); });
    };
    while (!complete()) {
      std::optional<From<Weights>> arrived = co_await arrival_or_change<Weights>(node);
      if (!arrived) continue;
      if ((*arrived)->version != weights->version || (*arrived)->progress != weights->progress) {
        node.discard<Weights>(*arrived);
        node.post(arrived->sender, weights);
      } else if (const auto known = part_of(arrived->sender.rank); known != parts.end()) {
        node.discard<Weights>(*arrived);  // of another life: the first counts, and this one gets the answer
        known->sender = arrived->sender;
      } else {
        parts.push_back(std::move(*arrived));
      }
    }
    std::ranges::sort(parts, {}, [](const From<Weights>& part) { return part.sender.rank; });
    co_return parts;
  }

  /// The weights from which the group's clients start the next round. For schedules the aggregator assumes that each participant of other
  /// groups has made as much progress as one of its own.
  Weights next_round(Node& node, const std::vector<Rank>& group, const Weights& mean) const {
    const auto all = static_cast<std::uint64_t>(participants(node));
    const auto own = static_cast<std::uint64_t>(local_.clients_of(static_cast<Rank>(group.size())));
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
      {.name = "edge_rounds",
       .type = ValueType::count,
       .fallback = "5",
       .meaning = "averages over the clients of an aggregator before the server averages the aggregators",
       .range = Range::at_least(1)},
      {.name = "aggregators",
       .type = ValueType::count,
       .meaning = "number of aggregators, at most one per worker; default: one per rack, or the square root of the number of workers",
       .range = Range::at_least(1)}};
  for (Parameter& shared : FederatedRounds::parameters(Average::By::samples)) {
    if (shared.name == "fraction") {
      shared.fallback.reset();
      shared.meaning = "share of the clients of each group that take part in a round; default: all";
    }
    if (shared.name == "clients") shared.meaning = "number of clients of each group in a round; overrides fraction";
    all.push_back(std::move(shared));
  }
  all.push_back(MomentumAtSync::parameter(MomentumAtSync::Mode::reset));
  all.push_back(on_failure({OnFailure::drop, OnFailure::wait, OnFailure::abort}, "close the round without it, wait for it, or end"));
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
                                       for (const char* some : {"fraction", "clients", "over_select", "deadline.time"})
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
    .invites = true,
    .aggregators = aggregators,
});

}  // namespace
}  // namespace straggler::schemes::hierarchical
