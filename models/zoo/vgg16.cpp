// VGG-16 for 224x224 images, layer by layer: five groups of 3x3 convolutions with a max pool after each, three dense layers. As in
// torchvision: without batch norm, and with dropout in the classifier.
#include "models/zoo/architecture.hpp"
#include "models/zoo/cost_model.hpp"
#include "sim/base/registry.hpp"

namespace straggler::zoo::vgg16 {
namespace {

Architecture vgg16(std::size_t classes) {
  ArchitectureBuilder build({3, 224, 224});
  LayerIndex x = network_input;
  std::size_t place = 0;  // index in torchvision's nn.Sequential, which counts ReLUs and pools
  for (const std::vector<std::size_t>& group :
       std::vector<std::vector<std::size_t>>{{64, 64}, {128, 128}, {256, 256, 256}, {512, 512, 512}, {512, 512, 512}}) {
    for (const std::size_t channels : group) {
      x = build.relu(build.conv(x, "features." + std::to_string(place), channels, Window::square(3, 1, 1), true));
      place += 2;
    }
    x = build.max_pool(x, Window::square(2, 2));
    ++place;
  }
  x = build.flatten(x);
  x = build.dropout(build.relu(build.linear(x, "classifier.0", 4096)));
  x = build.dropout(build.relu(build.linear(x, "classifier.3", 4096)));
  build.linear(x, "classifier.6", classes);
  return std::move(build).build();
}

const Register<CostModelEntry> entry({
    .name = "vgg16",
    .summary = "VGG-16 for 224x224 images: 138,357,544 parameters, 15.5 G multiply-adds",
    .reference = "Simonyan, Zisserman, Very Deep Convolutional Networks for Large-Scale Image Recognition, ICLR 2015 (configuration D); "
                 "torchvision.models.vgg16",
    .parameters = {{.name = "classes",
                    .type = ValueType::count,
                    .fallback = "1000",
                    .meaning = "outputs of the last layer",
                    .range = Range::between(1, 1'000'000)}},
    .architecture = [](const Parameters& parameters) { return vgg16(static_cast<std::size_t>(parameters.count("classes"))); },
});

}  // namespace
}  // namespace straggler::zoo::vgg16
