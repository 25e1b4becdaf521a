// Weights that the workers of a host share in its memory: read and added to chunk by chunk, without locks.
//
// A read moves every byte once, an addition twice: it reads and writes each weight. Both pass the chunks in order, at a steady pace. All
// additions take equally long, so none overtakes another: in every chunk they follow each other in the order in which they began, and after
// the first i of them the cell holds the vector S_i. A read takes each chunk from some S_i. It mixes several vectors only where additions
// were in progress.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "sim/simulated/simulated_run.hpp"

namespace straggler {

class SharedCell {
 public:
  /// All outlive this. Must not be accessed if TrainingPlan::cell_chunks is 0.
  explicit SharedCell(const SimulatedRun& run) : run_(run) {}

  /// True: it takes no time.
  bool start(CellReadOperation& operation);
  /// The step is computed; its addition begins now.
  bool start(CellStepOperation& operation);
  void due(CellReadOperation& operation);
  void due(CellStepOperation& operation);
  void cancel(const CellReadOperation& operation) noexcept;
  /// The chunks passed so far stay changed; it makes no version.
  void cancel(const CellStepOperation& operation) noexcept;

 private:
  /// The content of the memory.
  struct Content {
    Handle value;
    std::vector<Handle> optimizer;  // its state
  };
  struct Addition {
    const CellStepOperation* by;  // null: its worker has gone
    Gradient gradient;
    double epochs;  // as schedules count them: including all additions begun before
    Time begin;
    std::uint64_t chunks;  // that it passes
    Content after = {};    // without a value until it is needed
  };

  std::uint64_t chunks() const { return static_cast<std::uint64_t>(run_.workers.plan().cell_chunks); }
  std::uint64_t bytes() const { return run_.world.cluster.bytes.state; }
  Time scan() const { return Time::from_seconds(run_.world.cluster.memory.seconds_per_byte * static_cast<double>(bytes())); }
  Time read_time() const { return run_.world.cluster.memory.latency + scan(); }
  Time addition_time() const { return run_.world.cluster.memory.latency + scan() + scan(); }
  /// The time that a read has moved bytes at the end of this chunk. An addition takes twice as long.
  Time to_end_of(std::uint64_t chunk) const;
  void read(CellReadOperation& operation, Time began);
  void added(CellStepOperation& operation);
  /// After the first `count` additions in progress.
  const Content& after(std::size_t count);
  Content after(const Content& before, const Addition& addition) const;
  Handle partly(const Handle& changed, const Handle& before, std::uint64_t chunks_changed) const;
  /// The oldest one in progress is over.
  void settle_first();
  /// Cancelled additions that would be over now.
  void settle_abandoned();
  Weights weights_of(const Handle& value) const;

  const SimulatedRun run_;
  Content settled_;                           // empty until the first access
  std::deque<Addition> under_way_;            // in the order in which they began
  std::uint64_t version_ = 0, progress_ = 0;  // additions made, and their samples
  std::uint64_t begun_ = 0;                   // samples of these and of those in progress
};

}  // namespace straggler
