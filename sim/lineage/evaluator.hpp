// How the math plane looks from the timing plane: somebody who can look at a handle's value.
#pragma once
#include <cstdint>
#include <optional>

#include "sim/lineage/lineage.hpp"

namespace straggler {

struct Evaluation {
  double loss = 0;      // mean over the samples
  double accuracy = 0;  // share of samples whose largest score is their label's
};

/// What dynamic loss scaling has come to in the history of weights (docs/model.md, Loss scale).
struct LossScale {
  double scale = 1;
  std::uint64_t skipped = 0;  // updates, because a gradient overflowed
};

enum class EvaluationSet : std::uint8_t { train_subset, train, test, validation };

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  virtual Evaluation evaluate(const Handle& weights, EvaluationSet set) = 0;
  /// None where the scale is not dynamic.
  virtual std::optional<LossScale> loss_scale(const Handle& /*weights*/) { return std::nullopt; }
  /// Evaluates all that `value` needs, so that the lineage does not grow without bound.
  virtual void force(const Handle& value) = 0;
  /// A version was published; its stop has been looked at. Whoever saves what is known may do so now.
  virtual void published(const Handle& /*weights*/, std::uint64_t /*version*/) {}
  /// The run came to its stop with these weights; all that it would have gone on with is still there.
  virtual void stopped(const Handle& /*weights*/, std::uint64_t /*version*/) {}
};

}  // namespace straggler
