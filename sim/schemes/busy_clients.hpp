// The clients that train, as a server knows them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/training/node.hpp"

namespace straggler {

/// The weights that training starts from, at a server and at a client that begins by itself: as many participants take steps between two
/// versions, for schedules. All other weights of a run derive from these.
inline Weights with_participants(Weights weights, std::int64_t participants) {
  if (weights->participants != participants) weights.edit().participants = static_cast<std::int32_t>(participants);
  return weights;
}

/// Whether this worker trains without an invitation: it is among the first `invited` clients of its pool, and in its first life. A function
/// of its own, since a coroutine's frame would keep the list.
inline bool begins_by_itself(const Node& node, Node::Pool pool, std::int64_t invited) {
  const std::uint32_t life = node.present(node.self()).life;
  if (life != 0 && life != Peer::any_life) return false;
  const auto first = node.first_clients(pool, invited);
  return std::binary_search(first->begin(), first->end(), node.self());
}

/// Clients that were invited and have not answered, each in the life in which it was invited. Those of the present round are awaited, the
/// others are late.
class BusyClients {
 public:
  explicit BusyClients(const Node& node) : node_(node) {}
  /// Clients that were invited before are late from now on.
  void begin_round() {
    ++round_;
    awaited_ = 0;
  }
  /// Its present life is invited to the present round.
  void add(Rank rank) {
    const auto [known, is_new] = clients_.try_emplace(rank);
    if (is_new || known->second.round != round_) ++awaited_;
    known->second = {round_, node_.present(rank).life};
  }
  /// True: it was awaited.
  bool remove(Rank rank) {
    const auto known = clients_.find(rank);
    if (known == clients_.end()) return false;
    const bool was_awaited = known->second.round == round_;
    if (was_awaited) --awaited_;
    clients_.erase(known);
    return was_awaited;
  }
  bool contains(Rank rank) const { return clients_.contains(rank); }
  bool awaits(Rank rank) const {
    const auto known = clients_.find(rank);
    return known != clients_.end() && known->second.round == round_;
  }
  std::int64_t awaited() const { return awaited_; }
  std::int64_t count() const { return static_cast<std::int64_t>(clients_.size()); }
  /// It may be invited.
  bool may_train(Rank rank) const { return node_.is_member(rank) && !contains(rank); }
  /// Clients that will not answer: they failed or left, or went away before their message had left. A client that goes after that is
  /// absent, but its answer is still in flight.
  std::vector<Rank> lost() const {
    std::vector<Rank> all;
    if (!node_.members_change()) return all;
    for (const auto& [rank, client] : clients_)
      if (node_.present(rank).life != client.life || (!node_.plan().clients_come_and_go && !node_.is_member(rank))) all.push_back(rank);
    std::sort(all.begin(), all.end());
    return all;
  }

 private:
  struct Client {
    std::uint64_t round = 0;
    std::uint32_t life = 0;
  };
  const Node& node_;
  std::unordered_map<Rank, Client> clients_;
  std::uint64_t round_ = 0;
  std::int64_t awaited_ = 0;  // clients of this round
};

}  // namespace straggler
