#include "sim/simulated/processors.hpp"

#include <algorithm>

namespace straggler {

Processors::Processors(const World& world, Books& books)
    : world_(world), books_(books), server_may_be_held_(world.cluster.serial_per_epoch > Time()), codes_(world.cluster.coding.costs()) {
  const SimulatedCluster& cluster = world.cluster;
  const bool workers_too = cluster.protocol.per_message > Time() || cluster.protocol.seconds_per_byte > 0 || codes_;
  free_.resize(workers_too ? index_of(world.workers + cluster.aggregators.count) + 1 : index_of(cluster.aggregators.count) + 1);
  if (cluster.protocol.cores > 0) shared_ = std::make_unique<CorePool>(cluster.protocol.cores);
}

void Processors::hold_servers(Time until) {
  for (std::size_t place = 0; place <= index_of(world_.cluster.aggregators.count); ++place) free_[place] = std::max(free_[place], until);
}

void Processors::release() {
  for (Time& free : free_) free = std::min(free, world_.now());
}

Time Processors::handled(Rank rank, std::uint64_t bytes, Time coding) {
  const double per_byte = seconds_per_byte(rank);
  Time span = handling(rank);
  if (per_byte > 0) span += Time::from_seconds(per_byte * static_cast<double>(bytes));
  Time& free = free_[place_of(rank)];
  const Time ready = std::max(free, world_.now());
  free = (shared_ && span > Time() ? shared_->run(ready, span) : ready + span) + coding;
  books_.served(rank, free - span - coding, free);
  return free;
}

}  // namespace straggler
