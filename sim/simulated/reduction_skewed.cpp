#include "sim/simulated/reduction_skewed.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <tuple>

namespace straggler {

ReductionSkewed::ReductionSkewed(const SimulatedRun& run, PostOffice& post_office)
    : Reduction(run, post_office),
      slots_(count()),
      all_(count()),
      message_run_(run.world.simulation, run.world.network, run.world.transport, costs_, MessageRun::Start::as_they_come,
                   run.world.cluster.collective.eager_most.value_or(MessageRun::any_size), *this) {
  std::iota(all_.begin(), all_.end(), Rank{0});
  ranks_ = ranks_of(all_);
}

bool ReductionSkewed::join(Operation& operation, Payload& payload, std::size_t pieces) {
  if (count() == 1) return pieces == pieces_of(operation, payload);
  Slot& slot = slot_for(operation);
  slot.operation = &operation;
  slot.payload = &payload;
  slot.pieces = pieces;
  begin_next(operation.node().self());
  return false;
}

/// The one that it has, or else the first that is free behind those of its worker.
ReductionSkewed::Slot& ReductionSkewed::slot_for(Operation& operation) {
  const auto worker = static_cast<std::size_t>(operation.node().self());
  Slot& slot = slots_[worker];
  if (slot.operation == &operation || slot.operation == nullptr) return slot;
  queued_.resize(count());
  std::vector<Slot>& queue = queued_[worker];
  const auto known = std::find_if(queue.begin(), queue.end(), [&](const Slot& each) { return each.operation == &operation; });
  return known != queue.end() ? *known : queue.emplace_back();
}

/// A collective in progress is cancelled only when the run is taken down: no scheme gives up one that others may wait for.
void ReductionSkewed::cancel(Operation& operation) noexcept {
  const auto worker = static_cast<std::size_t>(operation.node().self());
  if (!queued_.empty()) std::erase_if(queued_[worker], [&](const Slot& each) { return each.operation == &operation; });
  Slot& slot = slots_[worker];
  if (slot.operation != &operation) return;
  slot.operation = nullptr;
  slot.payload = nullptr;
  slot.pieces = 0;
}

void ReductionSkewed::membership_changed(Rank worker) {
  throw std::logic_error("worker " + std::to_string(worker) + " has left, but all-reduces with start: as_they_come need every worker");
}

std::uint32_t ReductionSkewed::start(Rank worker) {
  throw std::logic_error("worker " + std::to_string(worker) + " joins later, but all-reduces with start: as_they_come need every worker");
}

const CollectiveSchedule& ReductionSkewed::schedule_for(std::uint64_t bytes) {
  for (const Schedule& known : schedules_)
    if (known.bytes == bytes) return *known.schedule;
  return *schedules_.emplace_back(Schedule{bytes, make_schedule(bytes, all_)}).schedule;
}

void ReductionSkewed::begin_next(Rank worker) {
  Slot& slot = slots_[static_cast<std::size_t>(worker)];
  if (slot.running || slot.piece >= slot.pieces || over_) return;
  if (slot.begun == opened_) open(slot);
  slot.running = true;
  piece(slot.begun).traced.waited_for = worker;
  message_run_.begin(slot.begun++, static_cast<CollectiveRank>(worker));
}

/// Its first worker comes. Servers are there already.
void ReductionSkewed::open(const Slot& slot) {
  const CollectiveSchedule& schedule = schedule_for(bytes_of_piece(*slot.operation, *slot.payload, slot.piece));
  Piece& piece = pieces_.emplace_back();
  piece.last = slot.piece + 1 == pieces_of(*slot.operation, *slot.payload);
  piece.statistics = piece.last && wire_bytes_.statistics_of(*slot.payload) > 0;
  piece.spared_per_byte = spared_per_byte(*slot.operation, *slot.payload, slot.piece, count());
  piece.coded_share = coded_share(*slot.operation, *slot.payload, slot.piece);
  piece.unfinished = schedule.ranks();
  piece.traced = {"all-reduce",
                  slot.piece,
                  pieces_of(*slot.operation, *slot.payload),
                  count(),
                  bytes_of_piece(*slot.operation, *slot.payload, slot.piece),
                  run_.world.now(),
                  Time(),
                  std::nullopt};
  const std::uint64_t number = message_run_.open(schedule, ranks_);
  ++opened_;
  for (std::size_t server = count(); server < schedule.ranks(); ++server) message_run_.begin(number, static_cast<CollectiveRank>(server));
}

void ReductionSkewed::posted(std::uint64_t collective, CollectiveRank from, CollectiveRank to, std::uint64_t bytes) {
  run_.books.sent(static_cast<Rank>(from), bytes);
  if (piece(collective).statistics) run_.books.statistics(bytes);
  run_.books.spared(piece(collective).spared_per_byte * static_cast<double>(bytes));
  under_way_ += bytes;
  run_.books.begin_flight(static_cast<Rank>(from));
  run_.books.begin_flight(static_cast<Rank>(to));
}

void ReductionSkewed::arrived(CollectiveRank from, CollectiveRank to, std::uint64_t bytes) {
  run_.books.received(static_cast<Rank>(to), bytes);
  under_way_ -= bytes;
  run_.books.end_flight(static_cast<Rank>(from));
  run_.books.end_flight(static_cast<Rank>(to));
}

void ReductionSkewed::done(std::uint64_t collective, CollectiveRank rank) {
  Piece& now_done = piece(collective);
  const bool last = now_done.last;
  const double coded = now_done.coded_share;
  if (--now_done.unfinished == 0 && run_.books.trace()) {
    now_done.traced.end = run_.world.now();
    run_.books.trace()->collective(now_done.traced);
  }
  while (!pieces_.empty() && pieces_.front().unfinished == 0) pieces_.pop_front();
  if (rank >= count()) return;
  Slot& slot = slots_[rank];
  slot.running = false;
  ++slot.piece;
  const Time decoding = this->decoding(*slot.operation, coded, count());
  if (!last) {
    decode(*slot.operation, decoding);
    return begin_next(static_cast<Rank>(rank));
  }
  if (without_result_ == 0) average();
  give_result(slot, rank == 0, decoding);
  if (queued_.empty() || queued_[rank].empty()) return;
  const std::uint64_t begun = slot.begun;
  slot = queued_[rank].front();
  slot.begun = begun;
  queued_[rank].erase(queued_[rank].begin());
  begin_next(static_cast<Rank>(rank));
}

/// The first to be done has the last contribution to the sum, so everybody's is there.
void ReductionSkewed::average() {
  std::vector<const Payload*> parts;
  for (const Slot& slot : slots_) {
    if (slot.payload == nullptr || slot.pieces < pieces_of(*slot.operation, *slot.payload))
      throw std::logic_error(
          "a worker is done with an all-reduce that another has not begun: the simulator contradicts itself; please report it "
          "with the scenario");
    parts.push_back(slot.payload);
  }
  std::tie(result_, result_of_others_) = mean_of(parts);
  without_result_ = count();
  ++averaged_;
}

void ReductionSkewed::give_result(Slot& slot, bool first, Time decoding) {
  Operation& operation = *slot.operation;
  *slot.payload = first ? result_ : result_of_others_;
  slot = {.begun = slot.begun};
  if (--without_result_ == 0) {
    result_ = Payload();
    result_of_others_ = Payload();
    done_by_all();
  }
  hand_over(operation, decoding);
}

void ReductionSkewed::describe_waiting(std::vector<std::string>& who) const {
  std::vector<bool> waiting;
  for (const Slot& slot : slots_) waiting.push_back(slot.operation != nullptr);
  Reduction::describe_waiting(waiting, nullptr, who);
}

}  // namespace straggler
