// Runs collectives message by message, each rank for itself: it begins when it comes and is done when it has what it needs.
#pragma once
#include <limits>
#include <memory>
#include <span>

#include "sim/cluster/transport.hpp"
#include "sim/collectives/schedule.hpp"
#include "sim/collectives/stepwise.hpp"
#include "sim/engine/simulation.hpp"
#include "sim/network/network.hpp"

namespace straggler {

/// Told of collectives by their number, from the event queue or the network.
class CollectiveWatch {
 public:
  /// Handed to the network; its bytes may wait for those that the sender sent there before.
  virtual void posted(std::uint64_t collective, CollectiveRank from, CollectiveRank to, std::uint64_t bytes) = 0;
  virtual void arrived(CollectiveRank from, CollectiveRank to, std::uint64_t bytes) = 0;
  /// The rank has done its last round; its last messages may still be leaving. A collective of which all ranks are done is forgotten.
  virtual void done(std::uint64_t collective, CollectiveRank rank) = 0;

 protected:
  ~CollectiveWatch() = default;
};

/// A rank starts all sends of a round and goes on when it has received its share of the round (and has spent the arithmetic): sends are
/// buffered. A message above `eager_most` bytes is a rendezvous instead: it leaves when its receiver has come to its round, and its sender
/// goes on when it has left. What a rank has for one receiver leaves in the order of sending, one message after another, as on one
/// connection; so does what it sends in the next collective while this one is under way.
///
/// Any number of collectives may be under way. Destroying it takes their messages out of the network.
class SkewedRun {
 public:
  static constexpr std::uint64_t any_size = std::numeric_limits<std::uint64_t>::max();
  /// Referred-to objects outlive it.
  SkewedRun(Simulation& simulation, Network& network, Transport& transport, const CollectiveCosts& costs, std::uint64_t eager_most,
            CollectiveWatch& watch);
  ~SkewedRun();
  SkewedRun(const SkewedRun&) = delete;
  SkewedRun& operator=(const SkewedRun&) = delete;

  /// A collective that no rank has begun; they are numbered from 0. `schedule` and `ranks` (of the fabric, by rank in the schedule) outlive
  /// it.
  std::uint64_t open(const CollectiveSchedule& schedule, std::span<const std::uint32_t> ranks);
  /// The rank begins its part, once. It is never told to be done before this returns.
  void begin(std::uint64_t collective, CollectiveRank rank);
  std::uint64_t messages() const;  // posted since construction

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace straggler
