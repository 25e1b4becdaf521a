// Processor time of messages. A rank handles one message at a time: the sender before it leaves, the receiver before it is read. Encoding
// and decoding occupy the processor likewise, if they take time.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/cluster/core_pool.hpp"
#include "sim/simulated/books.hpp"

namespace straggler {

class Processors {
 public:
  /// Both outlive this.
  Processors(const World& world, Books& books);

  /// A message takes the rank's processor, or waits for it.
  bool occupies(Rank rank) const {
    return handling(rank) > Time() || seconds_per_byte(rank) > 0 ||
           ((codes_ || (server_may_be_held_ && !world_.is_worker(rank))) && free_[place_of(rank)] > world_.now());
  }
  /// True: no message ever takes or waits for a processor.
  bool free() const {
    const SimulatedCluster& cluster = world_.cluster;
    return !codes_ && !server_may_be_held_ && cluster.protocol.per_message == Time() && cluster.protocol.seconds_per_byte == 0 &&
           (cluster.servers.free || cluster.servers.per_message == Time());
  }
  /// The moment when the rank's processor has also handled a message of this many bytes, and coded for that span.
  Time handled(Rank rank, std::uint64_t bytes, Time coding = Time());
  /// The time from which it can handle one more message.
  Time free_from(Rank rank) const { return std::max(free_[place_of(rank)], world_.now()); }
  /// The time until which it is busy; an update or a collective's coding sets it. Workers: only where messages or coding take time.
  Time& free_of(Rank rank) { return free_[place_of(rank)]; }
  /// Servers and aggregators neither receive nor send before `until`: the serial part of an epoch.
  void hold_servers(Time until);
  /// No rank has anything to handle any more.
  void release();
  /// Cores that handle the messages of all ranks; null: each rank has its own.
  CorePool* shared_cores() { return shared_.get(); }

 private:
  /// [server, aggregators, workers]
  std::size_t place_of(Rank rank) const {
    const std::size_t aggregators = index_of(world_.cluster.aggregators.count);
    if (world_.is_worker(rank)) return index_of(rank) + 1 + aggregators;
    return aggregators > 0 && !world_.is_server(rank) ? index_of(rank - world_.cluster.aggregators.first) + 1 : 0;
  }
  /// Per message, beside the time for its bytes: per_message of every rank, and that of a server or aggregator.
  Time handling(Rank rank) const {
    const SimulatedCluster& cluster = world_.cluster;
    if (world_.is_worker(rank)) return cluster.protocol.per_message;
    return cluster.servers.free ? Time() : cluster.protocol.per_message + cluster.servers.per_message;
  }
  double seconds_per_byte(Rank rank) const {
    return world_.cluster.servers.free && !world_.is_worker(rank) ? 0 : world_.cluster.protocol.seconds_per_byte;
  }

  const World& world_;
  Books& books_;
  bool server_may_be_held_;  // and aggregators: by the serial part of an epoch
  bool codes_;               // encoding and decoding take time somewhere
  std::vector<Time> free_;   // [server, aggregators, workers]: end of its present work; workers only if messages or coding take time
  std::unique_ptr<CorePool> shared_;
};

}  // namespace straggler
