// A collective as the actions of each rank, round by round. All uses of an algorithm follow from it: running it message by message
// (message_run.hpp), turning it into one flow (fluid.hpp), and counting its bytes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/engine/time.hpp"

namespace straggler {

/// A member of a schedule, by its place in it. Not a Rank (sim/base/rank.hpp): a schedule for some of the ranks numbers these from 0, and
/// its runner maps them to Ranks.
using CollectiveRank = std::uint32_t;

/// A rank's actions in one round: it starts all its sends, waits until they have arrived and until it has received its share of this round,
/// spends the arithmetic, and continues with the next round. A round without sends and receives is skipped in no time. A message that is
/// not eager (message_run.hpp) leaves when its receiver has come to the round as well, like a rendezvous between two MPI ranks.
struct RoundPart {
  struct Send {
    CollectiveRank to;
    std::uint64_t bytes;
  };
  std::vector<Send> sends;
  std::uint32_t receives = 0;        // messages sent to it in this round, by any rank
  std::uint64_t received_bytes = 0;  // in these
  std::uint64_t reduced_bytes = 0;   // of arithmetic after them
  void clear() {
    sends.clear();
    receives = 0;
    received_bytes = reduced_bytes = 0;
  }
};

/// Rounds that are equal to within the rounding of a chunk: the fluid form looks at the first of them.
struct Stretch {
  std::size_t first = 0, rounds = 0;
};

/// One collective of some bytes. Immutable. Ranks 0 .. workers-1 hold the data; ranks from workers on are servers.
/// Invariants: in every round, each message that a rank sends is counted by its receiver; at the end every worker has the result.
class CollectiveSchedule {
 public:
  virtual ~CollectiveSchedule() = default;
  virtual std::size_t ranks() const = 0;
  virtual std::size_t rounds() const = 0;
  /// Overwrites `out`, keeping its memory.
  virtual void part(CollectiveRank rank, std::size_t round, RoundPart& out) const = 0;
  /// Covers all rounds, in order.
  virtual std::vector<Stretch> stretches() const = 0;
  /// Rounds of which a rank need not have received its share before it goes on; all are received at the end. Above 0 each rank
  /// receives one message in each round.
  virtual std::size_t ahead() const { return 0; }
  /// A library's own time, equal on all ranks: once, before a rank's first round; and in a round, after the messages of each rank that has
  /// any in it. Rounds of one stretch cost the same.
  virtual Time start_cost() const { return Time(); }
  virtual Time round_cost(std::size_t /*round*/) const { return Time(); }
  /// The share of its links' latency that a message of the round takes: below 1 where the rest passes while other pieces of the library
  /// flow, above 1 where the message stands for several that wait for each other. Rounds of one stretch have the same.
  virtual double latency_share(std::size_t /*round*/) const { return 1; }
  /// Bytes on the wire for each byte of payload: a library's flags, and the share of a link that it leaves unused.
  virtual double wire_factor(CollectiveRank /*from*/, CollectiveRank /*to*/) const { return 1; }
  /// Payload over all rounds; the default adds up part(). Long schedules know better.
  virtual std::uint64_t bytes_sent(CollectiveRank rank) const;
  virtual std::uint64_t bytes_received(CollectiveRank rank) const;
};

}  // namespace straggler
