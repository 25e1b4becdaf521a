#include "sim/simulated/failures.hpp"

#include <algorithm>
#include <functional>

#include "sim/base/quantity.hpp"
#include "sim/base/random.hpp"
#include "sim/base/readable.hpp"

namespace straggler {

void Failures::begin() {
  const std::vector<FaultProcess>& all = run_.world.cluster.faults.processes;
  const FaultUnits& units = *run_.world.cluster.faults.units;
  for (std::uint32_t process = 0; process < all.size(); ++process) {
    const auto add = [&](std::uint32_t unit) {
      const End before{Time(), process, unit, ~0u};
      if (const Time at = next(before); at < Time::limit()) heap_.push_back({at, process, unit, 0});
    };
    if (all[process].recorded.empty())
      for (std::uint32_t unit = 0; unit < units.count(all[process].of); ++unit) add(unit);
    for (const auto& [unit, ends] : all[process].recorded) add(unit);
  }
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  await_first();
}

Time Failures::next(const End& end) const {
  const FaultProcess& process = process_of(end);
  const std::uint32_t stage = end.stage + 1;
  if (!process.recorded.empty()) {
    const auto known = std::ranges::lower_bound(process.recorded, end.unit, {}, [](const auto& unit) { return unit.first; });
    return stage < known->second.size() ? known->second[stage] : Time::never();
  }
  const std::string unit = run_.world.cluster.faults.units->name({process.of, end.unit});
  RandomStream stream(RandomStream::stream_key(run_.world.cluster.seed, unit + "/" + process.stream), stage);
  const double seconds = process.cycle[stage % process.cycle.size()].lasts->quantile(stream.uniform());
  return seconds < (Time::limit() - end.at).seconds() ? end.at + Time::from_seconds(seconds) : Time::never();
}

void Failures::await_first() {
  // What it awaits changes nothing for a run that has stalled, unless a unit will be repaired.
  const bool bystander = !heap_.empty() && out_ == 0;
  if (bystander != bystander_) run_.world.bystanders.timers += bystander ? 1 : -1;
  bystander_ = bystander;
  if (!heap_.empty()) run_.world.queue().at(heap_.front().at, *this);
}

void Failures::happen() {
  if (bystander_ && run_.world.only_bystanders()) {
    heap_.clear();
    return await_first();
  }
  while (!heap_.empty() && heap_.front().at == run_.world.now()) end_first();
  await_first();
}

void Failures::end_first() {
  if (++ends_ > most_ends)
    throw TooManyFailures("units failed and were repaired more than " + readable_count(most_ends) + " times by " +
                          format_quantity(run_.world.now().seconds(), Dimension::time) +
                          " of simulated time; write longer times in cluster.faults, or an earlier stop");
  std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
  const End end = heap_.back();
  heap_.pop_back();
  const Time at = next(end);
  if (at < Time::limit()) {
    heap_.push_back({at, end.process, end.unit, end.stage + 1});
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  act(end, at);
}

Failure Failures::failure_of(const End& end) const {
  const FaultUnits& units = *run_.world.cluster.faults.units;
  const FaultUnit unit{process_of(end).of, end.unit};
  return {unit, units.workers(unit), {}, end.at, {}};
}

void Failures::act(const End& end, Time next) {
  const FaultProcess& process = process_of(end);
  const bool ends = next < Time::limit();
  const FaultAct then = process.cycle[end.stage % process.cycle.size()].then;
  Failure failure = failure_of(end);
  const bool cuts = then == FaultAct::fail ? process.of == UnitKind::link : then == FaultAct::impair && process.bandwidth_factor == 0;
  if (cuts && !ends && cut_++ == 0)
    first_cut_ = run_.world.cluster.faults.units->name(failure.unit) + " has carried nothing since " +
                 format_quantity(run_.world.now().seconds(), Dimension::time);
  switch (then) {
    case FaultAct::notice:
      failure.at = next;
      return membership_.announce(failure);
    case FaultAct::fail:
      if (ends) failure.back = next;
      out_ += ends ? 1 : 0;
      return membership_.fail(failure);
    case FaultAct::repair:
      --out_;
      return membership_.repair(failure);
    case FaultAct::impair:
    case FaultAct::restore:
      return membership_.impair(failure.unit, process.times_slower, process.bandwidth_factor, then == FaultAct::impair);
  }
}

std::string Failures::cut_off() const { return cut_ > 1 ? first_cut_ + ", nor have " + readable_count(cut_ - 1) + " more" : first_cut_; }

}  // namespace straggler
