#include "sim/simulated/replacement.hpp"

#include <algorithm>

namespace straggler {

Replacement::Replacement(const SimulatedRun& run, Membership& membership)
    : run_(run),
      settings_(run.world.cluster.recovery),
      membership_(membership),
      spares_(settings_.spares),
      lost_(index_of(run.world.workers)) {}

bool Replacement::failed(const Failure& failure) {
  for (Rank worker = failure.workers.begin; worker < failure.workers.end; ++worker) {
    if (!run_.workers.is_up(worker)) continue;
    Lost& lost = lost_[index_of(worker)];
    lost = {run_.world.now() + settings_.detect, lost.loss + 1, spares_ == 0};
    if (lost.awaits) continue;
    --spares_;
    run_.world.simulation.spawn(start(worker, lost.loss));
  }
  return false;  // they are taken out
}

bool Replacement::repaired(const Failure& failure) {
  for (Rank worker = failure.workers.begin; worker < failure.workers.end; ++worker) {
    if (membership_.is_down(worker)) continue;  // with another unit
    // Where a spare has its place, it takes that of another, or becomes a spare.
    const auto waits = [](const Lost& lost) { return lost.awaits; };
    auto place = lost_.begin() + worker;
    if (!place->awaits) place = std::ranges::find_if(lost_, waits);
    if (place == lost_.end()) {
      ++spares_;
      continue;
    }
    place->awaits = false;
    run_.world.simulation.spawn(start(static_cast<Rank>(place - lost_.begin()), place->loss));
  }
  return true;
}

Process Replacement::start(Rank worker, std::uint32_t loss) {
  const auto is_gone = [&] { return lost_[index_of(worker)].loss != loss || run_.workers.state(worker) != Workers::State::crashed; };
  if (is_gone()) co_return;
  run_.books.times().set_down(worker, run_.world.now(), false);
  run_.books.times().set_recovering(worker, run_.world.now(), true);
  const Time known = lost_[index_of(worker)].known;
  co_await run_.world.simulation.delay(std::max(known, run_.world.now()) - run_.world.now() + settings_.restart);
  run_.books.times().set_recovering(worker, run_.world.now(), false);
  if (!is_gone()) membership_.fetch_state({&worker, 1});
}

}  // namespace straggler
