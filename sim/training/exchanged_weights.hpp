// The weights that a node knows others to hold, for compressed messages: compressed weights travel as the difference from weights that
// sender and receiver both hold (docs/decisions/043).
#pragma once
#include <boost/container/flat_map.hpp>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/training/payload.hpp"

namespace straggler {

/// One vector per group of workers; the group of all workers is one of them.
class GroupVectors {
 public:
  /// Empty at first.
  Handle& of(const RankGroup& group) {
    if (!group) return all_;
    for (auto& [known, value] : groups_)
      if (*known == *group) return value;
    return groups_.emplace_back(group, Handle()).second;
  }

 private:
  Handle all_;
  std::vector<std::pair<RankGroup, Handle>> groups_;
};

/// For one life of a node. An empty handle: there is none yet.
struct ExchangedWeights {
  template <class T>
  using ByRank = boost::container::flat_map<Rank, T>;

  ByRank<Handle> received;  // the weights that came last from a server, an aggregator or a neighbour
  GroupVectors of_groups;   // results of all-reduces; over all workers, or the version published since
  Handle residual;          // the parts that messages have left out of differences
  Handle factors;           // of the last difference to a server (FactorRules)
  GroupVectors of_factors;  // of the last difference to an all-reduce

  struct Held {
    std::uint32_t life = 0;
    Handle value;
  };
  ByRank<Held> held;  // of a node that answers: the weights that it has sent to that life

  Handle estimate;                  // its neighbours' estimate of its own weights
  ByRank<std::uint32_t> estimates;  // lives that were sent the whole estimate

  Handle& of_group(const RankGroup& group) { return of_groups.of(group); }
};

}  // namespace straggler
