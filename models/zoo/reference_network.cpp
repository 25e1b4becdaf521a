#include "models/zoo/reference_network.hpp"

#include <algorithm>
#include <stdexcept>
#include <type_traits>

#include "models/layers/convolution_products.hpp"
#include "models/layers/reference.hpp"

namespace straggler {
namespace {

/// A linear layer is a convolution whose window is one place.
reference::Convolution convolution(const LayerSpec& layer, std::size_t rows) {
  if (layer.kind == LayerKind::conv) return {rows, layer.in.channels, layer.out.channels, layer.groups, layer.sliding()};
  const std::size_t places = layer.in.height * layer.in.width;
  return {rows, layer.in.channels, layer.out.channels, 1, {{}, 1, places, 1, places}};
}

void forward(const reference::Convolution& layer, const double* x, const double* w, const double* b, double* y, double*) {
  reference::convolution_forward(layer, x, w, b, y);
}
void forward(const reference::Convolution& layer, const float* x, const float* w, const float* b, float* y, float* columns) {
  ConvolutionProducts(layer).forward(x, w, b, y, columns);
}
void backward(const reference::Convolution& layer, const double* x, const double* w, const double* dy, double* dw, double* db, double* dx,
              double*) {
  reference::convolution_backward_weights(layer, x, dy, dw, db);
  if (dx) reference::convolution_backward_input(layer, dy, w, dx);
}
void backward(const reference::Convolution& layer, const float* x, const float* w, const float* dy, float* dw, float* db, float* dx,
              float* columns) {
  const ConvolutionProducts products(layer);
  products.backward_weights(x, dy, dw, db, columns);
  if (dx) products.backward_input(dy, w, dx, columns);
}

void round_in_place(Precision precision, std::size_t count, float* x) {
  if (precision != Precision::fp32) round_to(precision, count, x, x);
}
void round_in_place(Precision, std::size_t, double*) {}  // refused at the start

bool computed(LayerKind kind) {
  switch (kind) {
    case LayerKind::conv:
    case LayerKind::batch_norm:
    case LayerKind::linear:
    case LayerKind::embedding:
    case LayerKind::layer_norm:
    case LayerKind::relu:
    case LayerKind::tanh:
    case LayerKind::dropout:
    case LayerKind::max_pool:
    case LayerKind::average_pool:
    case LayerKind::add:
    case LayerKind::concat:
    case LayerKind::flatten:
      return true;
    default:
      return false;
  }
}

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
  std::vector<bool> touched;  // backward: whether a derivative has its first term

