// A network that the scenario lists layer by layer.
#include <algorithm>
#include <stdexcept>

#include "models/zoo/image_network.hpp"
#include "models/zoo/layer_list.hpp"
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

/// Whether its first line reads the numbers of tokens.
bool begins_with_tokens(const Nested& layers) {
  if (layers.items.empty()) return false;
  const Nested& line = layers.items.front();
  const std::vector<std::string> words = line.form == Nested::Form::word ? std::vector{line.word} : line.keys;
  return std::ranges::any_of(words, [](const std::string& word) {
    const LayerEntry* const entry = Registry<LayerEntry>::instance().find(word);
    return entry != nullptr && entry->tokens;
  });
}

/// `tokens`: its samples are read as these; n numbers are n places.
Shape shape_of(const DataInfo& data, bool tokens) {
  if (data.symbols > 0 || (tokens && data.shape.size() < 2)) return {1, data.features, 1};
  return data.shape.size() == 2 || data.shape.size() == 3 ? shape_of(data.shape) : Shape{data.features, 1, 1};
}

Architecture trainable(const Nested& layers, const DataInfo& data) {
  const bool symbols = data.symbols > 0;
  const char* const word = symbols ? "vocabulary" : "classes";
  LayerListInput input{shape_of(data, begins_with_tokens(layers)), {{word, static_cast<std::int64_t>(data.classes)}}, symbols};
  // A sequence of numbers may be the numbers of tokens, with one label for all; what is none is refused when it is looked up.
  if (!symbols && input.shape.channels == 1 && input.shape.width == 1) input.symbols.reset();
  input.one_output = true;
  Architecture architecture = architecture_of(layers, input);
  for (const LayerSpec& layer : architecture.layers)
    if (symbols && layer.entry->tokens && layer.count("rows") < data.symbols)
      throw NestedError("layers", "the embedding '" + layer.name + "' has " + std::to_string(layer.count("rows")) +
                                      " rows, and these data have " + std::to_string(data.symbols) + " symbols; write rows: vocabulary");
  const Shape wanted = symbols ? Shape{data.symbols, data.features, 1} : Shape{data.classes, 1, 1}, &out = architecture.layers.back().out;
  const std::string last = "layers[" + std::to_string(layers.items.size() - 1) + "]";
  if (symbols && out != wanted)
    throw NestedError(last, "the network makes " + shape_text(out) + " of a sample, and to predict the next of " +
                                std::to_string(data.symbols) + " symbols at each of " + std::to_string(data.features) +
                                " places it must make " + shape_text(wanted) + "; end it with {linear: vocabulary}");
  if (out != wanted)
    throw NestedError(last, "the network makes " + shape_text(out) + " of a sample, and the classes of these data want " +
                                shape_text(wanted) + "; end it with flatten and {linear: classes}");
  return architecture;
}

/// Of the parameter `input`.
Shape input_of(const Parameters& parameters) {
  if (parameters.has("input.tokens")) return {1, static_cast<std::size_t>(parameters.count("input.tokens")), 1};
  constexpr const char* remedy = "write [features], [height, width], [channels, height, width] or {tokens: 1024}";
  if (!parameters.has("input")) throw NestedError("input", std::string("is missing; ") + remedy);
  std::vector<std::size_t> sides;
  for (const std::int64_t side : parameters.counts("input")) sides.push_back(static_cast<std::size_t>(side));
  if (sides.empty() || sides.size() > 3) throw NestedError("input", "has " + std::to_string(sides.size()) + " numbers; " + remedy);
  return shape_of(sides);
}

Architecture priced(const Parameters& parameters) {
  LayerListInput input{input_of(parameters), {{"classes", parameters.count("classes")}}};
  if (parameters.has("vocabulary")) input.counts["vocabulary"] = parameters.count("vocabulary");
  return architecture_of(parameters.nested("layers"), input);
}

const Register<ModelEntry> entry(network_entry(
    {.name = "layers",
     .summary = "a network of the layers that stand in the scenario; as workload.cost: with input and classes",
     .reference = "the layers are the user's",
     .parameters = {layers_parameter()},
     .symbols = true,
     .network = [](const Parameters& parameters, const DataInfo& data) { return trainable(parameters.nested("layers"), data); },
     .cost_parameters = {layers_parameter(),
                         {.name = "input",
                          .type = ValueType::counts,
                          .meaning = "shape of a sample: [features], [height, width] or [channels, height, width]; or, of tokens, a map",
                          .range = Range::between(1, 1'000'000)},
                         {.name = "input.tokens",
                          .type = ValueType::count,
                          .meaning = "tokens of a sample, in the place of a shape",
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
     .cost_network = priced}));

}  // namespace
}  // namespace straggler::zoo::layers_model
