// Who computes how many samples in one update.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/base/even_split.hpp"
#include "sim/base/rank.hpp"

namespace straggler {

/// The batches of all workers. They are equal, but that the first workers may have one sample more (the remainder of a global batch); or
/// they are *stated* worker by worker, and are then the weights in means over workers (TrainingPlan::weighs_batches).
class Batches {
 public:
  /// Of any number of workers; the first `larger` have one sample more.
  explicit Batches(std::int64_t samples = 1, std::int64_t larger = 0) : split_{samples, larger} {}
  /// [workers]: at least 1 each. Throws std::invalid_argument if there are none.
  static Batches stated(std::vector<std::uint32_t> of_workers);

  bool are_stated() const { return !stated_.empty(); }
  std::int64_t of(Rank worker) const { return are_stated() ? stated_[index_of(worker)] : split_.size(worker); }
  /// As facts about a worker's group count it: a remainder is left out.
  std::int64_t usual(Rank worker) const { return are_stated() ? stated_[index_of(worker)] : split_.least; }
  /// The batch of a run in one number: that of every worker, without the remainder; of stated ones the mean, rounded.
  std::int64_t typical() const;
  std::int64_t total(Rank workers) const { return are_stated() ? total_ : split_.begin(workers); }
  /// Samples of a batch on average: b̄.
  double mean(Rank workers) const;
  /// The first worker with the least, and with the most samples.
  Rank smallest(Rank workers) const { return are_stated() ? smallest_ : workers - 1; }
  Rank largest() const { return largest_; }

 private:
  EvenSplit<std::int64_t> split_;
  std::vector<std::uint32_t> stated_;  // [workers]; empty: `split_`
  std::int64_t total_ = 0;
  Rank smallest_ = 0, largest_ = 0;
};

/// Workers that need the same time for a batch: `seconds` of a number of samples, which does not fall with it.
struct AlikeWorkers {
  std::int64_t count = 1;
  std::function<double(std::int64_t)> seconds;
};
/// The batches of workers of one kind: the first `larger` of them have one sample more.
using BatchSplit = EvenSplit<std::int64_t>;
/// [kinds]: `global` samples such that workers end as nearly together as whole samples allow: each sample goes to whoever ends earliest
/// with it. Everybody gets at least one. Throws std::invalid_argument if there are fewer samples than workers.
std::vector<BatchSplit> batches_by_speed(const std::vector<AlikeWorkers>& kinds, std::int64_t global);

/// What a worker did of late, and may do at most.
struct TimedBatch {
  std::int64_t samples = 1;
  double seconds = 0;     // for them, on average; 0: unknown
  std::int64_t most = 1;  // samples that it can take
};
/// [workers]: b_i t̄/t_i, with t̄ such that the sum remains, in whole samples as batches_by_speed gives them to workers that need t_i/b_i for
/// each. At least 1, at most `most`. Workers whose time is unknown keep theirs, and so do all if nobody would be done earlier. After
/// LB-BSP: Chen et al., SoCC 2020.
std::vector<std::uint32_t> rebalanced(const std::vector<TimedBatch>& workers);

}  // namespace straggler
