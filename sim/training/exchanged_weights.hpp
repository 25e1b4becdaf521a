// What a node knows of the weights that others hold, where the run compresses messages: compressed weights travel as the difference from
// weights that sender and receiver both hold (docs/decisions/043).
#pragma once
#include <boost/container/flat_map.hpp>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/training/payload.hpp"

namespace straggler {

/// Of one life of a node. An empty handle: there is none yet.
struct ExchangedWeights {
  template <class T>
  using ByRank = boost::container::flat_map<Rank, T>;

  ByRank<Handle> received;                              // the weights that came last from a server, an aggregator or a neighbour
  Handle common;                                        // that an all-reduce over all workers gave, or the version that was published since
  std::vector<std::pair<RankGroup, Handle>> of_groups;  // likewise, of all-reduces in groups
  Handle residual;                                      // what messages have left out of differences

  struct Held {
    std::uint32_t life = 0;
    Handle value;
  };
  ByRank<Held> held;  // by whom it answers: the weights that it has sent to that life

  Handle estimate;                  // what its neighbours know of its own weights
  ByRank<std::uint32_t> estimates;  // lives that were sent the estimate whole

  Handle& of_group(const RankGroup& group) {
    if (!group) return common;
    for (auto& [known, value] : of_groups)
      if (*known == *group) return value;
    return of_groups.emplace_back(group, Handle()).second;
  }
};

}  // namespace straggler
