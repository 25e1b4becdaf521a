// Batches that computations wait for: loaders of their own, and those that share a host's cores.
#include <algorithm>
#include <utility>

#include "sim/engine/later.hpp"
#include "sim/simulated/computations.hpp"

namespace straggler {

namespace {

/// The pass over its data in which the batch lies.
std::uint64_t epoch_of(const TrainingPlan& plan, const DrawnBatch& batch) {
  return batch.position / (plan.shared_stream ? plan.train_samples : plan.stream_samples[batch.stream]);
}

}  // namespace

std::optional<Time> Computations::loaded(ComputeOperation& operation) {
  const Rank rank = operation.node().self();
  const ComputeClass& own = class_of(rank);
  if (plan_.load_apart || !loads(own)) return now();
  Loader& loader = loaders_[index_of(rank)];
  if (loader.work != operation.batch().work) {
    loader.work = operation.batch().work;
    return fetched(operation, operation.batch(), operation.batch().size);
  }
  if (seats_.empty() || !seats_[index_of(rank)].prepares) return std::max(now(), loader.last_ready);
  wait_for_shared(operation);
  return std::nullopt;
}

bool Computations::load(LoadOperation& operation) {
  const Rank rank = operation.node().self();
  const ComputeClass& own = class_of(rank);
  if (!loads(own)) return true;
  const std::optional<Time> there = fetched(operation, operation.first(), operation.samples());
  if (!there) return false;
  if (*there == now()) return true;
  times_.set_loading(rank, now(), true);
  simulation_.queue().at(*there, operation);
  return false;
}

/// The next batch is taken from the loader and copied to the device.
std::optional<Time> Computations::fetched(Operation& operation, const DrawnBatch& first, std::int64_t count) {
  const Rank rank = operation.node().self();
  const TrainingPlan& plan = operation.node().plan();
  const ComputeClass& own = class_of(rank);
  Time taken = now();
  if (SharedLoader* const shared = shared_loader(rank)) {
    Seat& seat = seats_[index_of(rank)];
    seat.samples = count;
    SharedLoader::Wanted wanted = {.samples = count, .epoch = epoch_of(plan, first)};
    if (!plan.endless && !plan.shared_stream && !plan_.load_apart) {
      wanted.pass = static_cast<std::int64_t>(plan.pass_samples(rank));
      wanted.left = wanted.pass - static_cast<std::int64_t>(first.position % plan.stream_samples[first.stream]) - count;
    }
    seat.prepares = !shared->take(seat.number, wanted);
    if (seat.prepares) {
      wait_for_shared(operation);
      return std::nullopt;
    }
    if (own.loaders > 0) taken += own.hand_over;
  } else if (own.load_seconds_per_sample > 0) {
    const Time preparing = Time::from_seconds(own.load_seconds_per_sample * static_cast<double>(count));
    taken = own.loaders == 0 ? later(now(), preparing)
                             : taken_from_process(own, loaders_[index_of(rank)], epoch_of(plan, first), preparing) + own.hand_over;
  }
  return copied(rank, taken, count);
}

/// When it lies on the device.
Time Computations::copied(Rank worker, Time taken, std::int64_t samples) {
  const Time copy = Time::from_seconds(class_of(worker).copy_seconds_per_sample * static_cast<double>(samples));
  return loaders_[index_of(worker)].last_ready = later(taken, copy);
}

void Computations::wait_for_shared(Operation& operation) {
  const Rank worker = operation.node().self();
  seats_[index_of(worker)].waiting = &operation;
  seats_[index_of(worker)].asked = now();
  times_.set_loading(worker, now(), true);
}

void Computations::prepared(Rank worker) {
  Seat& seat = seats_[index_of(worker)];
  seat.prepares = false;
  const ComputeClass& own = class_of(worker);
  const Time there = copied(worker, own.loaders > 0 ? now() + own.hand_over : now(), seat.samples);
  Operation* const waiting = std::exchange(seat.waiting, nullptr);
  if (!waiting) return;
  if (waiting->kind() == Operation::Kind::load)
    simulation_.queue().at(there, *waiting);
  else
    start_at(static_cast<ComputeOperation&>(*waiting), seat.call, seat.asked, there);
}

void Computations::stop_loading(Rank worker) noexcept {
  times_.set_loading(worker, now(), false);
  if (!seats_.empty()) seats_[index_of(worker)].waiting = nullptr;
}

/// In `ready` and `taken` the clock stands while the loader does.
Time Computations::taken_from_process(const ComputeClass& own, Loader& loader, std::uint64_t epoch, Time preparing) {
  const Time clock = now() - loader.stood;
  const bool starts = loader.ready.empty() || (own.loader_start > Time() && loader.epoch != epoch);
  if (starts) {
    const Time started = clock + Time::from_ticks(own.loader_start.ticks() * own.loaders);
    loader.ready.assign(own.loaders, started);
    loader.taken.assign(std::size_t{own.loaders} * own.prefetch, started);
    loader.batches = 0;
    loader.epoch = epoch;
  }
  Time& process = loader.ready[loader.batches % loader.ready.size()];
  Time& room = loader.taken[loader.batches % loader.taken.size()];
  process = std::max(process, room) + preparing;
  room = std::max(clock, process);
  ++loader.batches;
  if (starts) loader.starting += room - clock;
  return room + loader.stood;
}

Time Computations::longest_loader_start() const {
  Time longest;
  for (const Loader& loader : loaders_) longest = std::max(longest, loader.starting);
  for (const auto& shared : shared_loaders_) longest = std::max(longest, shared->longest_start());
  return longest;
}

void Computations::stall_loader(Rank worker, Time span) {
  if (SharedLoader* const shared = shared_loader(worker)) return shared->stand(span);
  if (!loaders_.empty()) loaders_[index_of(worker)].stood += span;
}

void Computations::start_loader_again(Rank worker) {
  if (loaders_.empty()) return;
  const Time starting = loaders_[index_of(worker)].starting;
  loaders_[index_of(worker)] = Loader();
  loaders_[index_of(worker)].starting = starting;
  if (SharedLoader* const shared = shared_loader(worker)) {
    shared->start_again(seats_[index_of(worker)].number);
    seats_[index_of(worker)].prepares = false;
  }
}

}  // namespace straggler
