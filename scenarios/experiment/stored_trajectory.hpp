// Connects a run to the trajectory store: known evaluations, values from which training resumes, and values saved for other runs.
//
// A run's values at a version (its weights, and all that is live besides them: momentum, older weights that gradients in flight refer
// to) are a place from which every run with the same beginning continues. Such places are saved at intervals and at the end; which ones
// only affects the cost of later runs, never their results.
#pragma once
#include <deque>
#include <map>
#include <unordered_set>
#include <vector>

#include "models/executor/executor.hpp"
#include "scenarios/experiment/run_options.hpp"
#include "scenarios/experiment/trajectory_store.hpp"

namespace straggler {

/// The store's values of one trajectory.
class StoredValues final : public KnownValues {
 public:
  StoredValues(TrajectoryStore& store, const Lineage& lineage);
  bool knows(const Key& key) const override { return known_.contains(key); }
  bool read(const Key& key, std::span<float> to) override;
  void keep(const Key& key, std::span<const float> floats);
  void forget(const Key& key);
  std::uint64_t budget() const { return store_.value_budget(); }

 private:
  TrajectoryStore& store_;
  const Key root_;
  std::unordered_set<Key, KeyHash> known_;
};

/// Answers from a store alone. An unknown evaluation reads as no progress (accuracy 0, loss 0) and is noted. `dynamic`: whether weights
/// include a loss scale.
class KnownEvaluations final : public Evaluator {
 public:
  KnownEvaluations(TrajectoryStore& store, const StoredValues& values, std::size_t train_subset, bool dynamic)
      : store_(store), values_(values), train_subset_(train_subset), dynamic_(dynamic) {}
  Evaluation evaluate(const Handle& weights, EvaluationSet set) override;
  std::optional<LossScale> loss_scale(const Handle& weights) override;
  void force(const Handle& /*value*/) override {}
  void published(const Handle& weights, std::uint64_t version) override { note(weights, version); }
  void stopped(const Handle& weights, std::uint64_t version) override { note(weights, version); }
  /// Unknown evaluations, in the order of the requests.
  const std::vector<Key>& missing() const { return missing_; }
  std::size_t found() const { return found_; }
  /// The last version whose weights are known; 0: none.
  std::uint64_t known_version() const { return known_version_; }

 private:
  Evaluation find(const Key& key);
  void note(const Handle& weights, std::uint64_t version) {
    if (values_.knows(weights.key())) known_version_ = version;
  }
  TrajectoryStore& store_;
  const StoredValues& values_;
  const std::size_t train_subset_;
  const bool dynamic_;
  const Key stamp_ = math_stamp();
  std::vector<Key> missing_;
  std::size_t found_ = 0;
  std::uint64_t known_version_ = 0;
};

/// Decides which versions are saved. Estimates times from counts, so that the choice does not depend on the machine's load.
class SavePoints {
 public:
  /// `sample_flops`: of the gradient of one sample. `from`: the version that training continues from.
  SavePoints(Executor& executor, Lineage& lineage, StoredValues& values, const SavingRule& rule, double sample_flops, std::uint64_t from);
  void published(const Handle& weights, std::uint64_t version);
  void stopped(const Handle& weights, std::uint64_t version);

 private:
  struct Point {
    std::uint64_t version;
    std::vector<Key> keys;  // of all values that are needed to continue from there
  };
  double seconds_of_math() const;
  double seconds_of_saving(std::size_t values) const;
  bool save(const Handle& weights, std::uint64_t version, double seconds);
  void thin_out();
  void forget(std::size_t point);

  Executor& executor_;
  const Lineage& lineage_;
  StoredValues& values_;
  const SavingRule rule_;
  const double sample_flops_;
  const Key initial_;  // never saved: it is made again at once
  const std::uint64_t from_;
  std::uint64_t next_version_;
  double saved_at_ = 0;  // seconds_of_math() at the last save
  std::deque<Point> points_;
  std::map<Key, std::uint32_t> needed_;   // by how many of the points
  std::unordered_set<Key, KeyHash> own_;  // saved by this run
};

/// Asks another evaluator only for evaluations that the store lacks, and stores them.
class StoringEvaluator final : public Evaluator {
 public:
  /// Up to `known_version` the store has values to continue from: until then nothing is evaluated for the sake of a short lineage.
  StoringEvaluator(TrajectoryStore& store, Executor& math, const Lineage& lineage, SavePoints& points, std::size_t train_subset,
                   std::uint64_t known_version)
      : store_(store), math_(math), lineage_(lineage), points_(points), train_subset_(train_subset), known_version_(known_version) {}
  Evaluation evaluate(const Handle& weights, EvaluationSet set) override;
  std::optional<LossScale> loss_scale(const Handle& weights) override;
  void force(const Handle& value) override;
  void published(const Handle& weights, std::uint64_t version) override;
  void stopped(const Handle& weights, std::uint64_t version) override;

 private:
  TrajectoryStore& store_;
  Executor& math_;
  const Lineage& lineage_;
  SavePoints& points_;
  const std::size_t train_subset_;
  std::uint64_t known_version_;
  std::uint64_t version_ = 0;
  const Key stamp_ = math_stamp();
};

}  // namespace straggler
