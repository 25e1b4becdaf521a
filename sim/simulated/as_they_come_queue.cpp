#include "sim/simulated/as_they_come_queue.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace straggler {

AsTheyComeQueue::AsTheyComeQueue(const SimulatedRun& run, PostOffice& post_office)
    : CollectiveQueue(run, post_office),
      slots_(count()),
      all_(count()),
      message_run_(run.world.simulation, run.world.network, run.world.transport, plans_.costs(), MessageRun::Start::as_they_come,
                   run.world.cluster.collective.eager_most.value_or(MessageRun::any_size), *this) {
  std::iota(all_.begin(), all_.end(), Rank{0});
}

bool AsTheyComeQueue::join(Operation& operation, std::size_t pieces) {
  if (count() == 1) return pieces == pieces_.count(operation);
  Slot& slot = slot_for(operation);
  slot.operation = &operation;
  slot.pieces = pieces;
  begin_next(operation.node().self());
  return false;
}

/// The one that it has, or else the first that is free behind those of its worker.
AsTheyComeQueue::Slot& AsTheyComeQueue::slot_for(Operation& operation) {
  const auto worker = static_cast<std::size_t>(operation.node().self());
  Slot& slot = slots_[worker];
  if (slot.operation == &operation || slot.operation == nullptr) return slot;
  queued_.resize(count());
  std::vector<Slot>& queue = queued_[worker];
  const auto known = std::find_if(queue.begin(), queue.end(), [&](const Slot& each) { return each.operation == &operation; });
  return known != queue.end() ? *known : queue.emplace_back();
}

/// A collective in progress is cancelled only when the run is taken down: no scheme gives up one that others may wait for.
void AsTheyComeQueue::cancel(Operation& operation) noexcept {
  const auto worker = static_cast<std::size_t>(operation.node().self());
  if (!queued_.empty()) std::erase_if(queued_[worker], [&](const Slot& each) { return each.operation == &operation; });
  Slot& slot = slots_[worker];
  if (slot.operation != &operation) return;
  slot.operation = nullptr;
  slot.pieces = 0;
}

void AsTheyComeQueue::membership_changed(Rank worker) {
  throw std::logic_error("worker " + std::to_string(worker) + " has left, but all-reduces with start: as_they_come need every worker");
}

std::uint32_t AsTheyComeQueue::start(Rank worker) {
  throw std::logic_error("worker " + std::to_string(worker) + " joins later, but all-reduces with start: as_they_come need every worker");
}

void AsTheyComeQueue::begin_next(Rank worker) {
  Slot& slot = slots_[static_cast<std::size_t>(worker)];
  if (slot.running || slot.piece >= slot.pieces || over_) return;
  if (slot.begun == opened_) open(slot);
  slot.running = true;
  piece(slot.begun).traced.waited_for = worker;
  message_run_.begin(slot.begun++, static_cast<CollectiveRank>(worker));
}

/// Its first worker comes. Servers are there already.
void AsTheyComeQueue::open(const Slot& slot) {
  const CollectivePiece what = pieces_.piece(*slot.operation, slot.piece, count());
  const CollectivePlan& plan = plans_.plan(CollectiveKind::all_reduce, what.bytes, {}, all_);
  pieces_in_flight_.push_back({what, plan.schedule->ranks(), traced(*slot.operation, what, count())});
  const std::uint64_t number = message_run_.open(*plan.schedule, plan.ranks);
  ++opened_;
  for (std::size_t server = count(); server < plan.schedule->ranks(); ++server)
    message_run_.begin(number, static_cast<CollectiveRank>(server));
}

void AsTheyComeQueue::posted(std::uint64_t collective, CollectiveRank from, CollectiveRank to, std::uint64_t bytes) {
  run_.books.sent(static_cast<Rank>(from), bytes);
  if (piece(collective).what.statistics) run_.books.statistics(bytes);
  run_.books.spared(piece(collective).what.spared_per_byte * static_cast<double>(bytes));
  under_way_ += bytes;
  run_.books.begin_flight(static_cast<Rank>(from));
  run_.books.begin_flight(static_cast<Rank>(to));
}

void AsTheyComeQueue::arrived(CollectiveRank from, CollectiveRank to, std::uint64_t bytes) {
  run_.books.received(static_cast<Rank>(to), bytes);
  under_way_ -= bytes;
  run_.books.end_flight(static_cast<Rank>(from));
  run_.books.end_flight(static_cast<Rank>(to));
}

void AsTheyComeQueue::done(std::uint64_t collective, CollectiveRank rank) {
  Piece& now_done = piece(collective);
  const bool last = now_done.what.last;
  const double coded_share = now_done.what.coded_share;
  if (--now_done.unfinished == 0 && run_.books.trace()) {
    now_done.traced.end = run_.world.now();
    run_.books.trace()->collective(now_done.traced);
  }
  while (!pieces_in_flight_.empty() && pieces_in_flight_.front().unfinished == 0) pieces_in_flight_.pop_front();
  if (rank >= count()) return;
  Slot& slot = slots_[rank];
  slot.running = false;
  ++slot.piece;
  if (!last) {
    decode(*slot.operation, coded_share, count());
    return begin_next(static_cast<Rank>(rank));
  }
  if (without_result_ == 0) average();
  give_result(slot, rank, coded_share);
  if (queued_.empty() || queued_[rank].empty()) return;
  const std::uint64_t begun = slot.begun;
  slot = queued_[rank].front();
  slot.begun = begun;
  queued_[rank].erase(queued_[rank].begin());
  begin_next(static_cast<Rank>(rank));
}

/// The first to be done has the last contribution to the sum, so everybody's is there.
void AsTheyComeQueue::average() {
  std::vector<const Operation*> operations;
  for (const Slot& slot : slots_) {
    if (slot.operation == nullptr || slot.pieces < pieces_.count(*slot.operation))
      throw std::logic_error(
          "a worker is done with an all-reduce that another has not begun: the simulator contradicts itself; please report it "
          "with the scenario");
    operations.push_back(slot.operation);
  }
  result_ = result_of(operations);
  without_result_ = count();
  ++averaged_;
}

void AsTheyComeQueue::give_result(Slot& slot, std::size_t rank, double coded_share) {
  Operation& operation = *slot.operation;
  slot = {.begun = slot.begun};
  const Result result = --without_result_ == 0 ? std::exchange(result_, {}) : result_;
  if (without_result_ == 0) done_by_all();
  complete(result, rank, operation, coded_share, count());
}

void AsTheyComeQueue::describe_waiting(std::vector<std::string>& who) const {
  std::vector<const Operation*> waiting;
  for (const Slot& slot : slots_) waiting.push_back(slot.operation);
  CollectiveQueue::describe_waiting(waiting, nullptr, who);
}

}  // namespace straggler
