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

void Coding::note(Rank rank, Time span, Time end) {
  if (!world_.is_worker(rank) || span == Time()) return;
  Periods& periods = periods_[index_of(rank)];
  const Time begin = end - span;
  if (!periods.ahead.empty() && begin <= periods.ahead.back().end) {
    periods.ahead.back().end = end;
    return;
  }
  periods.ahead.push_back({begin, end});
  if (periods.ahead.size() == 1) await(periods);
}

void Coding::await(Periods& periods) {
  if (periods.ahead.front().begin > world_.now()) return world_.queue().at(periods.ahead.front().begin, periods);
  turned(periods);
}

void Coding::turned(Periods& periods) {
  if (periods.on && periods.ahead.front().end == world_.now()) {
    periods.ahead.erase(periods.ahead.begin());
    periods.on = false;
    books_.times().set_coding(periods.worker, world_.now(), false);
    if (!periods.ahead.empty()) await(periods);
    return;
  }
  if (!periods.on) books_.times().set_coding(periods.worker, world_.now(), true);
  periods.on = true;
  world_.queue().at(periods.ahead.front().end, periods);
}

Time Coding::run(Rank rank, Time span) {
  Time& free = processors_.free_of(rank);
  free = std::max(free, world_.now()) + span;
  note(rank, span, free);
  return free;
}

void Coding::forget(Rank worker) {
  if (!costs_) return;
  processors_.free_of(worker) = world_.now();
  Periods& periods = periods_[index_of(worker)];
  periods.cancel();
  periods.ahead.clear();
  periods.on = false;
  books_.times().set_coding(worker, world_.now(), false);
}

}  // namespace straggler
