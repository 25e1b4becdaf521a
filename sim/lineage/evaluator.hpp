// The timing plane's view of the math plane: an object that evaluates handles.
#pragma once
#include <cstdint>
#include <optional>

#include "sim/lineage/lineage.hpp"

namespace straggler {

struct Evaluation {
  double loss = 0;      // mean over the samples, and over the places of each
  double accuracy = 0;  // share of places whose largest score is their label's
};

/// The state of dynamic loss scaling in the history of weights (docs/model.md, Loss scale).
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
  /// A version was published, and its stop rule has been checked. Saving known values is allowed now.
  virtual void published(const Handle& /*weights*/, std::uint64_t /*version*/) {}
  /// The run came to its stop with these weights; the state needed to continue still exists.
  virtual void stopped(const Handle& /*weights*/, std::uint64_t /*version*/) {}
};

}  // namespace straggler
