#include "models/zoo/reference_network.hpp"

#include <algorithm>
#include <stdexcept>
#include <type_traits>

#include "models/layers/layer_pass.hpp"
#include "models/layers/reference_loss.hpp"

namespace straggler {
namespace {

void round_in_place(Precision precision, std::size_t count, float* x) {
  if (precision != Precision::fp32) round_to(precision, count, x, x);
}
void round_in_place(Precision, std::size_t, double*) {}  // refused at the start

}  // namespace

/// One call: the inputs and outputs of the layers.
template <class Scalar>
struct ReferenceNetwork<Scalar>::Pass {
  const Scalar* weights;     // the parameters as used
  const Scalar* statistics;  // the running statistics
  const Batch& batch;
  const Scalar* inputs;  // as used
  bool training;
  Memory& memory;
  std::vector<bool> touched = {};  // backward: whether a derivative has its first term
  std::vector<typename LayerPass<Scalar>::Input> layer_inputs = {};

  const Scalar* output(LayerIndex layer) const { return layer == network_input ? inputs : memory.outputs[layer].data(); }
};

template <class Scalar>
std::string ReferenceNetwork<Scalar>::lacks(const Architecture& architecture) {
  const std::vector<LayerSpec>& layers = architecture.layers;
  if (layers.empty()) return "a network without layers; give at least one";
  std::vector<bool> used(layers.size(), false);
  used.back() = true;
  for (std::size_t l = layers.size(); l-- > 0;) {
    if (!layers[l].entry->forward && l + 1 == layers.size() && layers[l].is("softmax"))
      return "the last layer, '" + layers[l].name + "', is a softmax, which the loss applies itself; leave it out";
    if (!layers[l].entry->forward) return "the layer '" + layers[l].name + "' is cost-only and cannot be trained";
    if (!used[l]) return "the layer '" + layers[l].name + "' feeds nothing; the loss looks at the last layer only";
    for (const LayerIndex input : layers[l].inputs) {
      if (input == network_input) continue;
      if (layers[l].entry->tokens) return "the embedding '" + layers[l].name + "' is fed by a layer; feed it tokens";
      used[input] = true;
    }
  }
  return "";
}

template <class Scalar>
ReferenceNetwork<Scalar>::ReferenceNetwork(Architecture architecture, Precision precision)
    : architecture_(std::move(architecture)), precision_(precision), layout_(architecture_) {
  if (const std::string what = lacks(architecture_); !what.empty()) throw std::invalid_argument(what);
  if (!std::is_same_v<Scalar, float> && precision != Precision::fp32)
    throw std::invalid_argument("only a network in float rounds to another format");
  slots_ = derivative_slots(architecture_);
  for (const LayerSpec& layer : architecture_.layers) {
    if (layer.entry->scratch) scratch_ = std::max(scratch_, layer.entry->scratch(layer));
    tokens_ = tokens_ || layer.entry->tokens;
  }
}

template <class Scalar>
bool ReferenceNetwork<Scalar>::draws() const {
  return std::any_of(architecture_.layers.begin(), architecture_.layers.end(),
                     [](const LayerSpec& layer) { return layer.entry->draws && layer.entry->draws(layer); });
}

template <class Scalar>
typename ReferenceNetwork<Scalar>::Memory ReferenceNetwork<Scalar>::memory() const {
  Memory memory;
  memory.outputs.resize(architecture_.layers.size());
  memory.kept.resize(architecture_.layers.size());
  memory.derivatives.resize(slots_.floats.size());
  return memory;
}

template <class Scalar>
std::size_t ReferenceNetwork<Scalar>::memory_bytes(std::size_t rows) const {
  std::size_t floats = 0, kept = 0;  // per row
  for (const LayerSpec& layer : architecture_.layers) {
    floats += layer.out.size();
    if (layer.entry->kept_indices) kept += layer.entry->kept_indices(layer);
  }
  for (const std::size_t slot : slots_.floats) floats += slot;
  std::size_t fixed = layout_.statistic_floats + scratch_;
  if (precision_ != Precision::fp32) {
    if (!tokens_) floats += architecture_.input.size();
    fixed += layout_.parameters;
  }
  return (rows * floats + fixed) * sizeof(Scalar) + rows * kept * sizeof(std::uint32_t);
}

template <class Scalar>
typename ReferenceNetwork<Scalar>::Pass ReferenceNetwork<Scalar>::begin(const Scalar* weights, const Batch& batch, bool training,
                                                                        Memory& memory) const {
  Pass pass{weights, weights + layout_.parameters, batch, batch.inputs, training, memory};
  if (training && draws() && !batch.draws) throw std::logic_error("a network with dropout wants the draws of its samples");
  if (precision_ != Precision::fp32) {
    Scalar* const parameters = memory.weights.grow(layout_.parameters);
    std::copy_n(weights, layout_.parameters, parameters);
    round_in_place(precision_, layout_.parameters, parameters);
    pass.weights = parameters;
    if (!tokens_) {
      const std::size_t count = batch.rows * architecture_.input.size();
      Scalar* const inputs = memory.inputs.grow(count);
      std::copy_n(batch.inputs, count, inputs);
      round_in_place(precision_, count, inputs);
      pass.inputs = inputs;
    }
  }
  memory.statistics.grow(layout_.statistic_floats);
  memory.scratch.grow(scratch_);
  return pass;
}

template <class Scalar>
void ReferenceNetwork<Scalar>::forward(Pass& pass) const {
  for (std::size_t l = 0; l < architecture_.layers.size() && !pass.memory.called_off(); ++l) {
    const std::size_t count = pass.batch.rows * architecture_.layers[l].out.size();
    pass.memory.outputs[l].grow(count);
    architecture_.layers[l].entry->forward(layer_pass(pass, l));
    round_in_place(precision_, count, pass.memory.outputs[l].data());
  }
}

/// What the layer's row needs of this call, but derivatives.
template <class Scalar>
LayerPass<Scalar> ReferenceNetwork<Scalar>::layer_pass(Pass& pass, std::size_t index) const {
  const LayerSpec& layer = architecture_.layers[index];
  pass.layer_inputs.clear();
  for (const LayerIndex input : layer.inputs)
    pass.layer_inputs.push_back(
        {pass.output(input), nullptr, input == network_input ? architecture_.input.size() : architecture_.layers[input].out.size()});
  const std::size_t statistics = layout_.statistics[index] - layout_.parameters;
  const std::size_t kept = layer.entry->kept_indices ? pass.batch.rows * layer.entry->kept_indices(layer) : 0;
  return {.layer = layer,
          .index = index,
          .rows = pass.batch.rows,
          .training = pass.training,
          .draws = pass.batch.draws,
          .inputs = pass.layer_inputs,
          .y = pass.memory.outputs[index].data(),
          .offsets = layout_.tensors[index],
          .weights = pass.weights,
          .running = pass.statistics + statistics,
          .batch = pass.memory.statistics.data() + statistics,
          .kept = pass.memory.kept[index].grow(kept),
          .scratch = pass.memory.scratch.data()};
}

template <class Scalar>
double ReferenceNetwork<Scalar>::gradient(const Scalar* weights, const Batch& batch, bool accumulate, Scalar* gradient,
                                          Memory& memory) const {
  if (batch.rows == 0) {
    if (!accumulate) std::fill_n(gradient, layout_.parameters + layout_.statistic_floats, Scalar(0));
    return 0;
  }
  Pass pass = begin(weights, batch, true, memory);
  forward(pass);
  if (memory.called_off()) return 0;
  const std::size_t last = architecture_.layers.size() - 1;
  Scalar* const error = memory.derivatives[slots_.of_layer[last]].grow(batch.rows * slots_.floats[slots_.of_layer[last]]);
  std::copy_n(pass.output(last), batch.rows * classes() * places(), error);
  const double loss = reference::softmax_cross_entropy(batch.rows, classes(), error, batch.labels, batch.scale, places());
  if (!accumulate) std::fill_n(gradient, layout_.parameters + layout_.statistic_floats, Scalar(0));
  add_statistics(pass, gradient);
  backward(pass, gradient);
  return loss;
}

template <class Scalar>
void ReferenceNetwork<Scalar>::add_statistics(const Pass& pass, Scalar* gradient) const {
  double scale = 0;
  for (std::size_t row = 0; row < pass.batch.rows; ++row) scale += static_cast<double>(pass.batch.scale[row]);
  for (std::size_t i = 0; i < layout_.statistic_floats; ++i)
    gradient[layout_.parameters + i] += static_cast<Scalar>(scale) * pass.memory.statistics.data()[i];
}

template <class Scalar>
void ReferenceNetwork<Scalar>::backward(Pass& pass, Scalar* gradient) const {
  pass.touched.assign(architecture_.layers.size(), false);
  for (std::size_t l = architecture_.layers.size(); l-- > 0 && !pass.memory.called_off();) {
    Scalar* const dy = pass.memory.derivatives[slots_.of_layer[l]].data();
    round_in_place(precision_, pass.batch.rows * architecture_.layers[l].out.size(), dy);
    backward_layer(pass, l, dy, gradient);
  }
}

/// The destination of a derivative by a layer's output; zero at first. Null for the network's input, which has none.
template <class Scalar>
Scalar* ReferenceNetwork<Scalar>::derivative(Pass& pass, LayerIndex layer) const {
  if (layer == network_input) return nullptr;
  Scalar* const at = pass.memory.derivatives[slots_.of_layer[layer]].grow(pass.batch.rows * slots_.floats[slots_.of_layer[layer]]);
  if (!pass.touched[layer]) std::fill_n(at, pass.batch.rows * architecture_.layers[layer].out.size(), Scalar(0));
  pass.touched[layer] = true;
  return at;
}

template <class Scalar>
void ReferenceNetwork<Scalar>::backward_layer(Pass& pass, std::size_t index, const Scalar* dy, Scalar* gradient) const {
  const LayerSpec& layer = architecture_.layers[index];
  LayerPass<Scalar> whole = layer_pass(pass, index);
  whole.dy = dy;
  whole.weight_gradient = gradient;
  bool of_use = !layer.tensors.empty();
  for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
    pass.layer_inputs[i].dx = derivative(pass, layer.inputs[i]);
    of_use = of_use || pass.layer_inputs[i].dx;
  }
  if (of_use) layer.entry->backward(whole);
}

template <class Scalar>
double ReferenceNetwork<Scalar>::evaluate(const Scalar* weights, const Batch& batch, std::uint64_t& correct, Memory& memory) const {
  if (batch.rows == 0) return 0;
  Pass pass = begin(weights, batch, false, memory);
  forward(pass);
  if (memory.called_off()) return 0;
  return reference::softmax_evaluate(batch.rows, classes(), pass.output(architecture_.layers.size() - 1), batch.labels, correct, places());
}

template class ReferenceNetwork<float>;
template class ReferenceNetwork<double>;

}  // namespace straggler
