// Who sends to whom in push-sum, on the directed exponential graph with one peer (Assran et al. 2019, Appendix A), while workers come and
// go.
//
// In step k worker i sends to worker i + 2^(k mod ⌈log2 p⌉), modulo p. If that one is absent, it sends to the first member after it, so one
// worker may get two messages and another none. All agree who is a member in a step (Node::is_in), so each knows who sends to it, and waits
// for them: nobody runs ahead of the one before it.
#pragma once
#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include "sim/training/first_of.hpp"
#include "sim/training/node.hpp"

namespace straggler::schemes {

class PushPeers {
 public:
  /// The node outlives this.
  explicit PushPeers(Node& node) : node_(node) {}

  /// The receiver of this worker's message in that step: the first member at that distance or beyond it. None: the worker is alone.
  std::optional<Rank> receiver(std::uint64_t version) const {
    const Rank distance = distance_at(version, node_.workers());
    for (Rank k = 0; k < node_.workers(); ++k) {
      const Rank rank = (node_.self() + distance + k) % node_.workers();
      if (rank != node_.self() && node_.is_in(rank, version)) return rank;
    }
    return std::nullopt;
  }

  /// The shares that arrive in that step: those of its senders, for which it waits while they may still come, and, if members change, all
  /// others that have arrived by then.
  Task<std::vector<Weights>> receive(std::uint64_t version) {
    std::vector<Weights> found;
    if (!node_.members_change()) {
      const Rank workers = node_.workers(), source = (node_.self() + workers - distance_at(version, workers)) % workers;
      if (source == node_.self()) co_return found;
      const Weights share = co_await node_.receive<Weights>(source);
      found.push_back(share);
      co_return found;
    }
    std::vector<Rank> sources = senders(version);
    const auto take = [&](const From<Weights>& share) {
      if (share->version == version) std::erase(sources, share.sender.rank);
      found.push_back(share);
    };
    for (const From<Weights>& share : std::exchange(early_, {}))
      if (share->version <= version)
        take(share);
      else
        early_.push_back(share);
    for (;;) {
      std::optional<From<Weights>> share;
      if (std::ranges::any_of(sources, [&](Rank source) { return node_.awaits(source, version); })) {
        auto first = co_await first_of(node_.receive<Weights>(), node_.receive<MembershipNotice>());
        if (first.index() == 1) continue;
        share = std::get<0>(std::move(first));
      } else {
        auto first = co_await first_of(node_.proceed(), node_.receive<Weights>());
        if (first.index() == 0) break;
        share = std::get<1>(std::move(first));
      }
      if ((*share)->version > version)
        early_.push_back(*share);
      else
        take(*share);
    }
    co_return found;
  }

 private:
  /// How far away the peers of a step are; 0: there is no other worker.
  static Rank distance_at(std::uint64_t version, Rank workers) {
    const auto distances = static_cast<std::uint64_t>(std::bit_width(static_cast<std::uint64_t>(workers - 1)));
    return distances == 0 ? 0 : static_cast<Rank>(std::uint64_t{1} << (version % distances));
  }

  /// The senders to this worker in that step: those at that distance before it, or before absent workers in front of it.
  std::vector<Rank> senders(std::uint64_t version) const {
    const Rank workers = node_.workers(), distance = distance_at(version, workers);
    std::vector<Rank> sources;
    std::vector<Rank> between;  // members that a sender meets before this worker; it passes over itself
    for (Rank k = 0; k < workers && between.size() < 2; ++k) {
      const Rank source = (node_.self() + 2 * workers - distance - k) % workers, before = (node_.self() + workers - k) % workers;
      if (k > 0 && node_.is_in(before, version)) between.push_back(before);
      const bool reaches = between.empty() || (between.size() == 1 && between.front() == source);
      if (source != node_.self() && reaches && node_.is_in(source, version)) sources.push_back(source);
    }
    return sources;
  }

  Node& node_;
  std::vector<From<Weights>> early_;  // shares of senders that are ahead, kept until this worker gets there
};

}  // namespace straggler::schemes
