// Small networks with weights, and inference written out in double or in exact integers.
#pragma once
#include <cstdint>
#include <vector>

#include "models/kernels/kernels.hpp"
#include "models/quantization/inference_network.hpp"
#include "models/quantization/post_training.hpp"
#include "models/zoo/network.hpp"
#include "sim/base/random.hpp"

namespace straggler::test {

inline const Kernels& kernels() { return select_kernels("auto"); }

/// Uniform in [low, high).
inline std::vector<float> uniform(std::size_t count, double low, double high, std::uint64_t seed) {
  RandomStream stream(seed, "uniform");
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(low + (high - low) * stream.uniform());
  return values;
}

struct Trained {
  Architecture architecture;
  std::vector<float> weights;
};

/// PyTorch's initial weights, but batch norms with all four tensors drawn: running variances in [0.5, 2).
inline Trained with_weights(Architecture architecture, std::uint64_t seed) {
  const NetworkLayout layout(architecture);
  std::vector<float> weights(layout.parameters + layout.statistic_floats);
  initialize(architecture, seed, weights.data());
  for (std::size_t l = 0; l < architecture.layers.size(); ++l) {
    if (!architecture.layers[l].is("batch_norm")) continue;
    const std::size_t channels = architecture.layers[l].in.channels;
    const auto put = [&](std::size_t at, double low, double high, std::uint64_t salt) {
      const std::vector<float> drawn = uniform(channels, low, high, seed + 31 * l + salt);
      std::copy(drawn.begin(), drawn.end(), weights.begin() + static_cast<std::ptrdiff_t>(at));
    };
    put(layout.tensors[l][0], 0.5, 1.5, 1);
    put(layout.tensors[l][1], -0.5, 0.5, 2);
    put(layout.statistics[l], -0.3, 0.3, 3);
    put(layout.statistics[l] + channels, 0.5, 2, 4);
  }
  return {std::move(architecture), std::move(weights)};
}

/// A residual network in small: every layer that can be quantized, odd patches, padding, strides, a branch with its own convolution.
inline Architecture residual_network() {
  ArchitectureBuilder build({2, 9, 7});
  LayerIndex x = build.relu(build.batch_norm(build.conv(network_input, "conv1", 5, Window::square(3, 1, 1)), "bn1"));
  x = build.max_pool(x, Window::square(3, 2, 1));
  LayerIndex y = build.relu(build.batch_norm(build.conv(x, "a.conv1", 6, Window::square(3, 2, 1)), "a.bn1"));
  y = build.batch_norm(build.conv(y, "a.conv2", 6, Window::square(3, 1, 1), true), "a.bn2");
  const LayerIndex shortcut = build.batch_norm(build.conv(x, "a.short", 6, Window::square(1, 2)), "a.bns");
  x = build.relu(build.add({y, shortcut}));
  x = build.dropout(build.flatten(build.global_average_pool(x)));
  x = build.relu(build.linear(x, "fc1", 11));
  build.linear(x, "fc2", 4);
  return std::move(build).build();
}

/// LeNet's kind: convolutions with biases, pools, three linear layers.
inline Architecture plain_network() {
  ArchitectureBuilder build({1, 12, 12});
  LayerIndex x = build.max_pool(build.relu(build.conv(network_input, "conv1", 4, Window::square(5, 1, 2), true)), Window::square(2, 2));
  x = build.average_pool(build.relu(build.conv(x, "conv2", 7, Window::square(3), true)), Window::square(2, 2));
  x = build.relu(build.linear(build.flatten(x), "fc1", 13));
  build.linear(x, "fc2", 5);
  return std::move(build).build();
}

/// Layer by layer in double, batch norm as it is defined; [layers][values of the layer's output], one sample.
std::vector<std::vector<double>> forward(const Trained& trained, const std::vector<float>& input);

}  // namespace straggler::test
