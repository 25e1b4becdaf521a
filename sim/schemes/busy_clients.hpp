// The clients that train, as a server knows them.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "sim/training/node.hpp"

namespace straggler {

/// The weights that training starts from, at a server and at a client that begins by itself: as many participants take steps between two
/// versions, for schedules. All other weights of a run derive from these.
inline Weights with_participants(Weights weights, std::int64_t participants) {
  if (weights->participants != participants) weights.edit().participants = static_cast<std::int32_t>(participants);
  return weights;
}

/// Clients that were invited and have not answered, each in the life in which it was invited.
class BusyClients {
 public:
  explicit BusyClients(const Node& node) : node_(node) {}
  void add(Rank rank) { lives_.insert_or_assign(rank, node_.present(rank).life); }
  void remove(Rank rank) { lives_.erase(rank); }
  bool contains(Rank rank) const { return lives_.contains(rank); }
  std::int64_t count() const { return static_cast<std::int64_t>(lives_.size()); }
  /// It may be invited.
  bool may_train(Rank rank) const { return node_.is_member(rank) && !contains(rank); }
  /// Clients that will not answer: they failed or left, or went away before their message had left. A client that goes after that is
  /// absent, but its answer is still in flight.
  std::vector<Rank> lost() const {
    std::vector<Rank> all;
    if (!node_.members_change()) return all;
    for (const auto& [rank, life] : lives_)
      if (node_.present(rank).life != life || (!node_.plan().clients_come_and_go && !node_.is_member(rank))) all.push_back(rank);
    return all;
  }

 private:
  const Node& node_;
  std::map<Rank, std::uint32_t> lives_;
};

}  // namespace straggler
