// One all-reduce after the other, each from the moment at which the last member has come.
#pragma once
#include "sim/simulated/reduction.hpp"
#include "sim/collectives/fluid.hpp"

namespace straggler {

/// A piece begins as soon as all members have it and the one before is through.
///
/// Ranks are idle until the last has arrived and communicate after, in both fidelities. A rank that is done with one all-reduce may
/// already wait in the next while others still run.
///
/// If a member fails, what is under way breaks off and its bytes are lost; it begins again with the first piece, without the member or
/// when it is back. If some rank has its result already, the others get it from there at once.
class ReductionTogether final : public Reduction, private Arrival, private Event {
 public:
  ReductionTogether(World& world, Books& books, Workers& workers, PostOffice& post_office);
  using Reduction::join;
  bool join(Operation& operation, Payload& payload, std::size_t pieces) override;
  void cancel(Operation& operation) noexcept override;
  void membership_changed(Rank worker) override;
  bool between_updates(std::uint64_t latest) const override { return count() == 1 || (next_piece_ == 0 && updates_ == latest); }
  bool finishing() const override { return busy_ && last_; }
  std::uint64_t bytes_under_way() const override { return under_way_; }
  void describe_waiting(std::vector<std::string>& who) const override;

 private:
  struct Slot {
    Operation* operation = nullptr;
    Payload* payload = nullptr;
    std::size_t pieces = 0;  // that are there
  };
  /// What a piece of that size over those ranks takes; kept, since the same ones come again and again.
  struct Plan {
    std::uint64_t bytes = 0;
    std::vector<std::uint32_t> ranks;  // of the fabric, by rank in the schedule
    std::unique_ptr<CollectiveSchedule> schedule;
    FluidPlan fluid;
    std::vector<std::uint64_t> sent, received;  // [members]
    std::uint64_t all = 0;                      // sent by everybody, servers too
  };

  void try_begin();
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

  std::vector<Slot> joining_, running_;  // [workers]; running: of the last piece
  std::vector<Rank> members_;            // that take part in the piece under way
  std::vector<bool> finished_;           // [members_]
  std::size_t next_piece_ = 0, pieces_ = 1;
  std::size_t ready_ = 0;      // slots of joining_ that have the next piece
  std::uint64_t updates_ = 0;  // all-reduces whose last piece has begun
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
