// What is known of weights from earlier runs, by their lineage key: the math of a trajectory depends on the order of its updates only, so
// that runs which apply the same updates in the same order share it.
#pragma once
#include <optional>
#include <vector>

#include "sim/base/key.hpp"
#include "sim/lineage/evaluator.hpp"

namespace straggler {

/// Names an evaluation: the weights, the samples they were evaluated on, and the program's math (`stamp`).
Key evaluation_key(const Key& weights, EvaluationSet set, std::size_t train_subset, const Key& stamp);

/// Safe to use from several threads.
class TrajectoryStore {
 public:
  virtual ~TrajectoryStore() = default;
  virtual std::optional<Evaluation> find(const Key& evaluation) = 0;
  virtual void keep(const Key& evaluation, const Evaluation& value) = 0;
};

/// Hash of the sources that compute numbers: another program's evaluations are not ours.
Key math_stamp();

/// Answers from a store alone. What is not known reads as no progress (accuracy 0, loss 0) and is noted.
class KnownEvaluations final : public Evaluator {
 public:
  KnownEvaluations(TrajectoryStore& store, std::size_t train_subset) : store_(store), train_subset_(train_subset) {}
  Evaluation evaluate(const Handle& weights, EvaluationSet set) override;
  void force(const Handle& /*value*/) override {}
  /// Evaluations that are not known, in the order in which they were asked for.
  const std::vector<Key>& missing() const { return missing_; }
  std::size_t found() const { return found_; }

 private:
  TrajectoryStore& store_;
  const std::size_t train_subset_;
  const Key stamp_ = math_stamp();
  std::vector<Key> missing_;
  std::size_t found_ = 0;
};

/// Asks another evaluator only where the store does not know, and tells the store.
class StoringEvaluator final : public Evaluator {
 public:
  StoringEvaluator(TrajectoryStore& store, Evaluator& math, std::size_t train_subset)
      : store_(store), math_(math), train_subset_(train_subset) {}
  Evaluation evaluate(const Handle& weights, EvaluationSet set) override;
  void force(const Handle& value) override { math_.force(value); }

 private:
  TrajectoryStore& store_;
  Evaluator& math_;
  const std::size_t train_subset_;
  const Key stamp_ = math_stamp();
};

}  // namespace straggler
