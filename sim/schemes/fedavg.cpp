// Federated averaging (FedAvg): each round the server samples a fraction C of the clients; each of them trains for E epochs on
// its own data, with batch size B, and the server averages by the clients' numbers of samples n_k:
//   w ← Σ_k (n_k / n_S) w_k,   n_S = Σ_k n_k over the sampled clients.
// McMahan et al., Communication-Efficient Learning of Deep Networks from Decentralized Data, 2017.
#include <cmath>

#include "sim/schemes/momentum_at_sync.hpp"
#include "sim/training/gather.hpp"

namespace straggler {
namespace {

/// max(C·K, 1) of K clients.
std::int64_t clients_of_round(double fraction, Rank workers) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::round(fraction * static_cast<double>(workers))));
}

/// Rounds in an epoch: a client's local epoch is a pass over its own part, or over its share of the pool.
double rounds_per_epoch(const Parameters& parameters, const TrainingPlan& plan) {
  double samples = 0;  // of a local epoch of all clients
  for (Rank worker = 0; worker < plan.workers; ++worker) samples += static_cast<double>(plan.drawn_of(worker, plan.part_samples(worker)));
  const double round = static_cast<double>(clients_of_round(parameters.number("fraction"), plan.workers)) / plan.workers * samples;
  return static_cast<double>(plan.epoch_samples) / (round * static_cast<double>(parameters.count("local_epochs")));
}

class FedAvg final : public Scheme {
 public:
  explicit FedAvg(const Parameters& parameters)
      : fraction_(parameters.number("fraction")), local_epochs_(parameters.count("local_epochs")), momentum_(parameters) {}

 private:
  /// Who they are follows from the seed, so the first round needs no message.
  std::shared_ptr<const std::vector<Rank>> sampled(const Node& node, std::uint64_t round) const {
    return node.sample_workers(clients_of_round(fraction_, node.workers()), round);
  }

  /// Whether this worker is among the clients of its first round; `weights` learns how many they are. A function of its own, since a
  /// coroutine's frame would keep the list.
  bool takes_part(const Node& node, Weights& weights) const {
    const auto clients = sampled(node, weights->version);
    weights.edit().participants = static_cast<std::int32_t>(clients->size());
    return std::binary_search(clients->begin(), clients->end(), node.self());
  }

  Process worker(Node& node) const override {
    const auto batch_size = static_cast<std::uint64_t>(node.batch_size());
    const std::uint64_t samples = node.plan().drawn_of(node.self(), node.part_samples(node.self()));
    Weights weights = node.initial_weights();
    if (!takes_part(node, weights)) {
      const Weights invited = co_await node.receive<Weights>(node.server());
      weights = momentum_.incoming(node, invited);
    }
    for (;;) {
      for (std::int64_t epoch = 0; epoch < local_epochs_; ++epoch) {
        for (std::uint64_t seen = 0; seen < samples;) {
          const DrawnBatch batch = node.next_batch(static_cast<std::int64_t>(std::min(batch_size, samples - seen)));
          const Gradient gradient = co_await node.gradient(weights, batch);
          weights = co_await node.step(weights, gradient);
          seen += batch.size;
        }
      }
      const Weights mine = momentum_.outgoing(node, weights);
      co_await node.send(node.server(), mine);
      const Weights average = co_await node.receive<Weights>(node.server());
      weights = momentum_.incoming(node, average);
    }
  }

  Process server(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      const auto clients = sampled(node, weights->version);
      std::vector<Weights> parts = co_await gather<Weights>(node, weights->version, *clients, GatherUntil::nobody_left);
      if (parts.empty()) parts = co_await from_others(node, weights);
      std::vector<double> shares;
      double total = 0;
      for (const Weights& part : parts) {
        shares.push_back(static_cast<double>(node.part_samples(part->made().front().worker)));
        total += shares.back();
      }
      for (double& share : shares) share /= total;
      weights = node.weighted_mean(parts, shares);
      weights = co_await node.publish(weights);
      const auto invited = sampled(node, weights->version);
      node.broadcast(weights, *invited);
    }
  }

  /// All sampled clients have failed or left for good: everybody else is asked, until somebody answers.
  Task<std::vector<Weights>> from_others(Node& node, const Weights& weights) const {
    const std::vector<Rank> first = *sampled(node, weights->version);  // if one of them comes back, it takes part by itself
    for (;;) {
      std::vector<Rank> others;
      for (Rank rank = 0; rank < node.workers(); ++rank)
        if (node.is_member(rank) && !std::binary_search(first.begin(), first.end(), rank)) others.push_back(rank);
      node.broadcast(weights, others);
      std::vector<Rank> asked = first;
      asked.insert(asked.end(), others.begin(), others.end());
      std::vector<Weights> parts = co_await gather<Weights>(node, weights->version, asked, GatherUntil::first_lives);
      if (!parts.empty()) co_return parts;
      co_await node.receive<MembershipNotice>();  // nobody is in
    }
  }

  double fraction_;
  std::int64_t local_epochs_;
  MomentumAtSync momentum_;
};

const Register<SchemeEntry> entry({
    .name = "fedavg",
    .summary = "federated averaging: sampled clients train for local epochs, the server averages their weights",
    .reference = "McMahan et al. 2017",
    .parameters = {{.name = "fraction",
                    .type = ValueType::fraction,
                    .fallback = "1",
                    .meaning = "C, the share of the clients that take part in a round",
                    .range = Range::above_to(0, 1)},
                   {.name = "local_epochs",
                    .type = ValueType::count,
                    .fallback = "1",
                    .meaning = "E, passes over its own data that a client makes in a round",
                    .range = Range::at_least(1)},
                   via_choice.only({Exchange::server}).parameter(Exchange::server, "how weights are averaged"),
                   MomentumAtSync::parameter(MomentumAtSync::Mode::reset),
                   on_failure({OnFailure::drop, OnFailure::wait, OnFailure::abort}, "close the round without it, wait for it, or end")},
    .examples = {{{"fraction", "0.5"}}, {{"fraction", "0.5"}, {"local_epochs", "2"}, {"momentum_at_sync", "average"}}},
    .make = [](const Parameters& parameters) { return std::make_unique<FedAvg>(parameters); },
    .exchange = [](const Parameters&) { return Exchange::server; },
    .plain_sgd_alone = {{{"momentum_at_sync", "keep"}}},
    .updates_per_epoch = rounds_per_epoch,
    .workers_hold = WorkersHold::own_weights,
});

}  // namespace
}  // namespace straggler
