// All-gathers, and reduce-scatters, which are all-gathers backwards in time: where a block is passed on in the one, sums of the blocks of
// all ranks behind it come back in the other. So an algorithm is written once.
#pragma once
#include <boost/container/small_vector.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "sim/collectives/blocks.hpp"
#include "sim/collectives/collective.hpp"
#include "sim/collectives/schedule.hpp"

namespace straggler {

/// The messages of an all-gather: each rank has a block, and at the end all ranks have all blocks, each received once.
class Gathering {
 public:
  explicit Gathering(Blocks blocks) : blocks_(std::move(blocks)) {}
  virtual ~Gathering() = default;
  struct Message {
    CollectiveRank with;  // the other end
    std::uint64_t bytes;
  };
  struct Moves {
    boost::container::small_vector<Message, 2> to, from;
  };
  const Blocks& blocks() const { return blocks_; }
  std::size_t ranks() const { return blocks_.count(); }
  virtual std::size_t rounds() const = 0;
  /// Adds a rank's messages in a round. Each message is in `to` of its sender and in `from` of its receiver.
  virtual void add(CollectiveRank rank, std::size_t round, Moves& moves) const = 0;
  /// Covers all rounds, in order. The default: each by itself.
  virtual std::vector<Stretch> stretches() const;
  /// By the rank, over all rounds; the default adds up.
  virtual std::uint64_t sent(CollectiveRank rank) const;

 private:
  Blocks blocks_;
};

/// Registers an algorithm as an all-gather and as a reduce-scatter.
struct RegisterGathering {
  /// `backwards`: for a reduce-scatter, in which every message goes the other way.
  using Make = std::function<std::unique_ptr<Gathering>(Blocks blocks, const CollectiveShape& shape, bool backwards)>;
  /// `both`: what they have in common: name, reference, unfit, exact, and the seconds of the all-gather. A reduce-scatter needs (p-1)/p n γ
  /// besides, for every algorithm.
  RegisterGathering(const CollectiveEntry& both, const char* all_gather_summary, const char* reduce_scatter_summary, const Make& make);
};

}  // namespace straggler
