// The rounds of a server, or of an aggregator, with its clients.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/schemes/busy_clients.hpp"
#include "sim/schemes/federated.hpp"
#include "sim/training/gather.hpp"
#include "sim/training/momentum_at_sync.hpp"

namespace straggler {

/// A round ends when the wanted number of its clients has contributed, when no more of them can, or at the deadline. Clients that fail,
/// leave or go are lost to it; with `on_failure: wait` one that crashed is invited again when it is back. If all clients of a round are
/// lost, others are invited. Whoever is late trains on, its contribution is dropped, and it is not invited before that has arrived.
class ClientRounds {
 public:
  /// Who begins the first round by itself: the clients that Node::first_clients names, or nobody, so that they are invited.
  enum class First { by_themselves, invited };
  /// `rounds` and `node` outlive this.
  ClientRounds(const FederatedRounds& rounds, Node& node) : ClientRounds(rounds, node, {0, node.workers()}) {}
  /// Of an aggregator, with its group.
  ClientRounds(const FederatedRounds& rounds, Node& node, Node::Pool pool, First first = First::by_themselves);

  /// Invites clients to a round that begins from these weights; returns the contributions that count, in rank order. Without a deadline
  /// there is at least one (an aggregator gets none if no client of its group is there).
  Task<std::vector<Weights>> round(Weights weights) { return round(std::move(weights), {}); }
  /// The same with exactly these clients, ascending, as far as they are in and not busy. Empty: clients that are drawn.
  Task<std::vector<Weights>> round(Weights weights, std::vector<Rank> clients);
  /// Of clients that keep vectors: what those that have joined and not left count, before and now, and the vectors of those that have
  /// left since the last call, each with what its client counts as factor. Of a mean over those `before` the sum over those `now` is
  /// before · mean - Σ left; who joins has 0.
  struct Turnover {
    double before, now;  // at least 1
    std::vector<Term> left;
  };
  Turnover turnover() {
    const double now = node_.members_change() ? enrolled() : *enrolled_;
    return {std::exchange(*enrolled_, now), now, std::exchange(*left_, {})};
  }

 private:
  /// False: there is no client to invite.
  bool draw_and_invite(const Weights& weights);
  std::vector<Rank> draw();
  void note_invited(const std::vector<Rank>& ranks);
  bool may_invite(Rank rank) const;
  /// Where clients keep vectors, each learns which of its contributions counted last.
  void send_invitations(const Weights& weights, std::span<const Rank> ranks) const;
  void forget_lost(const Weights& weights);
  /// Nobody of the round can contribute: true if the round ends so, false if others may.
  bool nobody_comes(const Weights& weights, bool has_timer);
  /// Keeps a contribution that counts. True: it answers the invitation to this round, even without a step.
  bool take(From<Weights> arrived, const Weights& weights);
  void take_vector_of_leaver(const From<Weights>& arrived);
  void note_round(bool empty);
  double enrolled() const;
  std::uint64_t counted(Rank rank) const {
    const auto known = counted_->find(rank);
    return known == counted_->end() ? KeptVector::never : known->second;
  }

  const FederatedRounds& rounds_;
  Node& node_;
  Node::Pool pool_;
  bool begin_by_themselves_, whole_;  // whole: of all workers
  BusyClients busy_;
  RoundDeadline deadline_;
  std::vector<Rank> only_;            // the only clients of this round; empty: all may be drawn
  std::vector<From<Weights>> parts_;  // of this round
  std::size_t wanted_ = 0;            // contributions that end this round
  Durable<std::uint64_t> draws_;
  int empty_rounds_ = 0;  // consecutive rounds without an answer to their invitations
  // Of clients that keep vectors:
  Durable<std::map<Rank, std::uint64_t>> counted_;  // the version from which a client's last contribution that counted began
  Durable<std::vector<Term>> left_;                 // by clients since the last turnover
  Durable<double> enrolled_;
};

/// A client that trains in each round to which it is invited and answers with its weights.
Process answer_invitations(Node& node, const FederatedRounds& rounds, MomentumAtSync momentum);
/// A server whose new weights are the mean of a round's contributions.
Process average_rounds(Node& node, const FederatedRounds& rounds);

}  // namespace straggler
