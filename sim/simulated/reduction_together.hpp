// One all-reduce after the other, each from the moment at which the last member has come.
#pragma once
#include <deque>

#include "sim/collectives/fluid.hpp"
#include "sim/collectives/message_run.hpp"
#include "sim/simulated/reduction.hpp"

namespace straggler {

/// A piece begins as soon as all members have it and the one before is through.
///
/// Ranks are idle until the last has arrived and communicate after, in both fidelities. A rank that is done with one all-reduce may
/// already wait in the next while others still run.
///
/// If a member fails, what is under way breaks off and its bytes are lost; it begins again with the first piece, without the member or
/// when it is back. If some rank has its result already, the others get it from there at once. What is queued behind it stays queued.
///
/// All-reduces are numbered in the order in which they begin. A worker that comes (back) starts from the latest version, and its first join
/// belongs to the first all-reduce whose result that version does not hold (beside a server: to the next that begins). So it may come to
/// one that is over, or moves without it: then it gets the result of those who took part, and what it brought is lost. It starts when
///  - no all-reduce after those of the latest version has begun; or
///  - a version is published, whatever is in flight; or
///  - all members wait in an all-reduce for it alone.
/// One of the three comes, for members that wait for nobody publish sooner or later.
class ReductionTogether final : public Reduction, private Arrival, private Event {
 public:
  ReductionTogether(World& world, Books& books, Workers& workers, PostOffice& post_office);
  using Reduction::join;
  bool join(Operation& operation, Payload& payload, std::size_t pieces) override;
  void cancel(Operation& operation) noexcept override;
  void membership_changed(Rank worker) override;
  void published(std::uint32_t reductions) override;
  bool may_start() const override;
  std::uint32_t start(Rank worker) override;
  bool finishing(std::uint32_t reductions) const override { return busy_ && last_ && begun_ == reductions; }
  std::uint64_t bytes_under_way() const override { return under_way_; }
  void describe_waiting(std::vector<std::string>& who) const override;

 private:
  struct Slot {
    Operation* operation = nullptr;
    Payload* payload = nullptr;
    std::size_t pieces = 0;  // that are there
  };
  using Slots = std::vector<Slot>;  // [workers]
  /// What a piece of that size over those ranks takes; kept, since the same ones come again and again.
  struct Plan {
    std::uint64_t bytes = 0;
    std::vector<std::uint32_t> ranks;  // of the fabric, by rank in the schedule
    std::unique_ptr<CollectiveSchedule> schedule;
    FluidPlan fluid;
    std::vector<std::uint64_t> sent, received;  // [members]
    std::uint64_t all = 0;                      // sent by everybody, servers too
  };

  Slot* known_slot(const Operation& operation);
  bool join_late(Operation& operation, Payload& payload, std::size_t pieces);
  void try_begin();
  bool gather_members();
  void begin(std::uint64_t bytes, bool last);
  void average();
  Plan& plan_for(std::uint64_t bytes);
  void break_off();
  void set_next_piece(std::size_t piece);
  void arrived() override;
  void happen() override;
  void finish_all();
  void finish(std::size_t member);
  void piece_done();
  void give_result(Slot& slot, const Payload& result);
  /// A member whose next join is behind joining_.
  bool ahead(std::size_t rank) const {
    return joining_[rank].operation == nullptr && next_[rank] > begun_ && workers_.is_member(static_cast<Rank>(rank));
  }
  std::uint32_t completed() const { return begun_ - (busy_ && last_ ? 1 : 0); }
  void keep_result();
  void forget_results();

  Slots joining_, running_;          // running: of the last piece
  std::deque<Slots> later_;          // behind joining_
  std::vector<std::uint32_t> next_;  // [workers]: the number of its next join
  std::vector<Rank> members_;        // that take part in the piece under way
  std::vector<bool> finished_;       // [members_]
  std::size_t next_piece_ = 0;
  std::size_t ready_ = 0;             // slots of joining_ that have the next piece
  std::size_t ahead_ = 0;             // members that are ahead
  std::uint32_t begun_ = 0;           // all-reduces whose last piece has begun: the number of joining_
  std::uint32_t in_latest_ = 0;       // all-reduces whose results the latest version holds
  std::deque<Payload> kept_results_;  // of the latest of those completed, for workers that come to them late
  bool busy_ = false, last_ = false;
  std::size_t unfinished_ = 0;
  std::uint64_t under_way_ = 0;
  std::vector<std::unique_ptr<Plan>> plans_;
  Plan* plan_ = nullptr;
  std::unique_ptr<StepwiseRun> stepwise_;
  FlowId flow_ = 0;
  Payload result_, result_of_others_;  // contributions are recorded by the first member alone
};

}  // namespace straggler
