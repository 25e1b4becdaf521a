// One gradient that the threads of a pool compute together (models/zoo/shared_gradient.hpp), in units of Arithmetic::block rows.
#pragma once
#include <cstddef>
#include <optional>

#include "models/executor/arithmetic.hpp"
#include "models/zoo/shared_gradient.hpp"

namespace straggler {

/// The memory that the threads share.
struct SharedScratch {
  std::unique_ptr<Workspace> workspace;
  AlignedFloats inputs;  // of a unit, in panels
};

/// Called under the pool's mutex, but for `run`.
class SharedWork {
 public:
  /// `arithmetic` can share the formula. All arguments but the chain outlive this.
  SharedWork(const Arithmetic& arithmetic, const Formula& formula, const float* weights, const StepChain& chain, float* out,
             SharedScratch& scratch);

  struct Piece {
    bool weights = false;  // the round: of the panels, then of the weights' gradient
    std::size_t index = 0;
  };
  /// Whether pieces are to be taken now.
  bool more() const { return next_ < pieces_; }
  std::optional<Piece> take();
  void run(const Piece& piece, Scratch& own) const;
  /// Call it after `run`. True after the last piece of all: `out` holds the sums.
  bool finish();

 private:
  void begin_round();

  const Arithmetic& arithmetic_;
  const SharedGradient& model_;
  const Formula& formula_;
  const float* const weights_;
  const bool steps_;
  const WeightStep step_;  // that the last unit makes
  float* const out_;
  SharedScratch& scratch_;
  const std::size_t rows_;
  std::size_t from_ = 0;  // the unit's first row
  bool of_weights_ = false;
  std::size_t pieces_ = 0, next_ = 0, missing_ = 0;  // of the round
};

}  // namespace straggler
