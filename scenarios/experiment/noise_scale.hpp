// The gradient noise scale B = tr(S) / |G|^2 of McCandlish et al. 2018 (arXiv 1812.06162, appendix A.1): S is the covariance of one
// sample's gradient, G the gradient of all. A batch far below B learns as much from a sample as a smaller one; far above it, a sample
// teaches less.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/data/partition.hpp"
#include "models/executor/executor.hpp"
#include "sim/lineage/evaluator.hpp"

namespace straggler {

/// From |g|^2 at two batch sizes, of gradients at the same weights: those of some batches, and their mean.
class NoiseScale {
 public:
  /// `small`: mean of |g|^2 over the batches; `large`: |g|^2 of the mean gradient; sizes in samples, large_batch > small_batch.
  void add(double small, double large, double small_batch, double large_batch);
  /// Samples: the ratio of the sums over all that was added. None: nothing was, or the gradient vanishes in the noise.
  std::optional<double> samples() const;

 private:
  double noise_ = 0, gradient_ = 0;
};

/// An evaluator that also measures gradients at the weights that it evaluates. Nothing else changes.
class NoiseProbe final : public Evaluator {
 public:
  /// All outlive this. `batch`: samples of a worker's gradient; `parameters`: its numbers, before those of statistics.
  NoiseProbe(Evaluator& inner, Executor& executor, Lineage& lineage, const StreamSizes& streams, std::int64_t workers, std::int64_t batch,
             std::size_t parameters);
  Evaluation evaluate(const Handle& weights, EvaluationSet set) override;
  std::optional<LossScale> loss_scale(const Handle& weights) override { return inner_.loss_scale(weights); }
  void force(const Handle& value) override { inner_.force(value); }
  void published(const Handle& weights, std::uint64_t version) override { inner_.published(weights, version); }
  void stopped(const Handle& weights, std::uint64_t version) override { inner_.stopped(weights, version); }
  std::optional<double> samples() const { return scale_.samples(); }

 private:
  void measure(const Handle& weights);

  Evaluator& inner_;
  Executor& executor_;
  Lineage& lineage_;
  const StreamSizes& streams_;
  const std::int64_t workers_, batch_;
  std::uint64_t measured_ = 0;  // versions
  Key last_;
  NoiseScale scale_;
  std::vector<double> sum_;  // [parameters]: of the gradients of a measurement
};

}  // namespace straggler
