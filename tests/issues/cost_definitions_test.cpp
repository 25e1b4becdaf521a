// Costs of models that learn, where they were counted otherwise than in the tables of layers (models/zoo/cost_model.hpp).
#include <doctest/doctest.h>

#include <vector>

#include "models/zoo/architecture.hpp"
#include "models/zoo/cost_model.hpp"
#include "sim/base/registry.hpp"

using namespace straggler;

namespace {

CostTable of_dense_layers(std::size_t features, const std::vector<std::size_t>& widths) {
  ArchitectureBuilder build({features});
  LayerIndex last = network_input;
  for (std::size_t l = 0; l < widths.size(); ++l) {
    last = build.linear(last, std::to_string(2 * l), widths[l]);
    if (l + 1 < widths.size()) last = build.relu(last);
  }
  return cost_table(std::move(build).build());
}

CostTable of_model(const char* name, const DataInfo& data) {
  const ModelEntry& entry = Registry<ModelEntry>::instance().at(name);
  return cost_table(*entry.make(complete(entry.parameters, {}), data, ModelSetting{select_kernels("auto")}));
}

}  // namespace

TEST_CASE("adding a bias is no FLOP of a dense layer, in softmax and mlp as in the networks that are defined by layers") {
  DataInfo data;
  data.shape = {1, 28, 28};
  data.features = 784;
  data.classes = 10;
  const auto same = [](const CostTable& own, const CostTable& defined) {
    CHECK(own.parameters() == defined.parameters());
    CHECK(own.forward_flops() == defined.forward_flops());
    CHECK(own.activation_bytes() == defined.activation_bytes());
  };
  same(of_model("softmax", data), of_dense_layers(784, {10}));
  same(of_model("mlp", data), of_dense_layers(784, {200, 200, 10}));
}
