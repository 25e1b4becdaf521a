// Schemes for tests of groups: collectives over groups beside a server, and all-gathers of groups and of all workers. To be included by
// one file of an executable.
#pragma once
#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "sim/training/gather.hpp"

namespace straggler::test {

/// Workers self / size, as a list.
inline RankGroup group_of_size(const Node& node, Rank size) {
  const Rank first = node.self() / size * size;
  std::vector<Rank> ranks(static_cast<std::size_t>(std::min(size, node.workers() - first)));
  std::iota(ranks.begin(), ranks.end(), first);
  return std::make_shared<const std::vector<Rank>>(std::move(ranks));
}

/// Hierarchical averaging: groups average their workers' weights; each group's leader exchanges with the server, which takes the mean of
/// the groups; an all-gather brings its answer to the group.
class TwoLevels final : public Scheme {
 public:
  explicit TwoLevels(Rank size) : size_(size) {}

 private:
  Process worker(Node& node) const override {
    const RankGroup group = group_of_size(node, size_);
    Weights weights = node.initial_weights();
    for (;;) {
      const Gradient gradient = co_await node.gradient(weights, node.next_batch(node.batch_size()));
      const Weights stepped = co_await node.step(weights, gradient);
      weights = co_await node.all_reduce_mean(stepped, group);
      const Rank leader = node.members_change() ? weights->made().front().worker : group->front();
      if (leader == node.self()) {
        co_await node.send(node.server(), weights);
        weights = co_await node.receive<Weights>(node.server());
      }
      weights = node.algebra().without_contributions(weights);
      for (const Weights& each : co_await node.all_gather(weights, group))
        if (each->version > weights->version) weights = each;
    }
  }

  /// One contribution of each group that has a member; leaders of an older version are answered at once.
  Process server(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      std::vector<From<Weights>> parts;
      while (!complete(node, parts)) {
        std::optional<From<Weights>> arrived = co_await arrival_or_change<Weights>(node);
        if (!arrived) continue;
        if ((*arrived)->version == weights->version) {
          parts.push_back(*arrived);
        } else {
          node.discard<Weights>(*arrived);
          node.post(arrived->sender, weights);
        }
      }
      sort_by_rank(parts);
      weights = co_await node.publish(node.mean(payloads(parts)));
      for (const From<Weights>& part : parts) node.post(part.sender, weights);
    }
  }

  bool complete(const Node& node, const std::vector<From<Weights>>& parts) const {
    if (parts.empty()) return false;
    for (Rank first = 0; first < node.workers(); first += size_) {
      const Rank end = std::min(first + size_, node.workers());
      const bool there = std::ranges::any_of(parts, [&](const auto& part) { return part.sender.rank >= first && part.sender.rank < end; });
      bool any = false;
      for (Rank rank = first; rank < end; ++rank) any = any || node.is_member(rank);
      if (any && !there) return false;
    }
    return true;
  }

  Rank size_;
};

inline Parameter group_size(const std::string& fallback) {
  return {.name = "size", .type = ValueType::count, .fallback = fallback, .meaning = "workers of a group", .range = Range::at_least(1)};
}

inline const Register<SchemeEntry> two_levels({
    .name = "two_levels",
    .summary = "for this test",
    .reference = "none",
    .family = Family::local,
    .exchange = Exchange::server,
    .asynchronous = true,  // under faults a worker may contribute to an older version
    .parameters = {group_size("2"), on_failure({OnFailure::drop, OnFailure::abort}, "groups go on without it, or end")},
    .make = [](const Parameters& parameters) { return std::make_unique<TwoLevels>(static_cast<Rank>(parameters.count("size"))); },
    .reduces = true,
    .plain_sgd_alone = {{}},
});

/// Synchronous SGD by all-gather: everybody takes the mean of what all bring. `size` 0: over all workers; else over groups first, whose
/// means all workers then average.
class Gathered final : public Scheme {
 public:
  explicit Gathered(const Parameters& parameters)
      : size_(static_cast<Rank>(parameters.count("size"))), in_flight_(parameters.text("when") == "in_flight") {}

 private:
  Process worker(Node& node) const override {
    const RankGroup group = size_ > 0 ? group_of_size(node, size_) : nullptr;
    Weights weights = node.initial_weights();
    for (;;) {
      const Gradient gradient = co_await node.gradient(weights, node.next_batch(node.batch_size()));
      Weights mine = co_await node.step(weights, gradient);
      if (group) {
        const Weights of_group = node.mean(co_await node.all_gather(mine, group));
        mine = node.blend(mine, {of_group}, {1});  // a contribution is the worker's own
      }
      if (in_flight_) {
        auto flying = node.begin(node.all_gather(mine));
        weights = node.mean(co_await flying);
      } else {
        weights = node.mean(co_await node.all_gather(mine));
      }
      weights = co_await node.publish(weights);
    }
  }

  Rank size_;
  bool in_flight_;
};

inline const Register<SchemeEntry> gathered_entry({
    .name = "gathered",
    .summary = "for this test",
    .reference = "none",
    .family = Family::local,
    .exchange = Exchange::all_reduce,
    .parameters =
        {{.name = "size", .type = ValueType::count, .fallback = "0", .meaning = "workers of a group; 0: none", .range = Range::at_least(0)},
         {.name = "when", .type = ValueType::choice, .fallback = "awaited", .meaning = "", .choices = {"awaited", "in_flight"}},
         on_failure({OnFailure::wait, OnFailure::drop, OnFailure::abort}, "wait for it, go on without it, or end")},
    .examples = {{{"size", "2"}}},
    .make = made<Gathered>,
    .plain_sgd_alone = {{}},
});

}  // namespace straggler::test
