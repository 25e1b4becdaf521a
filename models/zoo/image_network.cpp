#include "models/zoo/image_network.hpp"

#include <stdexcept>
#include <utility>

#include "models/zoo/network.hpp"
#include "sim/base/choice_table.hpp"

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

ModelEntry network_entry(std::string name, std::string summary,
                         std::function<Architecture(const Parameters&, const DataInfo&)> architecture) {
  ModelEntry entry;
  entry.name = std::move(name);
  entry.summary = std::move(summary);
  entry.parameters = {
      {.name = "engine",
       .type = ValueType::choice,
       .fallback = "auto",
       .meaning = "the engine that computes it; auto: the fastest one that can",
       .choices = {"auto", "panels", "onednn", "reference"}},
      convolution_choice.parameter(
          ConvolutionRule::automatic,
          "how 3x3 convolutions are computed; auto: by Winograd's algorithm where that is faster, which rounds more coarsely")};
  entry.make = [architecture = std::move(architecture)](const Parameters& parameters, const DataInfo& data, const ModelSetting& setting) {
    ModelSetting own = setting;
    own.convolution = convolution_choice.of(parameters);
    return make_network(architecture(parameters, data), own, parameters.text("engine"));
  };
  return entry;
}

ModelEntry image_network_entry(ImageNetwork network) {
  std::string name = network.name, summary = network.summary;
  return network_entry(std::move(name), std::move(summary), [network = std::move(network)](const Parameters&, const DataInfo& data) {
    return network.architecture(image_of(network, data), data.classes);
  });
}

}  // namespace straggler
