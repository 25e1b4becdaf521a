// Optimizer steps: their time on a worker or on the servers, and steps on weights that workers share in memory.
#pragma once
#include "sim/simulated/computations.hpp"
#include "sim/simulated/processors.hpp"
#include "sim/simulated/shared_cell.hpp"

namespace straggler {

class Updates {
 public:
  /// All outlive this.
  Updates(const SimulatedRun& run, Processors& processors, const Computations& computations)
      : run_(run), processors_(processors), computations_(computations), cell_(run) {}

  /// True: it takes no time.
  bool start(StepOperation& operation) {
    const Rank rank = operation.node().self();
    const double per_byte = run_.world.is_worker(rank) ? worker_seconds_per_byte(rank) : run_.world.cluster.servers.update_seconds_per_byte;
    return per_byte == 0 || starts(operation, per_byte);
  }
  void due(StepOperation& operation);
  void cancel(StepOperation& operation) noexcept;

  bool start(CellStepOperation& operation);
  void due(CellStepOperation& operation);
  void cancel(CellStepOperation& operation) noexcept;
  SharedCell& cell() { return cell_; }

 private:
  /// `per_byte`: seconds on one worker or one server.
  bool starts(StepOperation& operation, double per_byte);
  double worker_seconds_per_byte(Rank worker) const {
    return run_.world.cluster.update_seconds_per_byte[computations_.class_number(worker)];
  }

  const SimulatedRun run_;
  Processors& processors_;
  const Computations& computations_;
  SharedCell cell_;
};

}  // namespace straggler
