// Collecting one contribution from each of several workers, while members may change.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/training/first_of.hpp"
#include "sim/training/node.hpp"

namespace straggler {

/// One contribution from each member among `from`, in rank order, independent of the order of arrival. Only contributions to `version`
/// count: earlier ones, sent before the worker failed or joined, and repeated ones are dropped (Node::discard). Members may change
/// meanwhile. The result has at least one part, unless the caller accepts none.
enum class GatherUntil {
  one_at_least,  // members and workers whose return is awaited; if there are none, the first that comes
  nobody_left,   // the same, but an empty result is accepted
  first_lives,   // those that were members throughout; an empty result is accepted
};

inline std::uint64_t version_of(const Weights& weights) { return weights->version; }
inline std::uint64_t version_of(const Gradient& gradient) { return gradient->version(); }

/// The next contribution from any worker, or nothing if members changed first.
template <class T>
Task<std::optional<From<T>>> arrival_or_change(Node& node) {
  if (!node.members_change()) co_return co_await node.receive<T>();
  auto arrived = co_await first_of(node.receive<T>(), node.receive<MembershipNotice>());
  if (arrived.index() != 0) co_return std::nullopt;
  co_return std::get<0>(std::move(arrived));
}

template <class T>
class Gathering {
 public:
  Gathering(Node& node, std::uint64_t version, std::vector<Rank> from) : node_(node), version_(version), from_(std::move(from)) {
    std::sort(from_.begin(), from_.end());
    parts_.resize(from_.size());
    missing_ = from_.size();
  }
  void take(From<T> arrived) {
    if (version_of(arrived) != version_) return node_.template discard<T>(arrived);
    const auto i = place_of(arrived.sender);
    std::optional<T>& part = i < from_.size() ? parts_[i] : others_[arrived.sender];
    if (part) return node_.template discard<T>(arrived);
    part.emplace(std::move(static_cast<T&>(arrived)));
    any_came_ = true;
    if (i < from_.size() && !dead(i)) --missing_;
  }
  /// `until`: the workers to wait for.
  bool complete(GatherUntil until) {
    if (until == GatherUntil::first_lives) forget_the_dead();
    if (missing_ == 0) return true;
    if (!node_.members_change() || (!any_came_ && until == GatherUntil::one_at_least)) return false;
    for (std::size_t i = 0; i < from_.size(); ++i)
      if (!dead(i) && !parts_[i] && node_.awaits(from_[i])) return false;
    return true;
  }
  /// A worker that was down in between is not waited for: its new life was not asked. What it had sent before may still come.
  void forget_the_dead() {
    dead_.resize(from_.size());
    for (std::size_t i = 0; i < from_.size(); ++i) {
      if (dead_[i] || parts_[i] || node_.is_member(from_[i])) continue;
      dead_[i] = true;
      --missing_;
    }
  }
  std::vector<T> parts() {
    std::vector<T> all;
    auto other = others_.begin();
    const auto take_others = [&](Rank before) {
      for (; other != others_.end() && other->first < before; ++other) all.push_back(std::move(*other->second));
    };
    for (std::size_t i = 0; i < from_.size(); ++i) {
      if (!parts_[i]) continue;
      take_others(from_[i]);
      all.push_back(std::move(*parts_[i]));
    }
    take_others(node_.workers());
    return all;
  }

