// Means and sums of what workers contribute. Takes no time; back ends and nodes share it.
//
// A result says what went into it: contributions are joined in the order given, samples are added up.
#pragma once
#include <vector>

#include "sim/training/payload.hpp"
#include "sim/training/plan.hpp"

namespace straggler {

/// Sums run in the order given; those of an all-reduce in the order of `all_reduce_rule`. Lists are not empty.
class Algebra {
 public:
  /// Both outlive this.
  Algebra(Lineage& lineage, const TrainingPlan& plan) : lineage_(lineage), plan_(plan) {}

  Gradient mean(const std::vector<Gradient>& parts, const Rule& rule = rules::mean);
  Weights mean(const std::vector<Weights>& parts, const Rule& rule = rules::mean);
  const Rule& all_reduce_rule() const { return plan_.ring_sums ? rules::ring_mean : rules::mean; }
  /// Σ shares[i] parts[i].
  Weights weighted_mean(const std::vector<Weights>& parts, const std::vector<double>& shares);
  /// Σ shares[i] parts[i] as the value of `mine`, all else of which stays: version, progress, contributions.
  Weights blend(const Weights& mine, const std::vector<Weights>& parts, const std::vector<double>& shares);
  Gradient weighted_sum(const std::vector<Gradient>& parts, const std::vector<double>& shares);
  Gradient add(const Gradient& sum, const Gradient& next);
  /// What arrives of a payload: a message carries weights in the precision of the run. Gradients are in it already, optimizer state is
  /// always sent whole.
  Weights as_sent(Weights weights) const;
  Gradient as_sent(Gradient gradient) const { return gradient; }
  Samples as_sent(Samples samples) const { return samples; }

 private:
  Lineage& lineage_;
  const TrainingPlan& plan_;
};

}  // namespace straggler
