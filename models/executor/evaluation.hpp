// Loss and accuracy of weights over a whole set, in chunks summed in order.
#pragma once
#include <deque>
#include <exception>
#include <utility>
#include <vector>

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
                      ThreadPool& pool);

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
