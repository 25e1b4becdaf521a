// All-reduces that each worker begins on arrival and leaves when it has the result.
#pragma once
#include <deque>
#include <stdexcept>

#include "sim/collectives/message_run.hpp"
#include "sim/simulated/collective_queue.hpp"

namespace straggler {

/// A worker begins a piece as soon as it has it and has finished the previous one, independently of the others. So at most two pieces are
/// in progress at once: no worker finishes before all have come.
///
/// A worker communicates while a message to or from it is in flight, and is idle while it waits otherwise. All workers are members at all
/// times; the caller checks that.
class AsTheyComeQueue final : public CollectiveQueue, private CollectiveWatch {
 public:
  AsTheyComeQueue(const SimulatedRun& run, PostOffice& post_office);
  using CollectiveQueue::join;
  bool join(Operation& operation, std::size_t pieces) override;
  void cancel(Operation& operation) noexcept override;
  /// No run of this kind is rolled back.
  void stop() override { throw std::logic_error("all-reduces that begin as workers come are not broken off"); }
  void membership_changed(Rank worker) override;
  void published(std::uint32_t) override {}
  bool may_start() const override { return true; }
  std::uint32_t start(Rank worker) override;
  bool finishing(std::uint32_t collectives) const override { return without_result_ > 0 && averaged_ == collectives; }
  std::uint64_t bytes_under_way() const override { return under_way_; }
  void describe_waiting(std::vector<std::string>& who) const override;

 private:
  std::size_t count() const { return index_of(run_.world.workers); }
  struct Slot {
    Operation* operation = nullptr;
    std::size_t pieces = 0;   // available pieces
    std::size_t piece = 0;    // in progress, or next
    bool running = false;     // that piece is in progress
    std::uint64_t begun = 0;  // of all updates
  };
  /// In flight, in the order of beginning: entry n is all workers' n-th piece.
  struct Piece {
    CollectivePiece what;
    std::size_t unfinished = 0;   // ranks, servers too
    CollectiveTrace traced = {};  // waited_for: the last arrival
  };

  Slot& slot_for(Operation& operation);
  Piece& piece(std::uint64_t number) { return pieces_in_flight_[number - (opened_ - pieces_in_flight_.size())]; }
  void begin_next(Rank worker);
  void open(const Slot& slot);
  void average();
  void posted(std::uint64_t collective, CollectiveRank from, CollectiveRank to, std::uint64_t bytes) override;
  void arrived(CollectiveRank from, CollectiveRank to, std::uint64_t bytes) override;
  void done(std::uint64_t collective, CollectiveRank rank) override;
  void give_result(Slot& slot, std::size_t rank, double coded_share);

  std::vector<Slot> slots_;                // [workers]
  std::vector<std::vector<Slot>> queued_;  // [workers]: behind these, in order; empty until a worker joins twice
  std::vector<Rank> all_;                  // workers
  std::deque<Piece> pieces_in_flight_;
  std::uint64_t opened_ = 0;        // pieces, those in flight included
  std::uint64_t averaged_ = 0;      // all-reduces of which some worker has the result
  std::size_t without_result_ = 0;  // workers without the result, of the update whose result others have
  std::uint64_t under_way_ = 0;
  Result result_;
  MessageRun message_run_;  // refers to plans_
};

}  // namespace straggler
