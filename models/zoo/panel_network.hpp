// A chain of convolutions, pools, ReLUs and dense layers, computed in panels (models/kernels/kernels.hpp) by this project's own
// kernels: the engine `panels`.
//
// The layer before a ReLU computes it. The layer above computes the derivative by the ReLU's output and applies the ReLU's derivative
// there, from that output. A max pool preserves both: its output is rectified if its input is. A max pool right after a convolution runs
// panel by panel, so that only one panel of the convolution's own output is kept.
#pragma once
#include <memory>
#include <vector>

#include "models/layers/cross_entropy.hpp"
#include "models/zoo/architecture.hpp"
#include "models/zoo/network.hpp"
#include "models/zoo/shared_gradient.hpp"
#include "models/zoo/stepped_gradient.hpp"

namespace straggler {

/// One or more fused layers.
struct PanelStep {
  enum class Kind { conv, dense, max_pool, average_pool, relu };
  Kind kind = Kind::relu;
  std::size_t in = 0, out = 0;        // floats of a sample
  std::size_t weights = 0, bias = 0;  // offsets; conv and dense
  bool biased = false;                // conv
  bool relu = false;                  // conv and dense: the output is rectified
  bool rectified_input = false;       // the input is the output of a ReLU
  Convolution conv;
  bool pooled = false;       // conv: a max pool follows
  std::size_t channels = 0;  // of a pool
  SlidingWindow pool;

  bool has_winners() const { return pooled || kind == Kind::max_pool; }
  /// Floats of a sample of a convolution's own output.
  std::size_t conv_out() const { return conv.out_channels * conv.slide.outputs(); }
};

/// Empty if the architecture is not a chain of such layers.
std::vector<PanelStep> panel_steps(const Architecture& architecture);

class PanelNetwork final : public Model, private SharedGradient, private SteppedGradient {
 public:
  /// Throws std::invalid_argument where panel_steps(architecture) is empty.
  PanelNetwork(Architecture architecture, const ModelSetting& setting);
  std::size_t parameters() const override { return parameters_; }
  std::vector<TensorInfo> tensors() const override { return tensors_of(architecture_); }
  std::vector<LayerCost> cost() const override { return cost_of(architecture_); }
  std::string_view engine() const override { return "panels"; }
  const Architecture* architecture() const override { return &architecture_; }
  std::size_t workspace_bytes(std::size_t rows) const override;
  void initialize(std::uint64_t seed, float* weights) const override { straggler::initialize(architecture_, seed, weights); }
  std::unique_ptr<Workspace> workspace() const override;
  bool takes_panels() const override { return true; }
  double gradient(const float* weights, const Rows& rows, bool accumulate, float* gradient, Workspace& workspace) const override;
  double evaluate(const float* weights, const Rows& rows, std::uint64_t& correct, Workspace& workspace) const override;
  const SharedGradient* shared() const override;
  const SteppedGradient* stepped() const override;

 private:
  struct Values;
  struct Storage;
  struct Scratch;
  struct Shared;
  /// Columns (dense) or output channels (conv) of one step.
  struct WeightPiece {
    std::size_t step = 0, first = 0, count = 0;
    double work = 0;  // multiply-adds of a sample
  };

  // Threads that share a gradient (panel_sharing.cpp).
  double work(std::size_t rows) const override;
  std::unique_ptr<Workspace> shared_workspace(std::size_t rows) const override;
  std::size_t shared_bytes(std::size_t rows) const override;
  void pass_panel(std::size_t panel, const float* weights, const Rows& rows, Workspace& shared, Workspace& own) const override;
  std::size_t weight_pieces() const override { return pieces_.size(); }
  void weight_piece(std::size_t piece, std::size_t rows, const float* inputs, bool accumulate, float* gradient, const WeightStep* step,
                    Workspace& shared, Workspace& own) const override;
  std::vector<WeightPiece> cut_weights() const;
  double gradient_and_step(const float* weights, const Rows& rows, bool accumulate, float* gradient, const WeightStep& step,
                           Workspace& workspace) const override;
  /// At positions first .. first + count - 1.
  void step_along(std::size_t first, std::size_t count, const float* gradient, const WeightStep& along) const;
  /// `step`: null, or what follows.
  double compute(const float* weights, const Rows& rows, bool accumulate, float* gradient, const WeightStep* step,
                 Workspace& workspace) const;
  void conv_piece(const WeightPiece& piece, std::size_t rows, const Values& values, const float* dy, bool accumulate, float* gradient,
                  Scratch& scratch) const;

  /// The weights in the form that the layers read.
  const float* rounded(const float* weights, Scratch& scratch) const;
  void round(std::size_t count, float* x) const;
  /// `count` rows from row `at` on, as the first step reads them: in panels, rounded.
  const float* inputs_of(const Rows& rows, std::size_t at, std::size_t count, Scratch& scratch) const;
  void forward(const float* weights, std::size_t rows, const Values& values, Scratch& scratch) const;
  /// In the thread's own memory.
  const Values& forward_here(const float* weights, std::size_t rows, const float* inputs, Scratch& scratch) const;
  void forward_conv(const PanelStep& step, const float* weights, std::size_t rows, const float* x, float* y, std::uint8_t* winner,
                    Scratch& scratch) const;
  /// gradient, dx: null if not asked for; dx is for the first step. `along`: null, or the step to make along the gradient.
  void backward(std::size_t step, const float* weights, std::size_t rows, const Values& values, const float* dy, bool accumulate,
                float* gradient, const WeightStep* along, float* dx, Scratch& scratch) const;
  void backward_conv(const PanelStep& step, const float* weights, std::size_t rows, const float* x, const float* dy,
                     const std::uint8_t* winner, bool accumulate, float* gradient, float* dx, Scratch& scratch) const;

  Architecture architecture_;
  std::vector<PanelStep> steps_;
  std::vector<WeightPiece> pieces_;
  std::size_t parameters_;
  SoftmaxCrossEntropy loss_;
  const Kernels& kernels_;
  Precision precision_;
};

}  // namespace straggler
