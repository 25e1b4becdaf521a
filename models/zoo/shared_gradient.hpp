// A gradient that several threads compute together.
#pragma once
#include <cstddef>
#include <memory>

namespace straggler {

class Workspace;
struct Rows;
struct WeightStep;

/// In two rounds: first each panel of samples passes forward and backward, then the pieces of the weights' gradient are computed. The parts
/// of a round may be computed in any order, by any threads. The result has the bits of Model::gradient for the same samples.
class SharedGradient {
 public:
  /// Multiply-adds for this many samples, about.
  virtual double work(std::size_t rows) const = 0;
  /// The values that the threads share, for up to this many samples, and their bytes.
  virtual std::unique_ptr<Workspace> shared_workspace(std::size_t rows) const = 0;
  virtual std::size_t shared_bytes(std::size_t rows) const = 0;
  /// First round. `rows`: the samples of this panel alone, with Rows::panels. `own`: the thread's, of Model::workspace.
  virtual void pass_panel(std::size_t panel, const float* weights, const Rows& rows, Workspace& shared, Workspace& own) const = 0;
  /// Second round. `inputs`: the panels of all `rows` samples. The pieces write disjoint parts of the gradient. `step`: null, or the step
  /// that follows, at the weights of the piece, as SteppedGradient has it.
  virtual std::size_t weight_pieces() const = 0;
  virtual void weight_piece(std::size_t piece, std::size_t rows, const float* inputs, bool accumulate, float* gradient,
                            const WeightStep* step, Workspace& shared, Workspace& own) const = 0;

 protected:
  ~SharedGradient() = default;
};

}  // namespace straggler
