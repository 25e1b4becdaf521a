// Asynchronous federated learning: a fixed number of clients trains at any time. When one has answered, another is invited.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/schemes/busy_clients.hpp"

namespace straggler {

/// The clients that train, as the server knows them. A client that fails loses its place, and its next life waits to be invited.
class ConcurrentClients {
 public:
  /// The first ones follow from the seed, without a message: Node::first_clients.
  ConcurrentClients(Node& node, std::int64_t count)
      : node_(node), count_(std::min<std::int64_t>(count, node.workers())), busy_(node), invitations_(node) {
    if (node.starts_again()) return;
    for (const Rank rank : *node.first_clients({0, node.workers()}, count_)) busy_.add(rank);
    await_comers();
  }
  /// Whether this worker trains without being asked, from these weights: it is one of the first.
  static bool begins(const Node& node, std::int64_t count, Weights& weights) {
    const std::int64_t clients = std::min<std::int64_t>(count, node.workers());
    if (!begins_by_itself(node, {0, node.workers()}, clients)) return false;
    weights = with_participants(std::move(weights), clients);
    return true;
  }
  /// The server's, at first.
  Weights initial_weights(Node& node) const { return with_participants(node.initial_weights(), count_); }
  void answered(Rank client) { busy_.remove(client); }
  /// Of a server that starts again from a checkpoint: the next of its first clients. None: these were all, or it is the server's first
  /// start.
  std::optional<Peer> at_restart() { return node_.starts_again() ? next() : std::nullopt; }
  /// The next client to invite, after one has answered or members have changed; none: that was all. Waiting clients fill all free places;
  /// one that is no longer there when its turn comes loses its place to another.
  std::optional<Peer> next() {
    for (;;) {
      if (drawn_.empty() && std::exchange(places_free_, false)) fill();
      if (drawn_.empty()) break;
      const Peer drawn = drawn_.front();
      drawn_.pop_front();
      if (node_.is_member(drawn) && node_.present(drawn).life == drawn.life) return drawn;
      busy_.remove(drawn);
      places_free_ = true;
    }
    places_free_ = true;
    return std::nullopt;
  }

 private:
  void fill() {
    for (const Rank rank : busy_.lost()) busy_.remove(rank);
    while (busy_.count() < count_) {
      const std::optional<Rank> next = idle();
      if (!next) break;
      busy_.add(*next);
      drawn_.push_back(node_.present(*next));
    }
    await_comers();
  }
  /// While there is a place for a client that is absent now.
  void await_comers() const {
    if (node_.plan().clients_come_and_go && busy_.count() < count_) node_.await_comers();
  }
  /// A client that is not training, drawn uniformly. With one client at a time it is the one that federated averaging invites to that
  /// round.
  std::optional<Rank> idle() {
    constexpr std::uint64_t most_tries = 64;
    ++*invitations_;
    const auto draw = [&](std::uint64_t tries) { return node_.sample_workers(1, *invitations_ + (tries << 32))->front(); };
    for (std::uint64_t tries = 0; tries < most_tries; ++tries)
      if (const Rank drawn = draw(tries); busy_.may_train(drawn)) return drawn;
    std::vector<Rank> all;  // few are left
    for (Rank rank = 0; rank < node_.workers(); ++rank)
      if (busy_.may_train(rank)) all.push_back(rank);
    if (all.empty()) return std::nullopt;
    return all[index_of(draw(most_tries)) % all.size()];
  }

  const Node& node_;
  std::int64_t count_;
  BusyClients busy_;
  Durable<std::uint64_t> invitations_;  // after the first ones
  std::deque<Peer> drawn_;              // in turn
  bool places_free_ = true;             // there may be, which no drawn client fills
};

}  // namespace straggler
