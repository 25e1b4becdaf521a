// Batches that follow the times of their workers (training.batch.rebalance).
#pragma once
#include <cstdint>
#include <vector>

#include "sim/base/rank.hpp"
#include "sim/engine/time.hpp"
#include "sim/simulated/choices.hpp"
#include "sim/training/algebra.hpp"

namespace straggler {

/// When the first worker publishes a version that ends a period, every gradient of the period is there. All batches change then, before any
/// worker begins the next one. The times travel with gradients: they cost no message. New batches are recorded as choices of the workers'
/// draws from the pool; a replay forces them.
class Rebalancing {
 public:
  /// All outlive this. `first_pool`: the process of worker 0's draws; those of the others follow.
  Rebalancing(Algebra& algebra, Choices& choices, const TrainingPlan& plan, Rank first_pool);

  /// The worker waits so long for its batch to be loaded.
  void loads(Rank worker, Time span) { clocks_[index_of(worker)].loading = span; }
  /// It has computed a gradient of so many samples in that time.
  void computed(Rank worker, std::int64_t samples, Time span);
  void published(std::uint64_t version);

 private:
  struct Clock {
    Time loading;        // of the batch that is computed
    double seconds = 0;  // of whole batches, in this period
    std::int64_t count = 0;
  };

  Algebra& algebra_;
  Choices& choices_;
  const TrainingPlan& plan_;
  Rank first_pool_;
  Batches batches_;            // in force
  std::vector<Clock> clocks_;  // [workers]
  std::uint64_t due_;          // the version that ends the period
};

}  // namespace straggler
