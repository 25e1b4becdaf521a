// The engine `onednn`'s plan for one architecture and number of rows: a list of steps over buffers of one arena. A buffer lives from its
// first to its last step; buffers with disjoint lifetimes share memory.
#pragma once
#include <functional>
#include <vector>

#include "models/kernels/onednn/maps.hpp"
#include "models/kernels/onednn/operators.hpp"
#include "models/zoo/network.hpp"

namespace straggler::onednn {

/// The inputs of planning. All outlive the plan.
struct PlanSetting {
  const Architecture& architecture;
  const NetworkLayout& layout;
  const Kernels& kernels;
  const MapKernels& maps;
  Precision precision;
  ConvolutionRule convolution;
  std::size_t rows;
  bool training;  // forward with the batch's statistics, and backward; else forward with running statistics
};

/// The arguments of one run of a plan.
struct Call {
  const float* weights;
  Rows rows;
  float* gradient;  // null when evaluating
  bool accumulate;
  double total_scale;  // of the rows
  char* arena;
  double loss = 0;
  std::uint64_t correct = 0;
};

/// Location of numbers during a call.
struct Place {
  enum class Kind { arena, weights, inputs, gradient } kind = Kind::arena;
  std::size_t at = 0;      // arena: number of the buffer, after `pack` its offset in bytes; weights, gradient: offset in floats
  std::size_t buffer = 0;  // gradient: the substitute buffer while the call accumulates; none: `nowhere`
};
inline constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

class Plan {
 public:
  using Step = std::function<void(const Plan&, Call&)>;
  std::size_t arena_bytes() const { return bytes_; }
  const std::vector<Step>& steps() const { return steps_; }

  float* at(const Place& place, const Call& call) const;

  // During planning:
  Place fresh(std::size_t bytes);
  /// `touched`: all places that the step reads or writes.
  void step(const std::vector<Place>& touched, Step step);
  /// Assigns each buffer its offset in the arena; nothing may be added afterwards.
  void pack();

 private:
  struct Buffer {
    std::size_t bytes, first = nowhere, last = 0, offset = 0;
  };
  void touch(std::size_t buffer);

  std::vector<Buffer> buffers_;
  std::vector<Step> steps_;
  std::size_t bytes_ = 0;
};

Plan make_plan(const PlanSetting& setting);

/// Whether every layer has a step.
bool plannable(const Architecture& architecture);

}  // namespace straggler::onednn
