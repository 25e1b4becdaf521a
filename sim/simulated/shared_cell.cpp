#include "sim/simulated/shared_cell.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "sim/engine/later.hpp"

namespace straggler {

Time SharedCell::to_end_of(std::uint64_t chunk) const {
  const auto all = static_cast<std::uint64_t>(scan().ticks()), count = chunks();
  return Time::from_ticks(static_cast<std::int64_t>(all / count * (chunk + 1) + all % count * (chunk + 1) / count));
}

Weights SharedCell::weights_of(const Handle& value) const {
  Weights weights = run_.workers.initial_weights();
  WeightsState& state = weights.edit();
  state.value = value;
  state.version = version_;
  state.progress = progress_;
  return weights;
}

bool SharedCell::start(CellReadOperation& operation) {
  const Time now = run_.world.now();
  if (read_time() == Time()) {
    read(operation, now);
    return true;
  }
  run_.books.begin_flight(operation.node().self());
  run_.world.queue().at(now + read_time(), operation);
  return false;
}

void SharedCell::due(CellReadOperation& operation) {
  run_.books.end_flight(operation.node().self());
  read(operation, run_.world.now() - read_time());
  operation.complete_from_event();
}

void SharedCell::cancel(const CellReadOperation& operation) noexcept { run_.books.end_flight(operation.node().self()); }

/// Chunk k is read to_end_of(k) after `began` and the latency; an addition that began at b has passed it 2 to_end_of(k) after b and the
/// latency. A read sees an addition that passes at the same instant.
void SharedCell::read(CellReadOperation& operation, Time began) {
  settle_abandoned();
  if (under_way_.empty()) {
    operation.weights = weights_of(after(0).value);
    return;
  }
  std::vector<Handle> seen;
  for (std::uint64_t chunk = 0; chunk < chunks(); ++chunk) {
    const auto has_passed = [&](const Addition& addition) { return addition.begin + to_end_of(chunk) <= began; };
    const auto first_behind = std::partition_point(under_way_.begin(), under_way_.end(), has_passed);
    seen.push_back(after(static_cast<std::size_t>(first_behind - under_way_.begin())).value);
  }
  operation.weights = weights_of(run_.workers.algebra().mixture(seen));
}

bool SharedCell::start(CellStepOperation& operation) {
  settle_abandoned();
  Weights at;
  at.edit().progress = begun_;
  under_way_.push_back({&operation, operation.gradient(), operation.node().epochs_at(at), run_.world.now(), chunks()});
  begun_ += operation.gradient()->samples();
  if (addition_time() == Time()) {
    added(operation);
    return true;
  }
  run_.books.begin_flight(operation.node().self());
  run_.world.queue().at(later(run_.world.now(), addition_time()), operation);
  return false;
}

void SharedCell::due(CellStepOperation& operation) {
  run_.books.end_flight(operation.node().self());
  added(operation);
  operation.complete_from_event();
}

void SharedCell::added(CellStepOperation& operation) {
  settle_abandoned();
  if (under_way_.empty() || under_way_.front().by != &operation)
    throw std::logic_error(operation.node().name() +
                           " has overtaken another addition to shared weights: the simulator contradicts itself; please report it with the "
                           "scenario");
  settle_first();
  Weights weights = weights_of(settled_.value);
  WeightsState& state = weights.edit();
  state.local_samples = operation.gradient()->samples();
  state.more.edit().made = operation.gradient()->made();
  ++version_;
  progress_ += operation.gradient()->samples();
  operation.weights = std::move(weights);
}

void SharedCell::cancel(const CellStepOperation& operation) noexcept {
  run_.books.end_flight(operation.node().self());
  const auto at = std::find_if(under_way_.begin(), under_way_.end(), [&](const Addition& addition) { return addition.by == &operation; });
  if (at == under_way_.end()) return;
  begun_ -= at->gradient->samples();
  const Time moved = run_.world.now() - at->begin - std::min(run_.world.cluster.memory.latency, run_.world.now() - at->begin);
  at->by = nullptr;
  at->chunks = 0;
  while (at->chunks < chunks() && to_end_of(at->chunks) + to_end_of(at->chunks) <= moved) ++at->chunks;
  // Later contents were built on all of it. Chunks that a worker has read stay the same.
  for (auto later = at; later != under_way_.end(); ++later) later->after = {};
}

const SharedCell::Content& SharedCell::after(std::size_t count) {
  if (settled_.value.empty()) settled_.value = run_.workers.initial_weights()->value;
  std::size_t known = count;
  while (known > 0 && under_way_[known - 1].after.value.empty()) --known;
  for (std::size_t i = known; i < count; ++i) under_way_[i].after = after(i == 0 ? settled_ : under_way_[i - 1].after, under_way_[i]);
  return count == 0 ? settled_ : under_way_[count - 1].after;
}

SharedCell::Content SharedCell::after(const Content& before, const Addition& addition) const {
  Content made = before;
  if (addition.chunks == 0) return made;
  made.value = run_.workers.plan().optimizer->step(run_.workers.lineage(), before.value, addition.gradient->value(), addition.epochs,
                                                   addition.gradient->averaged, made.optimizer);
  if (addition.chunks == chunks()) return made;
  made.value = partly(made.value, before.value, addition.chunks);
  for (std::size_t k = 0; k < made.optimizer.size(); ++k) {
    Handle& state = made.optimizer[k];
    // An optimizer begins without state, which counts as zero.
    const Handle old = k < before.optimizer.size() ? before.optimizer[k] : run_.workers.algebra().combination({{state, 0}});
    state = partly(state, old, addition.chunks);
  }
  return made;
}

Handle SharedCell::partly(const Handle& changed, const Handle& before, std::uint64_t chunks_changed) const {
  std::vector<Handle> parts(chunks(), before);
  std::fill_n(parts.begin(), chunks_changed, changed);
  return run_.workers.algebra().mixture(parts);
}

void SharedCell::settle_first() {
  settled_ = after(1);
  under_way_.pop_front();
}

void SharedCell::settle_abandoned() {
  while (!under_way_.empty() && !under_way_.front().by && under_way_.front().begin + addition_time() <= run_.world.now()) settle_first();
}

}  // namespace straggler
