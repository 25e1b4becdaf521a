// The elementwise arithmetic of lineage rules: sums and means, steps of optimizers, compressors.
#pragma once
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/kernels/kernels.hpp"
#include "models/rules/tensor_info.hpp"
#include "sim/base/parameters.hpp"

namespace straggler {

/// The length of the vectors, and the offset of each tensor in them (empty: one tensor). `own`: offset, behind the n floats, and number of
/// the optimizer's own registers; a rule that does not combine must set those of its output. `apart`: start of the running statistics,
/// which ranks exchange in a separate message (0: there are none).
struct Extent {
  std::size_t n = 0;
  std::span<const TensorInfo> tensors = {};
  std::size_t own = 0, registers = 0;
  std::size_t apart = 0;
};

/// A rule's treatment of the running statistics behind the parameters (Model::statistics).
enum class StatisticsRule {
  combine,  // as the parameters: sums and means
  carry,    // those of the input `gradient`, independent of the arithmetic: a direction derived from that gradient
  advance,  // those of input 0, the weights, moved by `statistics_momentum` towards those of the input `gradient`
};

/// Fraction by which each step moves a running statistic towards the batch's (PyTorch's default for batch norm).
inline constexpr float statistics_momentum = 0.1f;

/// A rule's treatment of inputs with few nonzero rows.
enum class SparseRule {
  densify,  // none: the inputs are densified
  rows,     // element-wise, zero where all inputs are: sparse output if all inputs are sparse
  descend,  // element-wise, equal to input 0 where all others are zero: only rows present in one of these change
};

/// A rule's part in a WeightStep, by which a gradient is computed and stepped along at once.
enum class StepPart {
  none,
  velocity,  // (g, w[, v]; momentum, decay) -> v_out
  descend,   // (w, direction; rate, decay) -> w_out
};

/// `count` rows of `width` floats: dense, or rows of `terms` from `first` on.
struct RowDirections {
  std::size_t count = 0, width = 0;
  const float* const* values = nullptr;
  const RowTerms* terms = nullptr;
  std::size_t first = 0;
};

/// The treatment by a rule, depending on its scalars. A rule that descends along rows provides the function.
class SparseForm {
 public:
  /// Whether the treatment holds for these scalars; else the rule densifies.
  using Holds = bool (*)(const std::vector<double>& scalars);
  /// The rule in place, for some rows of inputs 0 and 1. Same bits as ElementwiseEntry::apply.
  using DescendRows = void (*)(const Kernels& kernels, const RowDirections& directions, const std::vector<double>& scalars,
                               float* const* rows);

  /// Densifies, for any scalars.
  SparseForm() = default;
  static SparseForm rows() { return SparseForm(SparseRule::rows, nullptr, nullptr); }
  /// Throws std::logic_error without either.
  static SparseForm descend(DescendRows by, Holds holds) {
    if (!by || !holds) throw std::logic_error("a rule that descends along rows must say how, and with which scalars");
    return SparseForm(SparseRule::descend, by, holds);
  }

  SparseRule operator()(const std::vector<double>& scalars) const { return !holds_ || holds_(scalars) ? rule_ : SparseRule::densify; }

 private:
  friend struct ElementwiseEntry;
  SparseForm(SparseRule rule, DescendRows by, Holds holds) : rule_(rule), by_(by), holds_(holds) {}
  SparseRule rule_ = SparseRule::densify;
  DescendRows by_ = nullptr;
  Holds holds_ = nullptr;  // null: for any scalars
};

/// The arithmetic of a lineage rule. `inputs`: vectors of n floats; `out` may be inputs[k] where `in_place` is k (or -1: no).
struct ElementwiseEntry {
  std::string name, summary;  // the name of the Rule
  DeclaredParameters parameters;
  /// For a rule that carries: the input with the earlier state, which may be absent.
  int in_place = -1;
  StatisticsRule statistics = StatisticsRule::combine;
  int gradient = 0;  // the input whose statistics are carried or moved towards
  void (*apply)(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>& scalars,
                float* out);
  /// Bytes that a call allocates besides; null: none.
  std::size_t (*scratch_bytes)(const Extent& extent) = nullptr;
  SparseForm sparse = {};
  /// Another input that `out` may be, where inputs[in_place] is still needed: its buffer is in a cache, a fresh one is not.
  int in_place_else = -1;
  StepPart part = StepPart::none;
  /// Only for a rule whose sparse form may descend.
  void descend_rows(const Kernels& kernels, const RowDirections& directions, const std::vector<double>& scalars, float* const* rows) const {
    sparse.by_(kernels, directions, scalars, rows);
  }
};

}  // namespace straggler
