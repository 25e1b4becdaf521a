// Makes a plan (onednn_plan.hpp): forward through the layers, the loss, backward. A batch norm is one pass with the sum and the ReLU that
// follow it. The output of such a pass before a convolution is not kept but recomputed backward: recomputing costs less than the
// memory.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "models/layers/norm.hpp"
#include "models/zoo/onednn_plan.hpp"

namespace straggler::onednn {

/// A layer's output, or the network's input: maps, of one place where it is a vector.
struct OutputValue {
  Place place;
  Layout layout;
  Maps maps;
  bool kept = true;  // false: recomputed backward
};

/// A batch norm fused with the following layers, if nothing else reads the intermediate values.
struct NormGroup {
  LayerIndex norm = 0, last = 0;       // last: the layer whose output the pass produces
  std::optional<LayerIndex> residual;  // the other input of the sum
  bool relu = false;
  Place numbers;  // per channel, [padded] each: mean, variance, factor, shift, constant, slope
};

class Planner {
 public:
  explicit Planner(const PlanSetting& setting);
  Plan make();
  /// Whether this engine computes such a layer.
  static bool knows(const LayerSpec& layer);

 private:
  /// How a kind of layer is planned. A norm is part of its group's pass.
  struct Kind {
    std::string_view name;
    void (Planner::*forward)(LayerIndex);
    void (Planner::*backward)(LayerIndex);
    bool (*fits)(const LayerSpec&) = nullptr;  // null: every layer of that kind
  };
  static const Kind* kind_of(const LayerSpec& layer);

  // Forward (onednn_forward.cpp).
  void find_groups();
  void forward(LayerIndex layer);
  void conv(LayerIndex layer);
  void winograd(LayerIndex layer, const WinogradMaps& conv);
  void linear(LayerIndex layer);
  void average_pool(LayerIndex layer);
  void max_pool(LayerIndex layer);
  void statistics(LayerIndex layer);
  void normalize(const NormGroup& group, const Place& out);
  void relu(LayerIndex layer);
  void add(LayerIndex layer);
  void flatten(LayerIndex layer);
  void loss();

  // Backward (onednn_backward.cpp).
  void backward(LayerIndex layer);
  void conv_backward(LayerIndex layer);
  void winograd_backward(LayerIndex layer, const WinogradMaps& conv);
  void linear_backward(LayerIndex layer);
  void average_pool_backward(LayerIndex layer);
  void max_pool_backward(LayerIndex layer);
  void norm_backward(const NormGroup& group);
  void norm_parameters(const NormGroup& group, const Place& sums);
  void relu_backward(LayerIndex layer);
  void add_backward(LayerIndex layer);
  void flatten_backward(LayerIndex layer);
  void no_gradient(LayerIndex layer);

  // Both (onednn_planner.cpp).
  const LayerSpec& spec(LayerIndex layer) const { return setting_.architecture.layers[layer]; }
  const OutputValue& input(LayerIndex layer) const { return value(spec(layer).inputs[0]); }
  const OutputValue& value(LayerIndex layer) const { return layer == network_input ? network_ : values_[layer]; }
  Convolution convolution_of(LayerIndex layer) const;
  /// If the layer is to be computed by MapKernels::winograd.
  std::optional<WinogradMaps> winograd_of(const Convolution& convolution) const;
  Linear linear_of(LayerIndex layer) const;
  Pool pool_of(LayerIndex layer) const;
  NormGroup* group_of(LayerIndex norm);

  Layout plain(const Shape& shape) const { return Layout::plain({setting_.rows, shape.channels, shape.height, shape.width}); }
  Place fresh(const Layout& layout) { return plan_.fresh(layout.bytes()); }
  void run(const Operator& made, std::vector<Place> arguments);
  Place in_layout(const Place& place, const Layout& is, const Layout& wanted);
  /// The layer's tensor as used: rounded, in that layout.
  Place weight(LayerIndex layer, std::size_t tensor, const Layout& plain, const Layout& wanted);
  Place parameter(LayerIndex layer, std::size_t tensor, std::size_t floats);
  /// The destination of an operator's tensor gradient, and the steps that bring it to the flat vector.
  Place gradient_place(LayerIndex layer, std::size_t tensor, const Layout& plain, const Layout& made);
  void gradient_store(LayerIndex layer, std::size_t tensor, const Layout& plain, const Layout& made, const Place& place);
  void rounded(const Place& place, std::size_t floats);
  /// The layer's output, given in that layout; if it is not the layout of maps, it is converted first.
  void set_maps(LayerIndex layer, Place place, Layout layout);
  /// The layer's output as backward steps read it.
  Place kept(LayerIndex layer);
  /// The gradients of a layer's output to be summed, at most this many; rounded: a single sum.
  std::vector<Place> arriving_at(LayerIndex layer, std::size_t most);
  void contribute(LayerIndex to, const Place& place, const Layout& layout);

  const PlanSetting setting_;
  Plan plan_;
  OutputValue network_;
  std::vector<OutputValue> values_;
  std::vector<std::vector<Place>> arriving_;  // gradients of a layer's output, in its layout, to be summed
  std::vector<NormGroup> groups_;
  std::vector<bool> swallowed_;  // fused into a later layer's pass
  std::vector<std::size_t> consumers_;
};

}  // namespace straggler::onednn
