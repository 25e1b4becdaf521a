// Runs collectives message by message: the one runner of schedules.
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>

#include "sim/cluster/transport.hpp"
#include "sim/collectives/costs.hpp"
#include "sim/collectives/schedule.hpp"
#include "sim/engine/simulation.hpp"
#include "sim/network/network.hpp"

namespace straggler {

/// Notified of collectives by their number, from the event queue or the network.
class CollectiveWatch {
 public:
  /// False: posted() and arrived() need not be called.
  virtual bool watches_messages() const { return true; }
  /// Handed to the network; its bytes may wait for earlier ones from the same sender to the same receiver.
  virtual void posted(std::uint64_t /*collective*/, CollectiveRank /*from*/, CollectiveRank /*to*/, std::uint64_t /*bytes*/) {}
  virtual void arrived(CollectiveRank /*from*/, CollectiveRank /*to*/, std::uint64_t /*bytes*/) {}
  /// The rank has done its last round; its last messages may still be leaving. A collective whose ranks are all done is forgotten.
  virtual void done(std::uint64_t collective, CollectiveRank rank) = 0;

 protected:
  ~CollectiveWatch() = default;
};

/// A message's bytes flow first, its latency passes after (decision 5). A rank starts all sends of a round and goes on when it has
/// received its share of the round and has spent the arithmetic.
///  - A message of at most `eager_most` bytes is eager: it leaves at once, and its sender does not wait for it.
///  - Another is a rendezvous: it leaves when its receiver has reached its round, and its sender waits until it is over. Where ranks start
///    as they come, a rendezvous is over when its bytes have left, and a rank's messages to one receiver leave in the order of sending, one
///    after another, as on one connection; so do its messages of the next collective while this one is in progress. Where they start
///    together, rounds are in step: a rendezvous is over when it has arrived, since published formulas charge α for each
///    step (decision 25), and the messages of a round share their connection.
///
/// Any number of collectives may be in progress. Destroying it takes their messages out of the network.
class MessageRun {
 public:
  enum class Start : std::uint8_t { together, as_they_come };
  static constexpr std::uint64_t any_size = std::numeric_limits<std::uint64_t>::max();
  /// `eager_most`: none: every message is a rendezvous. Referred-to objects outlive it.
  MessageRun(Simulation& simulation, Network& network, Transport& transport, const CollectiveCosts& costs, Start start,
             std::optional<std::uint64_t> eager_most, CollectiveWatch& watch);
  ~MessageRun();
  MessageRun(const MessageRun&) = delete;
  MessageRun& operator=(const MessageRun&) = delete;

  /// A collective that no rank has begun; they are numbered from 0. `schedule` and `ranks` (of the fabric, by rank in the schedule; empty:
  /// the same) outlive it.
  std::uint64_t open(const CollectiveSchedule& schedule, std::span<const std::uint32_t> ranks);
  /// The rank begins its part, once. Its completion is never reported before this returns.
  void begin(std::uint64_t collective, CollectiveRank rank);
  /// All ranks begin, at this moment.
  void begin_all(std::uint64_t collective);
  /// Cancels the collectives in progress.
  void stop();
  bool running() const;
  std::uint64_t messages() const;  // posted since construction

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace straggler
