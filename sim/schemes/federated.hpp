// What federated schemes share: whom the server invites to a round, how long a client trains, and how the server collects.
#pragma once
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/training/gather.hpp"

namespace straggler {

class FederatedRounds {
 public:
  explicit FederatedRounds(const Parameters& parameters)
      : fraction_(parameters.has("fraction") ? parameters.number("fraction") : 1), local_epochs_(parameters.count("local_epochs")) {
    if (parameters.has("clients")) clients_ = parameters.count("clients");
    if (parameters.has("local_steps")) local_steps_ = parameters.count("local_steps");
  }
  /// The declarations that a scheme adds to its parameters.
  static std::vector<Parameter> parameters();
  /// Those of them that say how long a client trains, for schemes in which all clients take part.
  static std::vector<Parameter> local_parameters();
  /// Of a round in which so many vectors as long as the weights travel to each client and back, altogether.
  static UpdateTraffic traffic(int vectors) {
    return {.text = std::to_string(vectors) + " c d, of c clients",
            .bytes = [vectors](const Parameters& parameters, const TrainingPlan& plan) {
              const auto clients = static_cast<double>(FederatedRounds(parameters).clients_of(plan.workers));
              return std::optional<UpdateBytes>({vectors * clients, static_cast<double>(vectors)});
            }};
  }
  /// Rounds in an epoch: a client's local epoch is a pass over its own part, or over its share of the pool.
  double per_epoch(const TrainingPlan& plan) const;

  /// Clients of a round: `clients`, or max(1, C·K) of K workers.
  std::int64_t clients_of(Rank workers) const {
    if (clients_) return std::min<std::int64_t>(*clients_, workers);
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::round(fraction_ * static_cast<double>(workers))));
  }
  /// The clients of a round, ascending. They follow from the seed, so the first round needs no message.
  std::shared_ptr<const std::vector<Rank>> invited(const Node& node, std::uint64_t round) const {
    return node.sample_workers(clients_of(node.workers()), round);
  }
  /// Whether this worker is among the clients of its first round; `weights` learns how many they are. A function of its own, since a
  /// coroutine's frame would keep the list.
  bool takes_part(const Node& node, Weights& weights) const {
    const auto clients = invited(node, weights->version);
    weights.edit().participants = static_cast<std::int32_t>(clients->size());
    return std::binary_search(clients->begin(), clients->end(), node.self());
  }
  /// What the clients of this round send. If all of them have failed or left, everybody else is asked, until somebody answers.
  Task<std::vector<Weights>> contributions(Node& node, const Weights& weights) const;

  /// Of each part, its client's share of the samples that all of these clients have: n_k / Σ n_k.
  static std::vector<double> shares_of_samples(const Node& node, const std::vector<Weights>& parts);

  /// The batches of one client in one round.
  class LocalBatches {
   public:
    LocalBatches(Node& node, const FederatedRounds& rounds)
        : node_(node), epochs_(rounds.local_epochs_), steps_(rounds.local_steps_.value_or(0)) {}
    std::optional<DrawnBatch> next() {
      if (steps_ > 0) return done_ < steps_ ? (++done_, std::optional(node_.next_batch(node_.batch_size()))) : std::nullopt;
      const std::uint64_t pass = node_.plan().drawn_of(node_.self(), node_.part_samples(node_.self()));
      if (seen_ >= pass) {
        seen_ = 0;
        ++done_;
      }
      if (done_ == epochs_) return std::nullopt;
      const DrawnBatch batch = node_.next_batch(static_cast<std::int64_t>(std::min<std::uint64_t>(node_.batch_size(), pass - seen_)));
      seen_ += batch.size;
      return batch;
    }

   private:
    Node& node_;
    std::int64_t epochs_, steps_, done_ = 0;  // steps: 0 where passes count
    std::uint64_t seen_ = 0;                  // samples of this pass
  };

 private:
  double fraction_;
  std::int64_t local_epochs_;
  std::optional<std::int64_t> clients_, local_steps_;
};

}  // namespace straggler
