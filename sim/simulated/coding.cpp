#include "sim/simulated/coding.hpp"

#include <algorithm>

namespace straggler {

Coding::Coding(World& world, Books& books, Processors& processors)
    : world_(world),
      books_(books),
      processors_(processors),
      costs_(world.cluster.coding.costs()),
      periods_(costs_ ? index_of(world.workers) : 0) {
  for (std::size_t worker = 0; worker < periods_.size(); ++worker) {
    periods_[worker].coding = this;
    periods_[worker].worker = static_cast<Rank>(worker);
  }
}

double Coding::share_of(const Payload& payload) {
  if (!compressed_form(payload)) return 0;
  const auto* gradient = std::get_if<Gradient>(&payload);
  return 1.0 / (gradient ? (*gradient)->fragment() : std::get<Weights>(payload)->fragment()).count;
}

Time Coding::span(Rank rank, double share) const {
  if (!costs_ || share == 0) return Time();
  const SimulatedCluster& cluster = world_.cluster;
  const double shards = world_.is_server(rank) ? static_cast<double>(cluster.servers.count) : 1;
  const double per_byte = world_.is_worker(rank) ? cluster.coding.seconds_per_byte[index_of(rank)] : cluster.coding.server_seconds_per_byte;
  return Time::from_seconds(per_byte / shards * share * static_cast<double>(cluster.bytes.state));
}

void Coding::note(Rank rank, Time until) {
  if (!world_.is_worker(rank) || until <= world_.now()) return;
  Period& period = periods_[index_of(rank)];
  period.until = std::max(period.until, until);
  if (period.on) return;
  period.on = true;
  books_.times().set_coding(rank, world_.now(), true);
  world_.queue().at(period.until, period);
}

void Coding::ended(Period& period) {
  if (period.until > world_.now()) return world_.queue().at(period.until, period);
  period.on = false;
  books_.times().set_coding(period.worker, world_.now(), false);
}

Time Coding::run(Rank rank, Time span) {
  Time& free = processors_.free_of(rank);
  free = std::max(free, world_.now()) + span;
  if (span > Time()) note(rank, free);
  return free;
}

void Coding::forget(Rank worker) {
  if (!costs_) return;
  processors_.free_of(worker) = world_.now();
  Period& period = periods_[index_of(worker)];
  period.cancel();
  period.until = Time();
  period.on = false;
  books_.times().set_coding(worker, world_.now(), false);
}

}  // namespace straggler
