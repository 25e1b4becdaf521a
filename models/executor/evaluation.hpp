// Loss and accuracy of weights over a whole set, in chunks summed in order.
#pragma once
#include <deque>
#include <span>
#include <vector>

#include "models/executor/remote.hpp"
#include "models/executor/resources.hpp"
#include "models/executor/thread_pool.hpp"
#include "sim/lineage/evaluator.hpp"

namespace straggler {

/// The sets on which weights may be evaluated, and a cache of the last few results.
class Evaluations {
 public:
  Evaluations(const Dataset& data, std::size_t train_subset, std::uint64_t seed);

  /// Null if it is not in the cache.
  const Evaluation* find(const Key& weights, EvaluationSet set) const;
  void remember(const Key& weights, EvaluationSet set, const Evaluation& result);
  /// Throws std::invalid_argument for a set without samples, MemoryBudgetExceeded.
  Evaluation evaluate(const Key& key, const float* weights, EvaluationSet set, const Arithmetic& arithmetic, Resources& resources,
                      ThreadPool& pool, std::span<RemoteThread* const> remote);
  /// One chunk of it, on this thread. Throws the same, and std::logic_error for a chunk that the set does not have.
  ChunkSums chunk(const float* weights, EvaluationSet set, std::uint64_t chunk, const Arithmetic& arithmetic, Resources& resources);

 private:
  struct Known {
    Key weights;
    EvaluationSet set;
    Evaluation result;
  };
  const DataSplit& samples(EvaluationSet set);

  const Dataset& data_;
  const std::size_t train_subset_;
  const std::uint64_t seed_;
  DataSplit subset_;  // gathered at first use
  std::deque<Known> known_;
};

}  // namespace straggler
