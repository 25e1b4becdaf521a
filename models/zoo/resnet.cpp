// ResNets for small images: ResNet-18 and ResNet-50, layer by layer, from github.com/kuangliu/pytorch-cifar, models/resnet.py; ResNet-8 in
// the paper's own variant for CIFAR-10.
#include <functional>

#include "models/zoo/architecture_resnet.hpp"
#include "models/zoo/cost_model.hpp"
#include "models/zoo/image_network.hpp"
#include "sim/base/registry.hpp"

namespace straggler::zoo::resnet {
namespace {

using Define = std::function<Architecture(const Shape& input, std::size_t classes)>;

Architecture resnet8_of(const Shape& input, std::size_t classes) { return resnet_narrow({1, 1, 1}, classes, input); }
Architecture resnet18_of(const Shape& input, std::size_t classes) {
  return resnet_32x32(ResidualBlock::basic, {2, 2, 2, 2}, classes, input);
}
Architecture resnet50_of(const Shape& input, std::size_t classes) {
  return resnet_32x32(ResidualBlock::bottleneck, {3, 4, 6, 3}, classes, input);
}

/// Its cost, always on 32x32 images of three channels.
CostModelEntry cost(const char* name, const char* summary, const Define& define) {
  return {.name = name,
          .summary = summary,
          .reference = "He, Zhang, Ren, Sun, Deep Residual Learning for Image Recognition, CVPR 2016; github.com/kuangliu/pytorch-cifar",
          .parameters = {{.name = "classes",
                          .type = ValueType::count,
                          .fallback = "10",
                          .meaning = "outputs of the last layer",
                          .range = Range::between(1, 1'000'000)}},
          .architecture = [define](const Parameters& parameters) {
            return define({3, 32, 32}, static_cast<std::size_t>(parameters.count("classes")));
          }};
}

const Register<CostModelEntry> cost8(cost("resnet8", "ResNet-8 for 32x32 images: 78,042 parameters, 12.5 M multiply-adds", resnet8_of));
const Register<CostModelEntry> cost18(cost("resnet18", "ResNet-18 for 32x32 images: 11,173,962 parameters, 0.56 G multiply-adds",
                                           resnet18_of));
const Register<CostModelEntry> cost50(cost("resnet50", "ResNet-50 for 32x32 images: 23,520,842 parameters, 1.30 G multiply-adds",
                                           resnet50_of));
const Register<ModelEntry> learn8(image_network_entry(
    {.name = "resnet8",
     .summary = "ResNet-8 (16, 32, 64 channels), 78,042 parameters on 3x32x32 images; as workload.cost: those, with classes (10)",
     .architecture = resnet8_of}));
const Register<ModelEntry> learn18(image_network_entry(
    {.name = "resnet18",
     .summary = "ResNet-18 (64 to 512 channels), 11,173,962 parameters on 3x32x32 images; as workload.cost: those, with classes (10)",
     .architecture = resnet18_of}));
const Register<ModelEntry> learn50(image_network_entry(
    {.name = "resnet50",
     .summary = "ResNet-50 (bottlenecks), 23,520,842 parameters on 3x32x32 images; as workload.cost: those, with classes (10)",
     .architecture = resnet50_of}));

}  // namespace
}  // namespace straggler::zoo::resnet
