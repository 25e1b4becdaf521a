// A network that the scenario lists layer by layer.
#include <stdexcept>

#include "models/zoo/cost_model.hpp"
#include "models/zoo/image_network.hpp"
#include "models/zoo/layer_list.hpp"
#include "models/zoo/reference_network.hpp"
#include "sim/base/registry.hpp"

namespace straggler::zoo::layers_model {
namespace {

Parameter layers_parameter() {
  return {.name = "layers", .type = ValueType::nested, .required = true, .meaning = "its layers, first to last, or a file with that list"};
}

/// [features], [height, width] or [channels, height, width].
Shape shape_of(const std::vector<std::size_t>& sides) {
  if (sides.size() == 1) return {sides[0], 1, 1};
  if (sides.size() == 2) return {1, sides[0], sides[1]};
  return {sides[0], sides[1], sides[2]};
}

Shape shape_of(const DataInfo& data) {
  return data.shape.size() == 2 || data.shape.size() == 3 ? shape_of(data.shape) : Shape{data.features, 1, 1};
}

Architecture trainable(const Nested& layers, const DataInfo& data) {
  Architecture architecture = architecture_of(layers, {shape_of(data), {{"classes", static_cast<std::int64_t>(data.classes)}}});
  const Shape wanted{data.classes, 1, 1}, &out = architecture.layers.back().out;
  const std::string last = "layers[" + std::to_string(layers.items.size() - 1) + "]";
  if (out != wanted)
    throw NestedError(last, "the network makes " + shape_text(out) + " of a sample, and the classes of these data want " +
                                shape_text(wanted) + "; end it with flatten and {linear: classes}");
  if (const std::string lacks = ReferenceNetwork<float>::lacks(architecture); !lacks.empty()) throw NestedError("layers", lacks);
  return architecture;
}

Architecture priced(const Parameters& parameters) {
  std::vector<std::size_t> sides;
  for (const std::int64_t side : parameters.counts("input")) sides.push_back(static_cast<std::size_t>(side));
  if (sides.empty() || sides.size() > 3)
    throw NestedError("input",
                      "has " + std::to_string(sides.size()) + " numbers; write [features], [height, width] or [channels, height, width]");
  LayerListInput input{shape_of(sides), {{"classes", parameters.count("classes")}}};
  if (parameters.has("vocabulary")) input.counts["vocabulary"] = parameters.count("vocabulary");
  return architecture_of(parameters.nested("layers"), input);
}

const Register<CostModelEntry> cost({
    .name = "layers",
    .summary = "the layers that stand in the scenario, whether or not they can be trained",
    .reference = "the scenario",
    .parameters = {layers_parameter(),
                   {.name = "input",
                    .type = ValueType::counts,
                    .required = true,
                    .meaning = "shape of a sample: [features], [height, width] or [channels, height, width]",
                    .range = Range::between(1, 1'000'000)},
                   {.name = "classes",
                    .type = ValueType::count,
                    .fallback = "10",
                    .meaning = "what the word classes stands for",
                    .range = Range::between(1, 1'000'000)},
                   {.name = "vocabulary",
                    .type = ValueType::count,
                    .meaning = "what the word vocabulary stands for; absent: nothing",
                    .range = Range::between(1, 100'000'000)}},
    .architecture = priced,
});

ModelEntry trained() {
  ModelEntry entry =
      network_entry("layers", "a network of the layers that stand in the scenario; as workload.cost: with input and classes",
                    [](const Parameters& parameters, const DataInfo& data) { return trainable(parameters.nested("layers"), data); });
  std::vector<Parameter> all = {layers_parameter()};
  for (const Parameter& parameter : entry.parameters) all.push_back(parameter);
  entry.parameters = std::move(all);
  return entry;
}

const Register<ModelEntry> entry(trained());

}  // namespace
}  // namespace straggler::zoo::layers_model
