#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/quantization/support.hpp"

namespace straggler::test {
namespace {

using Values = std::vector<double>;

double at(const Values& x, const Shape& shape, std::size_t c, std::ptrdiff_t i, std::ptrdiff_t j, double outside) {
  if (i < 0 || j < 0 || i >= static_cast<std::ptrdiff_t>(shape.height) || j >= static_cast<std::ptrdiff_t>(shape.width)) return outside;
  return x[(c * shape.height + static_cast<std::size_t>(i)) * shape.width + static_cast<std::size_t>(j)];
}

/// Calls visit(output index, channel, first row, first column of the window) for every output.
template <class Visit>
void for_outputs(const LayerSpec& layer, const Visit& visit) {
  std::size_t index = 0;
  for (std::size_t c = 0; c < layer.out.channels; ++c)
    for (std::size_t i = 0; i < layer.out.height; ++i)
      for (std::size_t j = 0; j < layer.out.width; ++j, ++index)
        visit(index, c, static_cast<std::ptrdiff_t>(i * layer.window.stride) - static_cast<std::ptrdiff_t>(layer.window.pad_height),
              static_cast<std::ptrdiff_t>(j * layer.window.stride) - static_cast<std::ptrdiff_t>(layer.window.pad_width));
}

Values convolve(const LayerSpec& layer, const Values& x, const float* weight, const float* bias) {
  Values y(layer.out.size());
  const std::size_t inputs = layer.tensors[0].shape[1], per_group = layer.out.channels / (layer.in.channels / inputs);
  for_outputs(layer, [&](std::size_t index, std::size_t o, std::ptrdiff_t top, std::ptrdiff_t left) {
    double sum = bias ? static_cast<double>(bias[o]) : 0;
    const float* w = weight + o * inputs * layer.window.height * layer.window.width;
    for (std::size_t c = 0; c < inputs; ++c)
      for (std::size_t i = 0; i < layer.window.height; ++i)
        for (std::size_t j = 0; j < layer.window.width; ++j)
          sum += static_cast<double>(*w++) * at(x, layer.in, o / per_group * inputs + c, top + static_cast<std::ptrdiff_t>(i),
                                                left + static_cast<std::ptrdiff_t>(j), 0);
    y[index] = sum;
  });
  return y;
}

Values pool(const LayerSpec& layer, const Values& x, bool largest) {
  Values y(layer.out.size());
  for_outputs(layer, [&](std::size_t index, std::size_t c, std::ptrdiff_t top, std::ptrdiff_t left) {
    double most = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::size_t i = 0; i < layer.window.height; ++i)
      for (std::size_t j = 0; j < layer.window.width; ++j) {
        const std::ptrdiff_t row = top + static_cast<std::ptrdiff_t>(i), column = left + static_cast<std::ptrdiff_t>(j);
        most = std::max(most, at(x, layer.in, c, row, column, most));
        sum += at(x, layer.in, c, row, column, 0);
      }
    y[index] = largest ? most : sum / static_cast<double>(layer.window.height * layer.window.width);
  });
  return y;
}

}  // namespace

std::vector<Values> forward(const Trained& trained, const std::vector<float>& input) {
  const NetworkLayout layout(trained.architecture);
  const Values given(input.begin(), input.end());
  std::vector<Values> out;
  for (std::size_t l = 0; l < trained.architecture.layers.size(); ++l) {
    LayerSpec layer = trained.architecture.layers[l];
    const auto value = [&](std::size_t i) -> const Values& { return layer.inputs[i] == network_input ? given : out[layer.inputs[i]]; };
    const auto tensor = [&](std::size_t t) { return t < layer.tensors.size() ? trained.weights.data() + layout.tensors[l][t] : nullptr; };
    Values y = value(0);
    if (layer.is("linear")) layer.window = {};
    if (layer.is("conv") || layer.is("linear")) y = convolve(layer, value(0), tensor(0), tensor(1));
    if (layer.is("max_pool") || layer.is("average_pool")) y = pool(layer, value(0), layer.is("max_pool"));
    if (layer.is("batch_norm")) {
      const float* const mean = trained.weights.data() + layout.statistics[l];
      const std::size_t places = layer.in.height * layer.in.width;
      for (std::size_t i = 0; i < y.size(); ++i) {
        const std::size_t c = i / places;
        const double deviation = std::sqrt(static_cast<double>(mean[layer.in.channels + c]) + 1e-5);
        y[i] = static_cast<double>(tensor(0)[c]) * (y[i] - static_cast<double>(mean[c])) / deviation + static_cast<double>(tensor(1)[c]);
      }
    }
    for (std::size_t each = 1; layer.is("add") && each < layer.inputs.size(); ++each)
      for (std::size_t i = 0; i < y.size(); ++i) y[i] += value(each)[i];
    if (layer.is("relu"))
      for (double& each : y) each = std::max(each, 0.0);
    out.push_back(std::move(y));
  }
  return out;
}

}  // namespace straggler::test
