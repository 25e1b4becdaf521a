// Collectives one after another, each starting when the last member has come.
#pragma once
#include <deque>
#include <optional>

#include "sim/simulated/collective_move.hpp"
#include "sim/simulated/collective_queue.hpp"

namespace straggler {

/// A piece begins when all members have it and the one before is complete.
///
/// Ranks are idle until the last arrival and communicate afterwards, in both fidelities. A rank that has finished one collective may
/// already wait in the next while others still run.
///
/// If a member fails, the collective in progress breaks off and its bytes are lost. It begins again with the first piece, without the
/// member or when it is back. If some rank has its result already, the others get it from there at once. Queued collectives stay queued.
///
/// Collectives are numbered in the order in which they begin. A worker that joins or comes back starts from the latest version, and its
/// first join belongs to the first collective whose result that version does not hold. That one may be over, or in progress without the
/// worker: then the worker gets the result of the participants, and its own part is lost. It starts when
///  - no collective after those of the latest version has begun; or
///  - a version is published, even if messages are in flight; or
///  - all members wait in a collective for it alone.
/// One of the three happens, since members that do not wait publish sooner or later.
class TogetherQueue : public CollectiveQueue, private Event {
 public:
  /// `among`: the workers that take part; null: all.
  TogetherQueue(const SimulatedRun& run, PostOffice& post_office, RankGroup among = nullptr);
  using CollectiveQueue::join;
  bool join(Operation& operation, std::size_t pieces) override;
  void cancel(Operation& operation) noexcept override;
  void stop() override;
  void membership_changed(Rank worker) override;
  void published(std::uint32_t collectives) override;
  bool may_start() const override;
  std::uint32_t start(Rank worker) override;
  bool finishing(std::uint32_t collectives) const override { return busy_ && piece_.last && begun_ == collectives; }
  std::uint64_t bytes_under_way() const override { return move_->bytes_under_way(); }
  void describe_waiting(std::vector<std::string>& who) const override;

 protected:
  struct Slot {
    Operation* operation = nullptr;
    std::size_t pieces = 0;  // available pieces
  };
  using Slots = std::vector<Slot>;  // by place
  /// The index of a worker among those that may take part.
  std::size_t place_of(Rank worker) const;
  Rank rank_at(std::size_t place) const { return among_ ? (*among_)[place] : static_cast<Rank>(place); }
  /// The others wait for it.
  virtual bool awaits(std::size_t place) const { return run_.workers.awaits(rank_at(place)); }
  /// At least this number of workers is waited for.
  virtual std::size_t awaited() const { return index_of(run_.workers.members()); }
  virtual void keep_result();
  /// All awaited workers have joined the first piece.
  virtual void about_to_begin() {}
  Slot* known_slot(const Operation& operation);
  void try_begin();
  void break_off();
  void set_next_piece(std::size_t piece);
  /// A worker that takes part is no longer a member.
  void went(Rank worker);

  const RankGroup among_;
  Slots joining_, running_;          // running: of the last piece
  std::vector<std::uint32_t> next_;  // by place: the number of its next join
  std::size_t next_piece_ = 0;
  std::uint32_t begun_ = 0;  // collectives whose last piece has begun: the number of joining_
  bool busy_ = false;        // a piece is in progress

 private:
  bool join_late(Operation& operation, std::size_t pieces);
  bool gather_members();
  const Operation& first_joining() const { return *joining_[place_of(members_.front())].operation; }
  void require_one_kind() const;
  std::vector<std::uint64_t> blocks_of_next() const;
  void begin();
  void leave_queue();
  void happen() override { finished(0); }
  /// `member`: its number in `members_`.
  void finished(std::size_t member);
  void piece_done();
  void give_result(Slot& slot, std::size_t member);
  /// A member whose next join is behind joining_.
  bool ahead(std::size_t place) const {
    return joining_[place].operation == nullptr && next_[place] > begun_ && run_.workers.is_member(rank_at(place));
  }
  std::uint32_t completed() const { return begun_ - (busy_ && piece_.last ? 1 : 0); }
  void forget_results();

  std::deque<Slots> later_;          // behind joining_
  std::vector<Rank> members_;        // that take part in the piece in progress
  std::size_t ready_ = 0;            // slots of joining_ that have the next piece
  std::size_t ahead_ = 0;            // members that are ahead
  std::uint32_t in_latest_ = 0;      // collectives whose results the latest version holds
  std::deque<Result> kept_results_;  // of the latest completed ones, for late workers
  bool several_kinds_ = false;       // some collective was no all-reduce
  CollectivePiece piece_;            // in progress
  std::size_t unfinished_ = 0;       // members that are not done with it
  std::unique_ptr<CollectiveMove> move_;
  std::optional<Rank> latest_;  // the last joiner, while its joining is handled
  CollectiveTrace traced_;      // the piece in progress, with a trace
  Result result_;               // of the collective whose last piece is in progress
};

}  // namespace straggler
