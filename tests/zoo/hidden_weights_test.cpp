// Which weights of a network are hidden, and the matrices in them (TensorInfo::matrices).
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "models/zoo/network.hpp"
#include "tests/zoo/networks.hpp"

namespace straggler::test::hidden_weights_test {
namespace {

using Rows = std::vector<std::size_t>;

/// Of the tensors that have some.
std::map<std::string, Rows> matrices_of(const Architecture& architecture) {
  std::map<std::string, Rows> found;
  for (const TensorInfo& tensor : tensors_of(architecture))
    if (!tensor.matrices.empty()) found[tensor.name] = tensor.matrices;
  return found;
}

}  // namespace

TEST_CASE("hidden weights of a language model: projections in three and one, and the inner layers; not what AdamW steps") {
  ArchitectureBuilder build({1, 5, 1});
  LayerIndex x = build.layer("embedding", {network_input},
                             {{"width", std::int64_t{8}}, {"rows", std::int64_t{11}}, {"positions", "learned"}}, LayerName("tokens"));
  x = build.layer("attention", {build.layer_norm(x, "norm")}, {{"heads", std::int64_t{4}}, {"key_value_heads", std::int64_t{2}}},
                  LayerName("attention"));
  x = build.linear(build.gelu(build.linear(x, "up", 32)), "down", 8);
  build.linear(x, "scores", 11);
  const std::map<std::string, Rows> expected = {
      {"attention.qkv.weight", {8, 4, 4}}, {"attention.out.weight", {8}}, {"up.weight", {32}}, {"down.weight", {8}}};
  CHECK(matrices_of(std::move(build).build()) == expected);
}

TEST_CASE("hidden weights of a convolutional network: all but its last linear layer's") {
  ArchitectureBuilder build({3, 8, 8});
  LayerIndex x = build.batch_norm(build.conv(network_input, "stem", 4, Window::square(3, 1, 1)), "norm");
  x = build.conv(x, "grouped", 6, Window::square(3, 1, 1), true, 2);
  build.softmax(build.linear(build.linear(build.flatten(x), "inner", 7), "scores", 5));
  const std::map<std::string, Rows> expected = {{"stem.weight", {4}}, {"grouped.weight", {6}}, {"inner.weight", {7}}};
  CHECK(matrices_of(std::move(build).build()) == expected);
}

TEST_CASE("every matrix has all columns of its tensor, and its rows are those of the tensor") {
  for (const char* name : {"softmax", "mlp", "lenet5", "resnet50", "groups", "layer_norm", "embedding", "branches"}) {
    CAPTURE(name);
    for (const TensorInfo& tensor : tensors_of(network_named(name))) {
      if (tensor.matrices.empty()) continue;
      CAPTURE(tensor.name);
      CHECK(tensor.shape.size() >= 2);
      std::size_t rows = 0;
      for (const std::size_t each : tensor.matrices) rows += each;
      CHECK(rows == tensor.shape.front());
    }
  }
}

}  // namespace straggler::test::hidden_weights_test
