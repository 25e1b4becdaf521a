// Collecting one contribution from each of several workers, while members may change.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/training/first_of.hpp"
#include "sim/training/node.hpp"

namespace straggler {

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

/// Without the senders.
template <class T>
std::vector<T> payloads(const std::vector<From<T>>& parts) {
  return std::vector<T>(parts.begin(), parts.end());
}

/// Those of one worker in the order of arrival.
template <class T>
void sort_by_rank(std::vector<From<T>>& parts) {
  const auto rank = [](const From<T>& part) { return part.sender.rank; };
  if (!std::ranges::is_sorted(parts, {}, rank)) std::ranges::stable_sort(parts, {}, rank);
}

/// One contribution from each of several workers. If a worker contributes again, in another life, the first one counts, and its `sender` is
/// that other life; the others are dropped (Node::discard).
template <class T>
class Gathering {
 public:
  /// `version`: contributions to others are late; none: all count. `from`: the workers to wait for; none: all. What others send counts
  /// too.
  explicit Gathering(Node& node, std::optional<std::uint64_t> version = std::nullopt, std::optional<std::vector<Rank>> from = std::nullopt)
      : node_(node), version_(version), from_(std::move(from)) {
    if (from_) std::ranges::sort(*from_);
  }

  /// Waits until `count` have contributed. If fewer workers are awaited (Node::awaits): until those have, and at least one. Returns how
  /// many there are now. late(contribution) is called at once with each late one, which the caller drops and answers; what it returns is
  /// awaited. Without it late ones are dropped.
  template <class Late>
  Task<std::int64_t> first(std::int64_t count, Late late) {
    return collect(count, nullptr, std::move(late));
  }
  Task<std::int64_t> first(std::int64_t count) { return collect(count, nullptr, dropping()); }
  /// Waits for `count` from any workers, several of one included, whoever fails meanwhile; late ones are dropped. answer(sender) is called
  /// at once for each that comes but the last; what it returns is awaited.
  template <class Answer>
  Task<std::int64_t> first_from_any(std::int64_t count, Answer answer) {
    for (;;) {
      const From<T> arrived = co_await node_.template receive<T>();
      if (version_ && version_of(arrived) != *version_)
        node_.template discard<T>(arrived);
      else
        parts_.push_back(arrived);
      if (std::ssize(parts_) == count) co_return count;
      co_await answer(arrived.sender);
    }
  }
  /// Continues until the timer, which is in flight, completes, or all awaited workers have contributed.
  template <class Late>
  Task<std::int64_t> until(Pending<TimerOperation>& timer, Late late) {
    return collect(all(), &timer, std::move(late));
  }
  Task<std::int64_t> until(Pending<TimerOperation>& timer) { return collect(all(), &timer, dropping()); }
  /// Whoever sends a contribution, in time or late, is told to this function.
  void watch(std::function<void(const Peer&)> arrived) { arrived_ = std::move(arrived); }
  /// The workers to wait for.
  std::int64_t all() const { return from_ ? static_cast<std::int64_t>(from_->size()) : node_.workers(); }
  /// Sender of the latest one.
  Peer last() const { return parts_.back().sender; }
  /// Takes them out, in rank order.
  std::vector<From<T>> parts() {
    sort_by_rank(parts_);
    return std::move(parts_);
  }

 private:
  auto dropping() {
    return [this](const From<T>& contribution) { node_.template discard<T>(contribution); };
  }
  template <class Late>
  Task<std::int64_t> collect(std::int64_t count, Pending<TimerOperation>* timer, Late late) {
    while (!enough(count)) {
      std::optional<From<T>> arrived;
      if (timer) {
        auto next = co_await first_of_in_flight(*timer, node_.template arrival<T>());
        if (next.index() == 0) break;
        arrived = std::get<1>(std::move(next));
      } else if (node_.members_change()) {
        auto next = co_await first_of(node_.template receive<T>(), node_.template receive<MembershipNotice>());
        if (next.index() == 0) arrived = std::get<0>(std::move(next));
      } else {
        arrived = co_await node_.template receive<T>();
      }
      if (!arrived) continue;
      if (arrived_) arrived_(arrived->sender);
      if (!version_ || version_of(*arrived) == *version_)
        take(std::move(*arrived));
      else if constexpr (std::is_void_v<decltype(late(*arrived))>)
        late(*arrived);
      else
        co_await late(*arrived);
    }
    co_return static_cast<std::int64_t>(parts_.size());
  }
  void take(From<T> arrived) {
    const auto sender = index_of(arrived.sender.rank);
    if (sender >= has_.size()) has_.resize(std::max(sender + 1, index_of(node_.workers())));
    if (has_[sender]) {
      node_.template discard<T>(arrived);
      std::ranges::find(parts_, arrived.sender.rank, [](const From<T>& part) { return part.sender.rank; })->sender = arrived.sender;
      return;
    }
    has_[sender] = true;
    if (!from_ || std::ranges::binary_search(*from_, arrived.sender.rank)) ++came_;
    parts_.push_back(std::move(arrived));
  }
  bool enough(std::int64_t count) const {
    if (came_ >= count) return true;
    if (!node_.members_change() || parts_.empty()) return false;
    for (std::int64_t i = 0; i < all(); ++i) {
      const Rank rank = from_ ? (*from_)[static_cast<std::size_t>(i)] : static_cast<Rank>(i);
      if ((index_of(rank) >= has_.size() || !has_[index_of(rank)]) && node_.awaits(rank)) return false;
    }
    return true;
  }

  Node& node_;
  std::optional<std::uint64_t> version_;
  std::optional<std::vector<Rank>> from_;  // ascending
  std::vector<From<T>> parts_;
  std::function<void(const Peer&)> arrived_;  // null: nobody asks
  std::vector<bool> has_;                     // [workers]: has contributed; longer where aggregators contribute
  std::int64_t came_ = 0;                     // of those to wait for
};

/// One contribution to this version from each of these workers that is awaited, at least one; in rank order.
template <class T>
Task<std::vector<T>> gather(Node& node, std::uint64_t version, std::optional<std::vector<Rank>> from = std::nullopt) {
  Gathering<T> gathering(node, version, std::move(from));
  co_await gathering.first(gathering.all());
  co_return payloads(gathering.parts());
}

/// The first `count` contributions to this version, from distinct workers, in rank order.
template <class T, class Late>
Task<std::vector<From<T>>> gather_first(Node& node, std::uint64_t version, std::int64_t count, Late late) {
  Gathering<T> gathering(node, version);
  co_await gathering.first(count, std::move(late));
  co_return gathering.parts();
}

/// The same of any versions.
template <class T>
Task<std::vector<From<T>>> gather_first(Node& node, std::int64_t count) {
  Gathering<T> gathering(node);
  co_await gathering.first(count);
  co_return gathering.parts();
}

/// What a group contributes to one version of the run in several rounds.
class RoundsOfGroup {
 public:
  /// A mean of one round.
  void add(const Weights& mean);
  /// `weights` as the group's contribution to the version of `start`: one of each worker, whose rounds are joined.
  Weights contribution(const Weights& start, Weights weights);

 private:
  std::uint64_t samples_ = 0;
  Contributions made_;
};

}  // namespace straggler
