// Random lists of layers: names of tensors, loss and gradient in double against PyTorch's float64 (reference/make_lists).
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "models/zoo/layer_list.hpp"
#include "models/zoo/reference_network.hpp"
#include "sim/base/flow_reader.hpp"
#include "tests/layers/derivatives.hpp"
#include "tests/support/math_helpers.hpp"
#include "tests/zoo/networks.hpp"

namespace straggler::test::layer_list_gradients_test {
namespace {

struct ListedNetwork {
  Nested layers;
  Shape input;
  double loss = 0;
  std::vector<std::pair<std::string, Doubles>> gradient;  // by tensor
};

std::vector<ListedNetwork> read_networks() {
  std::ifstream in(STRAGGLER_SOURCE_DIR "/tests/zoo/reference/layer_lists.txt");
  REQUIRE(in.good());
  std::vector<ListedNetwork> networks;
  std::string word;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    words >> word;
    if (word == "layers") {
      networks.emplace_back().layers = read_flow(line.substr(word.size()));
      continue;
    }
    ListedNetwork& network = networks.back();
    if (word == "input") words >> network.input.channels >> network.input.height >> network.input.width;
    if (word == "loss") words >> network.loss;
    if (word != "gradient") continue;
    words >> word;
    network.gradient.emplace_back(word, Doubles());
    for (double value = 0; words >> value;) network.gradient.back().second.push_back(value);
  }
  return networks;
}

}  // namespace

TEST_CASE("random lists of layers have the tensors, the loss and the gradients of PyTorch") {
  const std::vector<ListedNetwork> networks = read_networks();
  REQUIRE(networks.size() == 10);
  std::set<std::string> kinds;
  constexpr std::size_t rows = 3;
  for (std::size_t n = 0; n < networks.size(); ++n) {
    const ListedNetwork& expected = networks[n];
    CAPTURE(flow_text(expected.layers));
    const Architecture architecture = architecture_of(expected.layers, {expected.input});
    for (const LayerSpec& layer : architecture.layers) kinds.insert(layer.entry->name);
    const ReferenceNetwork<double> network(architecture);
    const Doubles weights = as<double>(recipe_weights(architecture, n + 1));
    const RecipeBatch batch = recipe_batch(architecture, n + 1, 0, rows);
    const Doubles inputs = as<double>(batch.inputs), scale(rows, 1.0 / rows);
    Doubles gradient(weights.size());
    ReferenceNetwork<double>::Memory memory = network.memory();
    const double loss =
        network.gradient(weights.data(), {rows, inputs.data(), batch.labels.data(), scale.data()}, false, gradient.data(), memory);
    CHECK(loss == doctest::Approx(expected.loss).epsilon(1e-9));
    const std::vector<TensorInfo> tensors = tensors_of(architecture);
    REQUIRE(tensors.size() == expected.gradient.size());
    const auto squares = [](const Doubles& values) {
      double sum = 0;
      for (const double value : values) sum += value * value;
      return sum;
    };
    double whole = 0;
    for (const auto& [name, values] : expected.gradient) whole += squares(values);
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      const std::string& name = expected.gradient[t].first;
      const Doubles& values = expected.gradient[t].second;
      CHECK(tensors[t].name == name);
      CAPTURE(name);
      REQUIRE(tensors[t].offset + values.size() == (t + 1 < tensors.size() ? tensors[t + 1].offset : network.layout().parameters));
      Doubles error = values;
      for (std::size_t i = 0; i < error.size(); ++i) error[i] -= gradient[tensors[t].offset + i];
      CHECK(std::sqrt(squares(error)) <= 1e-9 * std::max(std::sqrt(squares(values)), 1e-3 * std::sqrt(whole)));
    }
  }
  for (const LayerEntry& entry : Registry<LayerEntry>::instance().entries()) {
    CAPTURE(entry.name);
    CHECK(kinds.contains(entry.name) == bool(entry.forward));
  }
}

}  // namespace straggler::test::layer_list_gradients_test
