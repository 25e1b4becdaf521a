// A network over sequences, computed in panels whose lanes are places (models/zoo/place_layer.hpp) by this project's own kernels: what the
// engine `panels` makes of networks that are not chains for PanelNetwork.
#pragma once
#include <memory>
#include <vector>

#include "models/zoo/derivative_slots.hpp"
#include "models/zoo/network.hpp"
#include "models/zoo/place_layer.hpp"

namespace straggler {

class PlaceNetwork final : public Model {
 public:
  /// Whether all of its layers have rows that compute them.
  static bool computes(const Architecture& architecture);
  /// Throws std::invalid_argument where it does not compute the architecture.
  PlaceNetwork(Architecture architecture, const ModelSetting& setting);
  std::size_t parameters() const override { return layout_.parameters; }
  std::vector<TensorInfo> tensors() const override { return tensors_of(architecture_); }
  bool draws() const override;
  std::vector<LayerCost> cost() const override { return cost_of(architecture_); }
  std::string_view engine() const override { return "panels"; }
  const Architecture* architecture() const override { return &architecture_; }
  std::size_t workspace_bytes(std::size_t samples) const override;
  void initialize(std::uint64_t seed, float* weights) const override { straggler::initialize(architecture_, seed, weights); }
  std::unique_ptr<Workspace> workspace() const override;
  double gradient(const float* weights, const Rows& rows, bool accumulate, float* gradient, Workspace& workspace) const override;
  double evaluate(const float* weights, const Rows& rows, std::uint64_t& correct, Workspace& workspace) const override;

 private:
  struct Scratch;
  struct Block;
  std::size_t layer_floats(const Shape& shape, std::size_t samples) const;
  /// Of a slot, whose layers may have other places.
  std::size_t slot_floats(std::size_t slot, std::size_t samples) const;
  /// Floats of scratch, and of the widest output.
  std::size_t scratch_floats(std::size_t samples) const;
  std::size_t widest_output(std::size_t samples) const;
  void make_room(std::size_t samples, bool training, Scratch& scratch) const;
  const float* rounded(const float* weights, Scratch& scratch) const;
  void round(std::size_t count, float* x) const;
  void take_inputs(const Block& block) const;
  PlacePass pass_of(const Block& block, std::size_t layer) const;
  void forward(const Block& block) const;
  /// The loss, and its derivative by the scores in the last layer's slot.
  double loss(const Block& block) const;
  void backward(const Block& block, float* gradient) const;
  void backward_layer(const Block& block, std::size_t layer, float* gradient) const;

  Architecture architecture_;
  NetworkLayout layout_;
  DerivativeSlots slots_;
  std::vector<const PlaceLayer*> rows_;   // [layers]
  std::vector<std::vector<bool>> again_;  // [layers][inputs]: whether the input's derivative has a term already
  std::size_t block_;                     // samples that pass through the layers together
  bool tokens_ = false;                   // the inputs are numbers of rows, which no format rounds
  const Kernels& kernels_;
  const PlaceKernels& places_;
  Precision precision_;
};

}  // namespace straggler