 private:
  Node& node_;
  std::uint64_t version_;
  std::vector<Rank> from_;  // ascending
  bool dead(std::size_t i) const { return i < dead_.size() && dead_[i]; }
  /// Its index in `from`; from.size() if it was not asked.
  std::size_t place_of(Rank sender) const {
    const auto guess = index_of(sender);
    if (guess < from_.size() && from_[guess] == sender) return guess;
    const auto found = std::lower_bound(from_.begin(), from_.end(), sender);
    return found != from_.end() && *found == sender ? static_cast<std::size_t>(found - from_.begin()) : from_.size();
  }
  std::vector<std::optional<T>> parts_;      // [from]
  std::vector<bool> dead_;                   // [from]: forgotten; empty: none
  std::map<Rank, std::optional<T>> others_;  // from workers that were not asked
  std::size_t missing_;                      // of `from`, without the dead
  bool any_came_ = false;
};

template <class T>
Task<std::vector<T>> gather(Node& node, std::uint64_t version, std::vector<Rank> from, GatherUntil until = GatherUntil::one_at_least) {
  Gathering<T> gathering(node, version, std::move(from));
  while (!gathering.complete(until)) {
    if (!node.members_change()) {
      From<T> arrived = co_await node.receive<T>();
      gathering.take(std::move(arrived));
      continue;
    }
    auto arrived = co_await first_of(node.receive<T>(), node.receive<MembershipNotice>());
    if (arrived.index() == 0) gathering.take(std::get<0>(std::move(arrived)));
  }
  co_return gathering.parts();
}

/// The first `count` contributions for which current(contribution) is true, from distinct workers, in rank order. If fewer workers are
/// awaited, as many as those, at least one. late(contribution) is called at once with each of the others; the caller drops and answers it.
/// What it returns is awaited. If a worker contributes again, in another life, the first one counts, and `sender` is that other life.
template <class T, class Current, class Late>
Task<std::vector<From<T>>> gather_first_if(Node& node, std::int64_t count, Current current, Late late) {
  std::vector<From<T>> parts;
  std::vector<bool> has(static_cast<std::size_t>(node.workers()));  // [workers]; longer where others contribute, too
  const auto enough = [&] {
    if (static_cast<std::int64_t>(parts.size()) >= count) return true;
    if (!node.members_change() || parts.empty()) return false;
    for (Rank rank = 0; rank < node.workers(); ++rank)
      if (!has[static_cast<std::size_t>(rank)] && node.awaits(rank)) return false;
    return true;
  };
  while (!enough()) {
    std::optional<From<T>> arrived = co_await arrival_or_change<T>(node);
    if (!arrived) continue;
    const auto sender = static_cast<std::size_t>(arrived->sender);
    if (sender >= has.size()) has.resize(sender + 1);
    if (!current(*arrived)) {
      if constexpr (std::is_void_v<decltype(late(*arrived))>)
        late(*arrived);
      else
        co_await late(*arrived);
    } else if (has[sender]) {
      node.template discard<T>(*arrived);
      std::find_if(parts.begin(), parts.end(), [&](const From<T>& part) { return part.sender.rank == arrived->sender.rank; })->sender =
          arrived->sender;
    } else {
      has[sender] = true;
      parts.push_back(std::move(*arrived));
    }
  }
  std::sort(parts.begin(), parts.end(), [](const From<T>& a, const From<T>& b) { return a.sender.rank < b.sender.rank; });
  co_return parts;
}

/// The first `count` contributions to `version`; the others are late.
template <class T, class Late>
Task<std::vector<From<T>>> gather_first(Node& node, std::uint64_t version, std::int64_t count, Late late) {
  const auto current = [version](const From<T>& contribution) { return version_of(contribution) == version; };
  co_return co_await gather_first_if<T>(node, count, current, late);
}

/// The first `count`, of any versions.
template <class T>
Task<std::vector<From<T>>> gather_first(Node& node, std::int64_t count) {
  const auto any = [](const From<T>&) { return true; };
  const auto none_is_late = [](const From<T>&) {};
  co_return co_await gather_first_if<T>(node, count, any, none_is_late);
}

/// Without the senders.
template <class T>
std::vector<T> payloads(const std::vector<From<T>>& parts) {
  return std::vector<T>(parts.begin(), parts.end());
}

/// From every worker.
template <class T>
Task<std::vector<T>> gather(Node& node, std::uint64_t version) {
  std::vector<Rank> everyone(static_cast<std::size_t>(node.workers()));
  std::iota(everyone.begin(), everyone.end(), 0);
  return gather<T>(node, version, std::move(everyone));
}

}  // namespace straggler
