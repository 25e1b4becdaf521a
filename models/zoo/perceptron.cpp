#include "models/zoo/perceptron.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "models/layers/floats.hpp"
#include "models/zoo/architecture.hpp"
#include "models/zoo/block_rows.hpp"
#include "sim/base/random.hpp"

namespace straggler {

namespace {

struct Scratch final : Workspace {
  std::vector<Floats> activations;  // panels: [0] the inputs, [l + 1] the output of layer l
  Floats errors[2];                 // derivatives by a hidden layer's output, alternating
  Floats weights;                   // rounded, unless they are used as they are
};

std::string tensor_name(std::size_t layer, bool bias) { return std::to_string(2 * layer) + (bias ? ".bias" : ".weight"); }

}  // namespace

Perceptron::Perceptron(std::vector<std::size_t> widths, const Kernels& kernels, Precision precision)
    : loss_{0}, kernels_(kernels), precision_(precision) {
  if (widths.size() < 2) throw std::invalid_argument("a perceptron needs inputs and classes; give at least two widths");
  if (std::find(widths.begin(), widths.end(), 0u) != widths.end())
    throw std::invalid_argument("a layer of width 0; every width is at least 1");
  for (std::size_t l = 0, offset = 0; l + 1 < widths.size(); ++l) {
    layers_.emplace_back(widths[l], widths[l + 1], offset, l + 2 < widths.size(), l > 0);
    offset += layers_.back().parameters();
  }
  loss_.classes = widths.back();
  ArchitectureBuilder build({widths[0], 1, 1});
  LayerIndex x = network_input;
  for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
    if (l > 0) x = build.relu(x);
    x = build.linear(x, std::to_string(2 * l), widths[l + 1]);
  }
  describe(std::make_shared<const Architecture>(std::move(build).build()));
}

std::size_t Perceptron::parameters() const { return layers_.back().offset() + layers_.back().parameters(); }

std::vector<TensorInfo> Perceptron::tensors() const {
  std::vector<TensorInfo> tensors;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Dense& layer = layers_[l];
    tensors.push_back({tensor_name(l, false), {layer.out(), layer.in()}, layer.offset()});
    tensors.push_back({tensor_name(l, true), {layer.out()}, layer.bias_offset()});
  }
  return tensors;
}

std::vector<LayerCost> Perceptron::cost() const {
  std::vector<LayerCost> cost;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const double in = static_cast<double>(layers_[l].in()), out = static_cast<double>(layers_[l].out());
    cost.push_back({std::to_string(2 * l), layers_[l].parameters(), 2 * in * out, out * sizeof(float)});
  }
  return cost;
}

std::size_t Perceptron::workspace_bytes(std::size_t rows) const {
  const std::size_t block = std::min(rows, block_rows);
  std::size_t floats = panel_floats(block, layers_[0].in()), widest = 0;
  for (const Dense& layer : layers_) {
    floats += panel_floats(block, layer.out());
    if (&layer != &layers_[0]) widest = std::max(widest, layer.in());
  }
  return (floats + 2 * panel_floats(block, widest) + (precision_ == Precision::fp32 ? 0 : parameters())) * sizeof(float);
}

void Perceptron::initialize(std::uint64_t seed, float* weights) const {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Dense& layer = layers_[l];
    const double bound = 1 / std::sqrt(static_cast<double>(layer.in()));
    for (const bool bias : {false, true}) {
      RandomStream stream(seed, "model/" + tensor_name(l, bias));
      float* const tensor = weights + (bias ? layer.bias_offset() : layer.offset());
      const std::size_t count = bias ? layer.out() : layer.in() * layer.out();
      for (std::size_t i = 0; i < count; ++i) tensor[i] = static_cast<float>((2 * stream.uniform() - 1) * bound);
    }
  }
}

std::unique_ptr<Workspace> Perceptron::workspace() const {
  auto scratch = std::make_unique<Scratch>();
  scratch->activations.resize(layers_.size() + 1);
  return scratch;
}

const float* Perceptron::in_use(const float* weights, Workspace& workspace) const {
  if (precision_ == Precision::fp32) return weights;
  Floats& rounded = static_cast<Scratch&>(workspace).weights;
  rounded.grow(parameters());
  kernels_.round(precision_, parameters(), weights, 1.0f, rounded.data());
  return rounded.data();
}

void Perceptron::round(float* panels, std::size_t rows, std::size_t features) const {
  if (precision_ != Precision::fp32) kernels_.round(precision_, panel_floats(rows, features), panels, 1.0f, panels);
}

void Perceptron::forward(const float* weights, std::size_t rows, const float* inputs, Workspace& workspace) const {
  Scratch& scratch = static_cast<Scratch&>(workspace);
  scratch.activations[0].grow(panel_floats(rows, layers_[0].in()));
  kernels_.to_panels(rows, layers_[0].in(), inputs, scratch.activations[0].data());
  round(scratch.activations[0].data(), rows, layers_[0].in());
  for (std::size_t l = 0; l < layers_.size() && !workspace.called_off(); ++l) {
    scratch.activations[l + 1].grow(panel_floats(rows, layers_[l].out()));
    layers_[l].forward(kernels_, rows, weights, scratch.activations[l].data(), scratch.activations[l + 1].data());
    round(scratch.activations[l + 1].data(), rows, layers_[l].out());
  }
}

double Perceptron::gradient(const float* weights, const Rows& rows, bool accumulate, float* gradient, Workspace& workspace) const {
  Scratch& scratch = static_cast<Scratch&>(workspace);
  if (rows.count == 0 && !accumulate) std::fill_n(gradient, parameters(), 0.0f);
  weights = in_use(weights, workspace);
  double loss = 0;
  for (std::size_t at = 0; at < rows.count; at += block_rows, accumulate = true) {
    const std::size_t count = std::min(block_rows, rows.count - at);
    forward(weights, count, rows.inputs + at * layers_[0].in(), workspace);
    if (workspace.called_off()) return loss;
    float* error = scratch.activations.back().data();
    loss += loss_.backward(kernels_, count, error, rows.labels + at, rows.scale + at);
    round(error, count, loss_.classes);
    for (std::size_t l = layers_.size(); l-- > 0;) {
      const float* const x = scratch.activations[l].data();
      layers_[l].backward_weights(kernels_, count, x, error, accumulate, gradient);
      if (l == 0 || workspace.called_off()) break;
      Floats& below = scratch.errors[l % 2];
      below.grow(panel_floats(count, layers_[l].in()));
      layers_[l].backward_input(kernels_, count, weights, x, error, below.data());
      round(below.data(), count, layers_[l].in());
      error = below.data();
    }
  }
  return loss;
}

double Perceptron::evaluate(const float* weights, const Rows& rows, std::uint64_t& correct, Workspace& workspace) const {
  weights = in_use(weights, workspace);
  double loss = 0;
  for (std::size_t at = 0; at < rows.count; at += block_rows) {
    const std::size_t count = std::min(block_rows, rows.count - at);
    forward(weights, count, rows.inputs + at * layers_[0].in(), workspace);
    loss += loss_.evaluate(kernels_, count, static_cast<Scratch&>(workspace).activations.back().data(), rows.labels + at, correct);
  }
  return loss;
}

}  // namespace straggler
