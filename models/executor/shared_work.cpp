#include "models/executor/shared_work.hpp"

#include <algorithm>

namespace straggler {

SharedWork::SharedWork(const Arithmetic& arithmetic, const Formula& formula, const float* weights, const StepChain& chain, float* out,
                       SharedScratch& scratch)
    : arithmetic_(arithmetic),
      model_(*arithmetic.shared(formula)),
      formula_(formula),
      weights_(weights),
      steps_(chain.weights != nullptr),
      step_(chain.step),
      out_(out),
      scratch_(scratch),
      rows_(Arithmetic::samples(formula)) {
  begin_round();
}

void SharedWork::begin_round() {
  const std::size_t rows = std::min(rows_ - from_, arithmetic_.block());
  pieces_ = missing_ = of_weights_ ? model_.weight_pieces() : (rows + panel_rows - 1) / panel_rows;
  next_ = 0;
}

std::optional<SharedWork::Piece> SharedWork::take() {
  if (!more()) return std::nullopt;
  return Piece{of_weights_, next_++};
}

void SharedWork::run(const Piece& piece, Scratch& own) const {
  const std::size_t end = std::min(rows_, from_ + arithmetic_.block());
  if (!own.workspace) own.workspace = arithmetic_.workspace();
  if (piece.weights)
    return model_.weight_piece(piece.index, end - from_, scratch_.inputs.get(), from_ > 0, out_, steps_ && end == rows_ ? &step_ : nullptr,
                               *scratch_.workspace, *own.workspace);
  const std::size_t at = from_ + piece.index * panel_rows;
  const Rows rows = arithmetic_.gather_panel(formula_, weights_, at, std::min(end, at + panel_rows),
                                             scratch_.inputs.get() + piece.index * arithmetic_.gathered_floats(panel_rows), own);
  model_.pass_panel(piece.index, weights_, rows, *scratch_.workspace, *own.workspace);
}

bool SharedWork::finish() {
  if (--missing_ > 0) return false;
  if (of_weights_) from_ = std::min(rows_, from_ + arithmetic_.block());
  of_weights_ = !of_weights_;
  if (from_ == rows_) return true;
  begin_round();
  return false;
}

}  // namespace straggler
