// Asynchronous federated learning: so many clients train at any time. When one has answered, another is invited in its place.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "sim/training/node.hpp"

namespace straggler {

/// Who trains, as the server knows it. A client that fails loses its place, and its next life waits to be invited.
class ConcurrentClients {
 public:
  /// The first ones follow from the seed, at no message: Node::sample_workers of round 0.
  ConcurrentClients(const Node& node, std::int64_t count) : node_(node), count_(std::min<std::int64_t>(count, node.workers())) {
    for (const Rank rank : *node.sample_workers(count_, 0)) busy_.emplace(rank, node.present(rank).life);
  }
  /// Whether this worker trains without being asked: it is one of the first, in its first life.
  static bool begins(const Node& node, std::int64_t count) {
    const std::uint32_t life = node.present(node.self()).life;
    const auto first = node.sample_workers(std::min<std::int64_t>(count, node.workers()), 0);
    return (life == 0 || life == Peer::any_life) && std::binary_search(first->begin(), first->end(), node.self());
  }
  /// Who is to be invited now that this client has answered, and members may have changed; everybody who waits, if that is fewer.
  std::vector<Rank> after(Rank answered) {
    busy_.erase(answered);
    return fill();
  }
  std::vector<Rank> after_change() { return fill(); }

 private:
  std::vector<Rank> fill() {
    if (node_.members_change())
      std::erase_if(busy_, [&](const auto& each) { return !node_.is_member(each.first) || node_.present(each.first).life != each.second; });
    std::vector<Rank> invited;
    while (static_cast<std::int64_t>(busy_.size()) < count_) {
      const std::optional<Rank> next = idle();
      if (!next) break;
      busy_.emplace(*next, node_.present(*next).life);
      invited.push_back(*next);
    }
    return invited;
  }
  /// One of those who do not train, all alike. With one client at a time it is whom federated averaging invites to that round.
  std::optional<Rank> idle() {
    constexpr std::uint64_t most_tries = 64;
    ++invitations_;
    const auto draw = [&](std::uint64_t tries) { return node_.sample_workers(1, invitations_ + (tries << 32))->front(); };
    for (std::uint64_t tries = 0; tries < most_tries; ++tries)
      if (const Rank drawn = draw(tries); may_train(drawn)) return drawn;
    std::vector<Rank> all;  // few are left
    for (Rank rank = 0; rank < node_.workers(); ++rank)
      if (may_train(rank)) all.push_back(rank);
    if (all.empty()) return std::nullopt;
    return all[index_of(draw(most_tries)) % all.size()];
  }
  bool may_train(Rank rank) const { return node_.is_member(rank) && !busy_.contains(rank); }

  const Node& node_;
  std::int64_t count_;
  std::map<Rank, std::uint32_t> busy_;  // and their lives
  std::uint64_t invitations_ = 0;       // after the first ones
};

}  // namespace straggler
