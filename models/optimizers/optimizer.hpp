// Optimizers as rules over handles, and the elementwise arithmetic behind the rules.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/kernels/kernels.hpp"
#include "models/optimizers/rate_scaling.hpp"
#include "models/zoo/model.hpp"
#include "sim/base/parameters.hpp"
#include "sim/lineage/update_rule.hpp"

namespace straggler {

/// How long the vectors are, and where each tensor lies in them (empty: as one tensor). `own`: where the optimizer's own registers lie,
/// somewhere behind the n floats, and how many; a rule that does not combine must set those of its output. `apart`: where running
/// statistics begin, which ranks exchange by a message of their own (0: there are none).
struct Extent {
  std::size_t n = 0;
  std::span<const TensorInfo> tensors = {};
  std::size_t own = 0, registers = 0;
  std::size_t apart = 0;
};

/// What a rule does with the running statistics behind the parameters (Model::statistics).
enum class StatisticsRule {
  combine,  // as with the parameters: sums and means
  carry,    // those of the input `gradient`, whatever the arithmetic: a direction made of that gradient
  advance,  // those of input 0, the weights, moved by `statistics_momentum` towards those of the input `gradient`
};

/// What a rule makes of inputs of which few rows are not zero.
enum class SparseRule {
  densify,  // nothing: they are written out in full for it
  rows,     // element by element, zero where all inputs are: rows for rows, if all inputs are such
  descend,  // element by element, input 0 where all others are zero: only rows that one of these has change
};

/// `count` rows of `width` floats: written out, or else rows of `terms` from `first` on.
struct RowDirections {
  std::size_t count = 0, width = 0;
  const float* const* values = nullptr;
  const RowTerms* terms = nullptr;
  std::size_t first = 0;
};

/// Which of these a rule does, as its scalars have it. What descends along rows says how.
class SparseForm {
 public:
  /// Whether it does with these scalars; else it densifies.
  using Holds = bool (*)(const std::vector<double>& scalars);
  /// The rule in place, for some rows of inputs 0 and 1. To the same bits as ElementwiseEntry::apply.
  using DescendRows = void (*)(const Kernels& kernels, const RowDirections& directions, const std::vector<double>& scalars,
                               float* const* rows);

  /// Densifies, whatever the scalars.
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
  Holds holds_ = nullptr;  // null: whatever the scalars
};

/// The arithmetic of a lineage rule. `inputs`: vectors of n floats; `out` may be inputs[k] where `in_place` is k (or -1: no).
struct ElementwiseEntry {
  std::string name, summary;  // the name of the Rule
  std::vector<Parameter> parameters;
  /// Of a rule that carries: the state before, which may not be there yet.
  int in_place = -1;
  StatisticsRule statistics = StatisticsRule::combine;
  int gradient = 0;  // the input whose statistics are carried or moved towards
  void (*apply)(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>& scalars,
                float* out);
  SparseForm sparse = {};
  /// Only of one whose sparse form may descend.
  void descend_rows(const Kernels& kernels, const RowDirections& directions, const std::vector<double>& scalars, float* const* rows) const {
    sparse.by_(kernels, directions, scalars, rows);
  }
};

struct OptimizerEntry {
  std::string name, summary;
  std::vector<Parameter> parameters;
  /// Numbers that its state carries beside one for each parameter (how far bias correction is, …). Every vector of the run has room
  /// for them behind the running statistics, so that they are averaged, sent, reset and replayed with the vector that they belong to.
  std::size_t registers = 0;
  /// `schedule`: learning rate as a function of (epochs, gradients averaged), starting from the optimizer's own `learning_rate`.
  std::function<std::unique_ptr<UpdateRule>(const Parameters&, class Schedule schedule)> make;
};

/// Learning rate over the run: base · scale(averaged) · kind(epochs), with a warmup in front.
class Schedule {
 public:
  /// Multiplier of the rate at `epochs`, without warmup and scaling.
  using Shape = std::function<double(double epochs)>;
  using Scaling = RateScaling;
  Schedule() = default;
  Schedule(Shape shape, Scaling scaling, double warmup_epochs)
      : shape_(std::move(shape)), scaling_(scaling), warmup_epochs_(warmup_epochs) {}
  double rate(double base, double epochs, int averaged) const;

 private:
  Shape shape_;
  Scaling scaling_ = Scaling::none;
  double warmup_epochs_ = 0;
};

struct ScheduleEntry {
  std::string name, summary;
  std::vector<Parameter> parameters;  // the kind's own; warmup and scale_with_workers are common to all
  /// `total_epochs`: when the run stops; infinite if it does not stop at an epoch.
  std::function<Schedule::Shape(const Parameters&, double total_epochs)> make;
};

/// For schedules that end with the run. Throws std::invalid_argument if `total_epochs` is infinite.
void require_end(const char* schedule, double total_epochs);

}  // namespace straggler
