// ResNet-50 for 224x224 images, layer by layer, as in torchvision: a block's 3x3 convolution has its stride ("v1.5"; in the paper the 1x1
// before it has the stride, with 6 % fewer multiply-adds and the same parameters).
#include "models/zoo/architecture_resnet.hpp"
#include "models/zoo/cost_model.hpp"
#include "sim/base/registry.hpp"

namespace straggler::zoo::resnet50_imagenet {
namespace {

const Register<CostModelEntry> entry({
    .name = "resnet50_imagenet",
    .summary = "ResNet-50 for 224x224 images: 25,557,032 parameters, 4.09 G multiply-adds",
    .reference = "He, Zhang, Ren, Sun, Deep Residual Learning for Image Recognition, CVPR 2016; torchvision.models.resnet50",
    .parameters = {{.name = "classes",
                    .type = ValueType::count,
                    .fallback = "1000",
                    .meaning = "outputs of the last layer",
                    .range = Range::between(1, 1'000'000)}},
    .architecture =
        [](const Parameters& parameters) {
          return resnet_224x224(ResidualBlock::bottleneck, {3, 4, 6, 3}, static_cast<std::size_t>(parameters.count("classes")));
        },
});

}  // namespace
}  // namespace straggler::zoo::resnet50_imagenet
