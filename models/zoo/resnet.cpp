// ResNets for small images: ResNet-18 and ResNet-50, layer by layer, from github.com/kuangliu/pytorch-cifar, models/resnet.py; ResNet-8 in
// the paper's own variant for CIFAR-10.
#include <stdexcept>

#include "models/zoo/architecture_resnet.hpp"
#include "models/zoo/convolution_choice.hpp"
#include "models/zoo/cost_model.hpp"
#include "models/zoo/network.hpp"
#include "sim/base/registry.hpp"

namespace straggler::zoo::resnet {
namespace {

using Define = std::function<Architecture(std::size_t classes, Shape input)>;

Architecture resnet8_of(std::size_t classes, Shape input) { return resnet_narrow({1, 1, 1}, classes, input); }
Architecture resnet18_of(std::size_t classes, Shape input) { return resnet_32x32(ResidualBlock::basic, {2, 2, 2, 2}, classes, input); }
Architecture resnet50_of(std::size_t classes, Shape input) { return resnet_32x32(ResidualBlock::bottleneck, {3, 4, 6, 3}, classes, input); }

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
          .make = [define](const Parameters& parameters) {
            return cost_table(define(static_cast<std::size_t>(parameters.count("classes")), {3, 32, 32}));
          }};
}

Shape image_shape(const DataInfo& data) {
  if (data.shape.size() != 3) throw std::invalid_argument("a ResNet learns images (channels, height, width); choose data of that shape");
  return {data.shape[0], data.shape[1], data.shape[2]};
}

/// On images of the data's shape.
ModelEntry learner(const char* name, const char* summary, const Define& define) {
  return {.name = name,
          .summary = summary,
          .parameters = {{.name = "engine",
                          .type = ValueType::choice,
                          .fallback = "auto",
                          .meaning = "the engine that computes it; auto: the fastest one that can",
                          .choices = {"auto", "panels", "onednn", "reference"}},
                         convolution_choice.parameter(ConvolutionRule::automatic,
                                                      "how 3x3 convolutions are computed; auto: by Winograd's algorithm where that is "
                                                      "faster, which rounds more coarsely")},
          .make = [define](const Parameters& parameters, const DataInfo& data, const ModelSetting& setting) {
            ModelSetting own{setting};
            own.convolution = convolution_choice.of(parameters);
            return make_network(define(data.classes, image_shape(data)), own, parameters.text("engine"));
          }};
}

const Register<CostModelEntry> cost8(cost("resnet8", "ResNet-8 for 32x32 images: 78,042 parameters, 12.5 M multiply-adds", resnet8_of));
const Register<CostModelEntry> cost18(cost("resnet18", "ResNet-18 for 32x32 images: 11,173,962 parameters, 0.56 G multiply-adds",
                                           resnet18_of));
const Register<CostModelEntry> cost50(cost("resnet50", "ResNet-50 for 32x32 images: 23,520,842 parameters, 1.30 G multiply-adds",
                                           resnet50_of));
const Register<ModelEntry> learn8(
    learner("resnet8", "ResNet-8 (16, 32, 64 channels), 78,042 parameters on 3x32x32 images; as workload.cost: those, with classes (10)",
            resnet8_of));
const Register<ModelEntry> learn18(learner(
    "resnet18", "ResNet-18 (64 to 512 channels), 11,173,962 parameters on 3x32x32 images; as workload.cost: those, with classes (10)",
    resnet18_of));
const Register<ModelEntry> learn50(
    learner("resnet50", "ResNet-50 (bottlenecks), 23,520,842 parameters on 3x32x32 images; as workload.cost: those, with classes (10)",
            resnet50_of));

}  // namespace
}  // namespace straggler::zoo::resnet
