// The common part of federated schemes: who takes part in a round, the length of local training, and what contributions count.
#pragma once
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/schemes/busy_clients.hpp"
#include "sim/training/average.hpp"
#include "sim/training/deadline.hpp"
#include "sim/training/first_of.hpp"

namespace straggler {

class FederatedRounds {
 public:
  explicit FederatedRounds(const Parameters& parameters);
  /// The declarations of a scheme with rounds: the shared ones, the scheme's own, and `on_failure`. `average`: the default.
  static std::vector<Parameter> parameters(Average::By average, std::vector<Parameter> own);
  /// Of a scheme without rounds, in which no client can be late: parameters that make no sense there are declared, so that they are refused
  /// with a reason.
  static std::vector<Parameter> parameters_without_rounds(std::vector<Parameter> own);
  /// Throws std::invalid_argument if one of those is given.
  static void refuse_rounds(const Parameters& parameters);
  static ClientSelection selection(const Parameters& parameters);
  /// For SchemeEntry::average: clients that are drawn by samples count the same in a round, but are in more of them.
  static std::optional<Average::By> average(const Parameters& parameters) {
    return selection(parameters).by == ClientSelection::By::samples ? Average::By::samples : Average::declared(parameters);
  }
  /// Rounds in an epoch: a client's local epoch is a pass over its own part, or over its share of the pool. None: a deadline decides.
  std::optional<double> per_epoch(const TrainingPlan& plan) const;
  /// Of a round in which this many vectors as long as the weights travel to each client and back, in total. Unknown where some are late.
  static UpdateTraffic traffic(int vectors);

  /// Clients whose contributions count in a round: `clients`, or max(1, C·K) of K workers.
  std::int64_t clients_of(Rank workers) const {
    if (clients_) return std::min<std::int64_t>(*clients_, workers);
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::round(fraction_ * static_cast<double>(workers))));
  }
  /// Number of clients invited to a round: over_select times the number wanted.
  std::int64_t invited_of(Rank workers) const {
    return std::min<std::int64_t>(std::llround(static_cast<double>(clients_of(workers)) * over_select_), workers);
  }
  void set_clients(std::int64_t clients) { clients_ = clients; }
  /// The server's, at first.
  Weights initial_weights(Node& node) const { return with_participants(node.initial_weights(), clients_of(node.workers())); }
  /// Whether this worker is among the clients of the first round, and begins from these weights.
  bool takes_part(const Node& node, Weights& weights) const;
  /// A round may end without some of its clients: they are late, or absent.
  bool may_miss(const Node& node) const { return deadline_.exists() || over_select_ > 1 || node.plan().clients_come_and_go; }
  /// A contribution that was sent may be dropped.
  bool may_not_count(const Node& node) const { return may_miss(node) || node.members_change(); }
  /// The others wait for a client that crashed.
  bool waits() const { return waits_; }
  const DeadlineChoice& deadline() const { return deadline_; }
  /// At the deadline a client sends its present result, and the server waits for it.
  bool sends_partial() const { return partial_; }

  /// A client's vector after this round, kept before the contribution is sent that began from these weights: if that may not count, the
  /// next invitation says whether it did.
  void keep(Node& node, Handle next, const Weights& start) const {
    if (may_not_count(node))
      node.keep_if_counted(std::move(next), start->version);
    else
      node.kept() = std::move(next);
  }

  /// What a client counts among all: by samples n_k, those of its part of the data.
  double count(const Node& node, Rank client) const { return average_.count(static_cast<double>(node.part_samples(client))); }
  /// What all clients that contributed to a part count.
  template <class T>
  double count(const Node& node, const T& part) const {
    double all = 0;
    for (const Contribution& made : part->made()) all += count(node, made.worker);
    return all;
  }
  /// The same of each part of a round; equal where clients are drawn by their samples, which then count already.
  template <class T>
  std::vector<double> counts(const Node& node, const std::vector<T>& parts) const {
    std::vector<double> all;
    for (const T& part : parts) all.push_back(drawn_by_samples_ ? 1 : count(node, part));
    return all;
  }
  bool by_samples() const { return average_.by_samples(); }
  /// Of the parts of a round.
  Weights mean(const Node& node, const std::vector<Weights>& parts) const;

  /// What a client's local step goes along, at these weights.
  using Direction = std::function<Gradient(const Weights& weights, const Gradient& gradient)>;
  /// Trains on a client's own data as long as a round takes, or until the deadline, if clients then send what they have. Returns the
  /// weights after the last step. `direction`: null: the gradient.
  Task<Weights> train_locally(Node& node, Weights weights, const Direction* direction = nullptr) const;

 private:
  class LocalBatches;
  double fraction_ = 1;
  std::int64_t local_epochs_;
  std::optional<std::int64_t> clients_, local_steps_;
  DeadlineChoice deadline_;
  bool partial_ = false;
  double over_select_ = 1;
  bool waits_ = false;
  bool drawn_by_samples_ = false;
  Average average_;
};

/// A scheme of rounds: the entry with the facts that all of these schemes share. `vectors`: as for FederatedRounds::traffic.
SchemeEntry round_entry(SchemeEntry entry, int vectors = 2);
/// A scheme in which clients train at any time, as many as `clients` says.
SchemeEntry concurrent_entry(SchemeEntry entry, std::function<std::int64_t(const Parameters&, Rank)> clients);

}  // namespace straggler