  const Scalar* output(LayerIndex layer) const { return layer == network_input ? inputs : memory.outputs[layer].data(); }
};

template <class Scalar>
std::string ReferenceNetwork<Scalar>::lacks(const Architecture& architecture) {
  const std::vector<LayerSpec>& layers = architecture.layers;
  if (layers.empty()) return "a network without layers; give at least one";
  std::vector<bool> used(layers.size(), false);
  used.back() = true;
  for (std::size_t l = layers.size(); l-- > 0;) {
    if (!computed(layers[l].kind)) return "the layer '" + layers[l].name + "' is cost-only and cannot be trained";
    if (!used[l]) return "the layer '" + layers[l].name + "' feeds nothing; the loss looks at the last layer only";
    for (const LayerIndex input : layers[l].inputs) {
      if (input == network_input) continue;
      if (layers[l].kind == LayerKind::embedding) return "the embedding '" + layers[l].name + "' is fed by a layer; feed it tokens";
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
  plan_derivatives();
  if constexpr (std::is_same_v<Scalar, float>)
    for (const LayerSpec& layer : architecture_.layers)
      if (layer.kind == LayerKind::conv || layer.kind == LayerKind::linear)
        column_floats_ = std::max(column_floats_, ConvolutionProducts(convolution(layer, 1)).column_floats());
}

/// A derivative lives from the last reader of an output back to the layer that made it. Slots are reused as backward proceeds.
template <class Scalar>
void ReferenceNetwork<Scalar>::plan_derivatives() {
  constexpr std::size_t none = static_cast<std::size_t>(-1);
  const std::vector<LayerSpec>& layers = architecture_.layers;
  slot_.assign(layers.size(), none);
  std::vector<std::size_t> free;
  const auto take = [&](std::size_t floats) {
    // The smallest sufficient slot, else the largest, which grows.
    auto best = free.end();
    for (auto slot = free.begin(); slot != free.end(); ++slot) {
      if (best == free.end()) best = slot;
      const std::size_t size = slot_floats_[*slot], best_size = slot_floats_[*best];
      if (best_size < floats ? size > best_size : size >= floats && size < best_size) best = slot;
    }
    if (best == free.end()) {
      slot_floats_.push_back(floats);
      return slot_floats_.size() - 1;
    }
    const std::size_t taken = *best;
    free.erase(best);
    slot_floats_[taken] = std::max(slot_floats_[taken], floats);
    return taken;
  };
  slot_.back() = take(layers.back().out.size());
  for (std::size_t l = layers.size(); l-- > 0;) {
    for (const LayerIndex input : layers[l].inputs)
      if (input != network_input && slot_[input] == none) slot_[input] = take(layers[input].out.size());
    free.push_back(slot_[l]);
  }
}

template <class Scalar>
bool ReferenceNetwork<Scalar>::draws() const {
  return std::any_of(architecture_.layers.begin(), architecture_.layers.end(),
                     [](const LayerSpec& layer) { return layer.kind == LayerKind::dropout && layer.dropout_rate > 0; });
}

template <class Scalar>
typename ReferenceNetwork<Scalar>::Memory ReferenceNetwork<Scalar>::memory() const {
  Memory memory;
  memory.outputs.resize(architecture_.layers.size());
  memory.winners.resize(architecture_.layers.size());
  memory.derivatives.resize(slot_floats_.size());
  return memory;
}

template <class Scalar>
std::size_t ReferenceNetwork<Scalar>::memory_bytes(std::size_t rows) const {
  std::size_t floats = 0, winners = 0;  // per row
  for (const LayerSpec& layer : architecture_.layers) {
    floats += layer.out.size();
    if (layer.kind == LayerKind::max_pool) winners += layer.out.size();
  }
  for (const std::size_t slot : slot_floats_) floats += slot;
  std::size_t fixed = layout_.statistic_floats + column_floats_;
  if (precision_ != Precision::fp32) {
    floats += architecture_.input.size();
    fixed += layout_.parameters;
  }
  return (rows * floats + fixed) * sizeof(Scalar) + rows * winners * sizeof(std::uint32_t);
}

template <class Scalar>
typename ReferenceNetwork<Scalar>::Pass ReferenceNetwork<Scalar>::begin(const Scalar* weights, const Batch& batch, bool training,
                                                                        Memory& memory) const {
  Pass pass{weights, weights + layout_.parameters, batch, batch.inputs, training, memory, {}};
  if (training && draws() && !batch.draws) throw std::logic_error("a network with dropout wants the draws of its samples");
  if (precision_ != Precision::fp32) {
    const std::size_t count = batch.rows * architecture_.input.size();
    Scalar* const parameters = memory.weights.grow(layout_.parameters);
    std::copy_n(weights, layout_.parameters, parameters);
    round_in_place(precision_, layout_.parameters, parameters);
    Scalar* const inputs = memory.inputs.grow(count);
    std::copy_n(batch.inputs, count, inputs);
    round_in_place(precision_, count, inputs);
    pass.weights = parameters;
    pass.inputs = inputs;
  }
  memory.statistics.grow(layout_.statistic_floats);
  memory.columns.grow(column_floats_);
  return pass;
}

template <class Scalar>
void ReferenceNetwork<Scalar>::forward(Pass& pass) const {
  for (std::size_t l = 0; l < architecture_.layers.size() && !pass.memory.called_off(); ++l) {
    const std::size_t count = pass.batch.rows * architecture_.layers[l].out.size();
    pass.memory.outputs[l].grow(count);
    forward_layer(pass, l);
    round_in_place(precision_, count, pass.memory.outputs[l].data());
  }
}

template <class Scalar>
void ReferenceNetwork<Scalar>::forward_layer(Pass& pass, std::size_t index) const {
  const LayerSpec& layer = architecture_.layers[index];
  const std::size_t rows = pass.batch.rows, size = layer.out.size(), count = rows * size, places = layer.out.height * layer.out.width;
  const Scalar* const x = pass.output(layer.inputs[0]);
  Scalar* const y = pass.memory.outputs[index].data();
  const auto tensor = [&](std::size_t t) { return t < layer.tensors.size() ? pass.weights + layout_.tensors[index][t] : nullptr; };
  switch (layer.kind) {
    case LayerKind::conv:
    case LayerKind::linear:
      return straggler::forward(convolution(layer, rows), x, tensor(0), tensor(1), y, pass.memory.columns.data());
    case LayerKind::batch_norm:
    case LayerKind::layer_norm:
      return forward_norm(pass, index, x, y);
    case LayerKind::embedding:
      return reference::embedding_forward(rows, places, layer.tensors[0].shape[0], layer.out.channels, x, tensor(0), y);
    case LayerKind::relu:
      return reference::relu_forward(count, x, y);
    case LayerKind::tanh:
      return reference::tanh_forward(count, x, y);
    case LayerKind::max_pool: {
      std::uint32_t* const winners = pass.memory.winners[index].grow(count);
      return reference::max_pool_forward(rows * layer.out.channels, layer.sliding(), x, y, winners);
    }
    case LayerKind::average_pool:
      return reference::average_pool_forward(rows * layer.out.channels, layer.sliding(), x, y);
    case LayerKind::dropout:
      if (!pass.training || layer.dropout_rate == 0) break;
      std::fill_n(y, count, Scalar(0));
      return reference::dropout(rows, size, pass.batch.draws, index, layer.dropout_rate, x, y);
    case LayerKind::concat:
      for (std::size_t row = 0, to = 0; row < rows; ++row)
        for (const LayerIndex input : layer.inputs) {
          const std::size_t piece = input == network_input ? architecture_.input.size() : architecture_.layers[input].out.size();
          std::copy_n(pass.output(input) + row * piece, piece, y + to);
          to += piece;
        }
      return;
    default:
      break;
  }
  std::copy_n(x, count, y);
  for (std::size_t i = 1; i < layer.inputs.size(); ++i) reference::add(count, pass.output(layer.inputs[i]), y);
}

template <class Scalar>
void ReferenceNetwork<Scalar>::forward_norm(Pass& pass, std::size_t index, const Scalar* x, Scalar* y) const {
  const LayerSpec& layer = architecture_.layers[index];
  const std::size_t rows = pass.batch.rows, channels = layer.in.channels, places = layer.in.height * layer.in.width;
  const Scalar *const gain = pass.weights + layout_.tensors[index][0], *const bias = pass.weights + layout_.tensors[index][1];
  if (layer.kind == LayerKind::layer_norm) return reference::layer_norm_forward(rows, channels, places, x, gain, bias, y);
  const std::size_t at = layout_.statistics[index] - layout_.parameters;
  if (pass.training) {
    Scalar* const batch = pass.memory.statistics.data() + at;
    return reference::batch_norm_forward(rows, channels, places, x, gain, bias, y, batch, batch + channels);
  }
  const Scalar* const running = pass.statistics + at;
  reference::batch_norm_evaluate(rows, channels, places, x, gain, bias, running, running + channels, y);
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
  Scalar* const error = memory.derivatives[slot_[last]].grow(batch.rows * slot_floats_[slot_[last]]);
  std::copy_n(pass.output(last), batch.rows * classes(), error);
  const double loss = reference::softmax_cross_entropy(batch.rows, classes(), error, batch.labels, batch.scale);
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
    Scalar* const dy = pass.memory.derivatives[slot_[l]].data();
    round_in_place(precision_, pass.batch.rows * architecture_.layers[l].out.size(), dy);
    backward_layer(pass, l, dy, gradient);
  }
}

/// The destination of a derivative by a layer's output; zero at first. Null for the network's input, which has none.
template <class Scalar>
Scalar* ReferenceNetwork<Scalar>::derivative(Pass& pass, LayerIndex layer) const {
  if (layer == network_input) return nullptr;
  Scalar* const at = pass.memory.derivatives[slot_[layer]].grow(pass.batch.rows * slot_floats_[slot_[layer]]);
  if (!pass.touched[layer]) std::fill_n(at, pass.batch.rows * architecture_.layers[layer].out.size(), Scalar(0));
  pass.touched[layer] = true;
  return at;
}

template <class Scalar>
void ReferenceNetwork<Scalar>::backward_layer(Pass& pass, std::size_t index, const Scalar* dy, Scalar* gradient) const {
  const LayerSpec& layer = architecture_.layers[index];
  const std::size_t rows = pass.batch.rows, size = layer.out.size(), count = rows * size;
  if (!layer.tensors.empty()) return backward_tensors(pass, index, dy, gradient);
  std::size_t from = 0;  // of a concatenation's input in a row
  for (const LayerIndex input : layer.inputs) {
    Scalar* const dx = derivative(pass, input);
    const std::size_t piece = input == network_input ? architecture_.input.size() : architecture_.layers[input].out.size();
    from += piece;
    if (!dx) continue;
    switch (layer.kind) {
      case LayerKind::relu:
        reference::relu_backward(count, pass.output(index), dy, dx);
        break;
      case LayerKind::tanh:
        reference::tanh_backward(count, pass.output(index), dy, dx);
        break;
      case LayerKind::max_pool:
        reference::max_pool_backward(rows * layer.out.channels, layer.sliding(), pass.memory.winners[index].data(), dy, dx);
        break;
      case LayerKind::average_pool:
        reference::average_pool_backward(rows * layer.out.channels, layer.sliding(), dy, dx);
        break;
      case LayerKind::concat:
        for (std::size_t row = 0; row < rows; ++row) reference::add(piece, dy + row * size + from - piece, dx + row * piece);
        break;
      case LayerKind::dropout:
        if (layer.dropout_rate > 0) {
          reference::dropout(rows, size, pass.batch.draws, index, layer.dropout_rate, dy, dx);
          break;
        }
        [[fallthrough]];
      default:  // add, flatten
        reference::add(count, dy, dx);
    }
  }
}

template <class Scalar>
void ReferenceNetwork<Scalar>::backward_tensors(Pass& pass, std::size_t index, const Scalar* dy, Scalar* gradient) const {
  const LayerSpec& layer = architecture_.layers[index];
  const std::size_t rows = pass.batch.rows, channels = layer.in.channels, places = layer.in.height * layer.in.width;
  const Scalar *const x = pass.output(layer.inputs[0]), *const w = pass.weights + layout_.tensors[index][0];
  Scalar* const dw = gradient + layout_.tensors[index][0];
  Scalar* const db = layer.tensors.size() > 1 ? gradient + layout_.tensors[index][1] : nullptr;
  Scalar* const dx = derivative(pass, layer.inputs[0]);
  switch (layer.kind) {
    case LayerKind::batch_norm:
      return reference::batch_norm_backward(rows, channels, places, x, w, dy, dw, db, dx);
    case LayerKind::layer_norm:
      return reference::layer_norm_backward(rows, channels, places, x, w, dy, dw, db, dx);
    case LayerKind::embedding:
      return reference::embedding_backward(rows, places, layer.tensors[0].shape[0], layer.out.channels, x, dy, dw);
    default:
      return straggler::backward(convolution(layer, rows), x, w, dy, dw, db, dx, pass.memory.columns.data());
  }
}

template <class Scalar>
double ReferenceNetwork<Scalar>::evaluate(const Scalar* weights, const Batch& batch, std::uint64_t& correct, Memory& memory) const {
  if (batch.rows == 0) return 0;
  Pass pass = begin(weights, batch, false, memory);
  forward(pass);
  if (memory.called_off()) return 0;
  return reference::softmax_evaluate(batch.rows, classes(), pass.output(architecture_.layers.size() - 1), batch.labels, correct);
}

template class ReferenceNetwork<float>;
template class ReferenceNetwork<double>;

}  // namespace straggler
