// Arithmetic on the weights and gradients that workers contribute. Takes no time; back ends and nodes share it.
//
// Functions never modify their arguments: each derives a new value. A result joins the contributions of its inputs in the order given and
// adds up their samples.
#pragma once
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/training/optimizer.hpp"
#include "sim/training/payload.hpp"
#include "sim/training/plan.hpp"

namespace straggler {

/// One summand of a linear combination: factor times vector. An empty vector stands for zero.
struct Term {
  Handle vector;
  double factor = 1;
};

/// Sums run in the order given; those of an all-reduce in the order of `all_reduce_rule`. Lists are not empty.
class Algebra {
 public:
  /// Both outlive this object.
  Algebra(Lineage& lineage, const TrainingPlan& plan) : lineage_(lineage), plan_(plan), batches_(&plan.batches) {}

  /// The workers' batches now: the plan's, or those that a back end changes during the run. `batches` outlives this object.
  const Batches& batches() const { return *batches_; }
  void use(const Batches& batches) { batches_ = &batches; }

  /// The gradient of a batch as its worker has it: accumulated over micro-batches, clipped if workers clip.
  Handle taken(const Handle& weights, const Batch& batch) const;
  /// Means over workers: all parts count the same, or each the stated batches of those that contributed to it (TrainingPlan).
  Gradient mean(const std::vector<Gradient>& parts, const Rule& rule = rules::mean) const;
  Weights mean(const std::vector<Weights>& parts, const Rule& rule = rules::mean) const;
  /// A vote over compressed gradients taken at the same weights (Compression::vote). It has as many bytes as one of them.
  Gradient vote(const std::vector<Gradient>& parts) const;
  /// After an all-gather each rank sums by itself, in the order of ranks.
  const Rule& all_reduce_rule() const {
    const bool gathered = plan_.compression && plan_.compression->gathered;
    return plan_.ring_sums && !gathered ? rules::ring_mean : rules::mean;
  }
  /// The same for parts like this one. Compressed parts are summed as their messages carry them.
  const Rule& all_reduce_rule(const Gradient& part) const;
  const Rule& all_reduce_rule(const Weights& part) const;
  /// Σ shares[i] parts[i].
  Weights weighted_mean(const std::vector<Weights>& parts, const std::vector<double>& shares) const;
  /// Σ shares[i] parts[i] as the value of `mine`; the version, progress and contributions of `mine` stay.
  Weights blend(const Weights& mine, const std::vector<Weights>& parts, const std::vector<double>& shares) const;
  Gradient weighted_sum(const std::vector<Gradient>& parts, const std::vector<double>& shares) const;
  Gradient add(const Gradient& sum, const Gradient& next) const;

