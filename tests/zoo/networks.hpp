// The networks of reference/make_networks as architectures, and the numbers that fill them.
#pragma once
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/zoo/architecture_resnet.hpp"
#include "models/zoo/network.hpp"

namespace straggler::test {

inline Architecture dense_network(const std::vector<std::size_t>& widths) {
  ArchitectureBuilder build({widths.front(), 1, 1});
  LayerIndex x = network_input;
  for (std::size_t l = 1; l < widths.size(); ++l) {
    x = build.linear(x, std::to_string(2 * (l - 1)), widths[l]);
    if (l + 1 < widths.size()) x = build.relu(x);
  }
  return std::move(build).build();
}

/// Two 5x5 convolutions with max pools, then dense layers: LeNet-5 (LeCun et al. 1998, with ReLU and max pools), the CNN of McMahan et al.
/// 2017.
inline Architecture image_cnn(std::size_t first, std::size_t second, std::size_t second_pad, const std::vector<std::size_t>& hidden) {
  ArchitectureBuilder build({1, 28, 28});
  LayerIndex x = build.max_pool(build.relu(build.conv(network_input, "conv1", first, Window::square(5, 1, 2), true)), Window::square(2, 2));
  x = build.max_pool(build.relu(build.conv(x, "conv2", second, Window::square(5, 1, second_pad), true)), Window::square(2, 2));
  x = build.flatten(x);
  for (std::size_t i = 0; i < hidden.size(); ++i) x = build.relu(build.linear(x, "fc" + std::to_string(i + 1), hidden[i]));
  build.linear(x, "fc" + std::to_string(hidden.size() + 1), 10);
  return std::move(build).build();
}
inline Architecture lenet5() { return image_cnn(6, 16, 0, {120, 84}); }
inline Architecture fedavg_cnn() { return image_cnn(32, 64, 2, {512}); }

/// Three stages of one basic block each, 16, 32 and 64 channels wide.
inline Architecture resnet8() {
  ArchitectureBuilder build({3, 32, 32});
  const auto conv_bn = [&](LayerIndex from, const std::string& name, std::size_t channels, const Window& window) {
    return build.batch_norm(build.conv(from, name + ".conv", channels, window), name + ".bn");
  };
  LayerIndex x = build.relu(conv_bn(network_input, "stem", 16, Window::square(3, 1, 1)));
  for (const std::size_t channels : {16, 32, 64}) {
    const std::string name = "stage" + std::to_string(channels);
    const std::size_t stride = channels == 16 ? 1 : 2;
    LayerIndex y = build.relu(conv_bn(x, name + ".1", channels, Window::square(3, stride, 1)));
    y = conv_bn(y, name + ".2", channels, Window::square(3, 1, 1));
    if (stride != 1) x = conv_bn(x, name + ".shortcut", channels, Window::square(1, stride));
    x = build.relu(build.add({y, x}));
  }
  build.linear(build.flatten(build.global_average_pool(x)), "linear", 10);
  return std::move(build).build();
}

inline Architecture groups_network() {
  ArchitectureBuilder build({4, 6, 6});
  LayerIndex x = build.relu(build.conv(network_input, "a", 8, Window::square(3, 1, 1), true, 2));
  x = build.relu(build.conv(x, "b", 8, Window::square(3, 2), false, 8));
  build.linear(build.flatten(x), "c", 5);
  return std::move(build).build();
}

inline Architecture layer_norm_network() {
  ArchitectureBuilder build({6, 5, 1});
  const LayerIndex x = build.relu(build.layer_norm(build.linear(network_input, "a", 8), "norm"));
  build.linear(build.flatten(x), "b", 4);
  return std::move(build).build();
}

inline Architecture embedding_network() {
  ArchitectureBuilder build({1, 7, 1});
  const LayerIndex x = build.global_average_pool(build.embedding(network_input, "table", 11, 6));
  build.linear(build.tanh(build.linear(build.flatten(x), "a", 5)), "b", 3);
  return std::move(build).build();
}

inline Architecture average_pool_network() {
  ArchitectureBuilder build({2, 7, 7});
  const LayerIndex x =
      build.relu(build.average_pool(build.conv(network_input, "a", 4, Window::square(3, 1, 1), true), Window::square(3, 2, 1)));
  build.linear(build.flatten(build.average_pool(x, Window::square(2, 2))), "b", 4);
  return std::move(build).build();
}

inline Architecture branches_network() {
  ArchitectureBuilder build({2, 6, 6});
  const LayerIndex x = build.relu(build.batch_norm(build.conv(network_input, "stem", 4, Window::square(3, 1, 1)), "stem_bn"));
  const LayerIndex left = build.batch_norm(build.conv(x, "left", 4, {1, 3, 1, 0, 1}), "left_bn");
  const LayerIndex both = build.relu(build.concat({build.add({left, x}), build.max_pool(x, Window::square(3, 1, 1))}));
  build.linear(build.flatten(build.max_pool(both, Window::square(2, 2))), "head", 4);
  return std::move(build).build();
}

/// One block of a decoder over five of nine symbols; it predicts the next symbol at each place. `dropped`: share that is dropped out.
inline Architecture language_network(double dropped = 0) {
  ArchitectureBuilder build({1, 5, 1});
  const auto count = [](std::int64_t number) -> Value { return number; };
  LayerIndex x = build.layer("embedding", {network_input}, {{"width", count(8)}, {"rows", count(9)}, {"positions", std::string("learned")}},
                             LayerName("tokens"));
  if (dropped > 0) x = build.dropout(x, dropped);
  const LayerIndex seen =
      build.layer("attention", {build.layer_norm(x, "norm1")}, {{"heads", count(2)}, {"causal", true}}, LayerName("attention"));
  x = build.add({x, dropped > 0 ? build.dropout(seen, dropped) : seen});
  x = build.add({x, build.linear(build.gelu(build.linear(build.layer_norm(x, "norm2"), "wide", 8)), "narrow", 8)});
  build.linear(build.layer_norm(x, "norm3"), "head", 9);
  return std::move(build).build();
}

/// By its name in the script.
inline Architecture network_named(const std::string& name) {
  if (name == "softmax") return dense_network({784, 10});
  if (name == "mlp") return dense_network({784, 200, 200, 10});
  if (name == "lenet5") return lenet5();
  if (name == "fedavg_cnn") return fedavg_cnn();
  if (name == "resnet8") return resnet8();
  if (name == "resnet18") return resnet_32x32(ResidualBlock::basic, {2, 2, 2, 2}, 10);
  if (name == "resnet50") return resnet_32x32(ResidualBlock::bottleneck, {3, 4, 6, 3}, 10);
  if (name == "groups") return groups_network();
  if (name == "layer_norm") return layer_norm_network();
  if (name == "embedding") return embedding_network();
  if (name == "average_pool") return average_pool_network();
  if (name == "branches") return branches_network();
  if (name == "language") return language_network();
  throw std::invalid_argument("no network '" + name + "' in networks.hpp; add the architecture that the script builds");
}

/// In [-1/2, 1/2), exact in float; as in the script.
inline double recipe_number(std::uint64_t salt, std::uint64_t i) {
  auto x = static_cast<std::uint32_t>(i * 2654435761u + salt * 40503u + 12345u);
  x = (x ^ (x >> 15)) * 2246822519u;
  x = (x ^ (x >> 13)) * 3266489917u;
  return static_cast<double>(x >> 8) / 16777216.0 - 0.5;
}

/// Parameters by the script's `fill`; behind them means 0 and variances 1.
inline std::vector<float> recipe_weights(const Architecture& architecture, std::uint64_t seed, bool saturated = false) {
  const NetworkLayout layout(architecture);
  std::vector<float> weights(layout.parameters + layout.statistic_floats, 0.0f);
  std::uint64_t salt = seed * 4096;
  for (std::size_t l = 0; l < architecture.layers.size(); ++l) {
    const LayerSpec& layer = architecture.layers[l];
    const bool norm = layer.is("batch_norm") || layer.is("layer_norm") || layer.is("rms_norm");
    for (std::size_t t = 0; t < layer.tensors.size(); ++t, ++salt) {
      const std::vector<std::size_t>& shape = layer.tensors[t].shape;
      std::size_t count = 1;
      for (const std::size_t width : shape) count *= width;
      const std::size_t fan_in = count / shape[0];
      const double scale = 4 / std::sqrt(static_cast<double>(fan_in));
      for (std::size_t i = 0; i < count; ++i) {
        double x = recipe_number(salt, i);
        if (norm)
          x = t == 0 ? 0.375 + 0.25 * x : saturated ? (x < -0.25 ? -16 : 1.5 + x) : (x < 0 ? -0.75 : 0.75) + 0.5 * x;
        else if (shape.size() > 1)
          x *= scale;
        weights[layout.own(architecture, l, t) + i] = static_cast<float>(x);
      }
    }
    if (layer.is("batch_norm"))
      std::fill_n(weights.begin() + static_cast<std::ptrdiff_t>(layout.statistics[l] + layer.in.channels), layer.in.channels, 1.0f);
  }
  return weights;
}

struct RecipeBatch {
  std::vector<float> inputs, scale;
  std::vector<std::int32_t> labels;
  Rows rows() const { return {scale.size(), inputs.data(), labels.data(), scale.data(), nullptr}; }
};

inline RecipeBatch recipe_batch(const Architecture& architecture, std::uint64_t seed, std::size_t step, std::size_t rows) {
  const bool tokens = architecture.layers.front().is("embedding");
  const Shape& out = architecture.layers.back().out;
  RecipeBatch batch;
  for (std::size_t i = 0; i < rows * architecture.input.size(); ++i) {
    const double x = recipe_number(seed * 4096 + 1000 + step, i);
    const double many = tokens ? static_cast<double>(architecture.layers.front().tensors[0].shape[0]) : 0;
    batch.inputs.push_back(static_cast<float>(tokens ? std::floor((x + 0.5) * many) : 2 * x));
  }
  for (std::size_t i = 0; i < rows * out.places(); ++i)
    batch.labels.push_back(
        static_cast<std::int32_t>((recipe_number(seed * 4096 + 2000 + step, i) + 0.5) * static_cast<double>(out.channels)));
  batch.scale.assign(rows, 1 / static_cast<float>(rows));
  return batch;
}

}  // namespace straggler::test
