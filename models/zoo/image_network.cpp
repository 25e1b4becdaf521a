#include "models/zoo/image_network.hpp"

#include <stdexcept>
#include <utility>

#include "models/zoo/layer_list.hpp"
#include "models/zoo/network.hpp"
#include "sim/base/choice_table.hpp"
#include "sim/base/flow_reader.hpp"

namespace straggler {
namespace {

constexpr ChoiceTable<ConvolutionRule> convolution_choice("convolution", {{ConvolutionRule::automatic, "auto"},
                                                                          {ConvolutionRule::direct, "direct"},
                                                                          {ConvolutionRule::winograd, "winograd"}});

Shape image_of(const ImageNetwork& network, const DataInfo& data) {
  const std::vector<std::size_t>& shape = data.shape;
  if (shape.size() != 2 && shape.size() != 3)
    throw std::invalid_argument(network.name + " takes images, and the samples of this data set are vectors of " +
                                std::to_string(data.features) + "; use a data set of images, or mlp");
  const Shape image{shape.size() == 3 ? shape[0] : 1, shape[shape.size() - 2], shape[shape.size() - 1]};
  const std::size_t least = network.least_side;
  if (image.height < least || image.width < least)
    throw std::invalid_argument(network.name + " takes images of at least " + std::to_string(least) + " x " + std::to_string(least) +
                                ", those of this data set are " + std::to_string(image.height) + " x " + std::to_string(image.width) +
                                "; use larger images, or mlp");
  return image;
}

}  // namespace

ModelEntry network_entry(ModelEntry entry, bool choices) {
  if (choices) {
    std::vector<Parameter> all = entry.parameters;
    all.push_back({.name = "engine",
                   .type = ValueType::choice,
                   .fallback = "auto",
                   .meaning = "the engine that computes it; auto: the fastest one that can",
                   .choices = {"auto", "panels", "onednn", "reference"}});
    all.push_back(convolution_choice.parameter(
        ConvolutionRule::automatic,
        "how 3x3 convolutions are computed; auto: by Winograd's algorithm where that is faster, which rounds more coarsely"));
    entry.parameters = std::move(all);
  }
  entry.make = [network = entry.network, choices](const Parameters& parameters, const DataInfo& data, const ModelSetting& setting) {
    ModelSetting own = setting;
    if (choices) own.convolution = convolution_choice.of(parameters);
    return make_network(network(parameters, data), own, choices ? parameters.text("engine") : "auto");
  };
  return entry;
}

ModelEntry image_network_entry(ImageNetwork network) {
  ModelEntry entry{.name = network.name, .summary = network.summary, .reference = network.reference, .parameters = network.parameters};
  if (network.usual) {
    std::vector<Parameter> all = {{.name = "classes",
                                   .type = ValueType::count,
                                   .fallback = std::to_string(network.usual->classes),
                                   .meaning = "outputs of the last layer",
                                   .range = Range::between(1, 1'000'000)}};
    all.insert(all.end(), network.parameters.begin(), network.parameters.end());
    entry.cost_parameters = std::move(all);
    entry.cost_network = [make = network.architecture, image = network.usual->image](const Parameters& parameters) {
      return make(parameters, image, static_cast<std::size_t>(parameters.count("classes")));
    };
  }
  entry.network = [network = std::move(network)](const Parameters& parameters, const DataInfo& data) {
    return network.architecture(parameters, image_of(network, data), data.classes);
  };
  return network_entry(std::move(entry));
}

Architecture architecture_of(std::string_view list, const Shape& input, std::size_t classes, std::map<std::string, std::int64_t> words) {
  words.emplace("classes", static_cast<std::int64_t>(classes));
  return architecture_of(read_flow(list), {input, std::move(words)});
}

}  // namespace straggler