  /// Σ factor · vector, for vectors that travel as attachments: control variates. Empty if all of them are.
  Handle combination(const std::vector<Term>& terms) const;
  /// to - from, with the running statistics of `to`.
  Handle move(const Handle& from, const Handle& to) const;
  /// The same displacement applied at `from`, with its running statistics: applying move(from, to) at `from` gives `to`, up to rounding.
  Handle moved(const Handle& from, const Handle& move) const;
  /// The elementwise product of vectors.
  Handle product(const std::vector<Handle>& vectors) const;
  /// The gradient with another value: same weights, samples and contributions. Running statistics are the caller's.
  Gradient replaced(const Gradient& gradient, Handle value) const;
  /// gradient + Σ factor · vector. Running statistics remain the gradient's.
  Gradient corrected(const Gradient& gradient, const std::vector<Term>& terms) const;
  /// factor · gradient, with the same counts. Running statistics remain the gradient's.
  Gradient scaled(const Gradient& gradient, double factor) const;
  /// The same, counted as the mean of `workers` gradients by rules that scale the learning rate by their number.
  Gradient counted_as(const Gradient& gradient, double workers) const;
  /// from - to, in that fragment: a step of rate 1 along it leads from `from` to `to`. It carries the contributions and the running
  /// statistics of `to`.
  Gradient difference(const Weights& from, const Weights& to, Fragment fragment = {}) const;
  /// The gradient in that fragment, and 0 elsewhere; the fragments of a gradient, in order, joined again. Same weights, samples and
  /// contributions: of `joined`, those of the first. Throws std::invalid_argument unless they are all fragments of one cut.
  Gradient part(const Gradient& gradient, Fragment fragment) const;
  Gradient joined(const std::vector<Gradient>& fragments) const;
  /// (1 - share) mine + share · other in that fragment; elsewhere mine. Its contributions are those of `mine`; its version is `other`'s.
  Weights blend(const Weights& mine, const Weights& other, double share, Fragment fragment = {}) const;
  /// The vector whose chunk k is chunk k of chunks[k]. All vectors have one length, and the chunks are equal pieces. A vector that occurs
  /// several times is one input; if only one vector occurs, the result is that vector. Not empty.
  Handle mixture(const std::vector<Handle>& chunks) const;
  /// `stepped`, with the running statistics of `from`: for steps along a mean direction, whose statistics are already averaged.
  Weights with_statistics(const Weights& stepped, const Gradient& from) const;
  /// The weights without their contributions, so that nothing counts twice.
  Weights without_contributions(Weights weights) const;
  Weights attach(Weights weights, std::string_view name, Handle vector) const;
  Weights without_attached(Weights weights) const;
  /// The gradient of the same batches at other weights; none if it is not a mean over batches.
  std::optional<Handle> taken_at(const Gradient& gradient, const Weights& weights) const;
  /// The same contribution with its gradient recomputed at `weights`, and marked as such (GradientState::More::newest). None if it is not a
  /// mean or sum of gradients of batches.
  std::optional<Gradient> retaken(const Gradient& gradient, const Weights& weights) const;

  /// One step of the optimizer along the gradient, in epoch `epochs` of the training. The gradient's contributions join those of the
  /// weights; successive steps of the node `self`, if it is a worker, are one contribution. Throws UnsupportedOperation along a part of a
  /// gradient if the optimizer needs all of it.
  Weights stepped(Weights weights, const Gradient& gradient, Optimizer& optimizer, double epochs, Rank self) const;
  /// The weights as the version that follows theirs, without their contributions.
  Weights next_version(const Weights& before, Rank publisher) const;

  /// The payload as it arrives. A message carries weights, and values derived from them, in the precision of the run. Gradients are already
  /// in that precision, attached vectors are always sent in full, and compressed values arrive unchanged.
  Weights as_sent(Weights weights) const;
  Gradient as_sent(Gradient gradient) const;
  Samples as_sent(Samples samples) const { return samples; }
  Token as_sent(Token token) const { return token; }

  /// The mean that an all-reduce computes from the messages' values.
  struct CompressedMean {
    Handle value;
    std::shared_ptr<const LowRank> product;  // of these factors; null: the compressor has none
  };
  CompressedMean compressed_mean(const std::vector<CompressedVector>& parts) const;
  // The mean of vectors that all-reduces move as factors: an all-reduce of the left ones, P, then one of the right ones.
  Handle left_mean(const std::vector<CompressedVector>& parts) const;
  Handle orthogonal(const Handle& left, const std::vector<double>& scalars) const;
  /// M^T P: one worker's, and the mean of all.
  Handle right_factor(const CompressedVector& part, const Handle& left) const;
  Handle right_mean(const std::vector<CompressedVector>& parts, const Handle& left) const;

 private:
  Handle compressed_mean(const std::vector<Handle>& values, int factor, const std::vector<double>& scalars) const;
  Handle accumulated(const Handle& weights, const Batch& batch) const;
  /// Differences from a common base have their mean there. Where bases differ, it is reached from the mean of these.
  Handle mean_base(const std::vector<Weights>& parts) const;
  Lineage& lineage_;
  const TrainingPlan& plan_;
  const Batches* batches_;
};

}  // namespace straggler
