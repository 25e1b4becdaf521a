// The versions at which workers are out, where workers publish weights of their own and step in lockstep.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "sim/base/rank.hpp"

namespace straggler {

/// Workers may be at unlike versions when another one goes or comes. If a gap begins and ends at versions that nobody has begun, all who
/// begin a version agree for ever on who is in at it.
class Gaps {
 public:
  /// Nothing if it is out already.
  void begin(Rank worker, std::uint64_t version) {
    std::vector<Gap>& gaps = gaps_[worker];
    if (gaps.empty() || gaps.back().to != never) gaps.push_back({version, never});
  }
  /// It is in again from that version on. Nothing if it was never out.
  void end(Rank worker, std::uint64_t version) {
    const auto known = gaps_.find(worker);
    if (known != gaps_.end() && known->second.back().to == never) known->second.back().to = version;
  }
  bool hold(Rank worker, std::uint64_t version) const {
    const auto known = gaps_.find(worker);
    if (known == gaps_.end()) return false;
    return std::ranges::any_of(known->second, [version](const Gap& gap) { return gap.from <= version && version < gap.to; });
  }

 private:
  static constexpr std::uint64_t never = ~std::uint64_t{0};
  struct Gap {
    std::uint64_t from, to;
  };
  std::map<Rank, std::vector<Gap>> gaps_;  // in order; of those that were ever out
};

}  // namespace straggler
