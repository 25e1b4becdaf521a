// ResNet-18 and ResNet-50 from github.com/kuangliu/pytorch-cifar, models/resnet.py; ResNet-8 in the paper's own variant for CIFAR-10; and
// ResNet-50 for ImageNet as in torchvision: a block's 3x3 convolution has its stride ("v1.5"; in the paper the 1x1 before it has the
// stride, with 6 % fewer multiply-adds and the same parameters).
#include "models/zoo/architecture_resnet.hpp"
#include "models/zoo/image_network.hpp"
#include "sim/base/registry.hpp"

namespace straggler::zoo::resnet {
namespace {

using Define = Architecture (*)(const Shape& image, std::size_t classes);

Architecture resnet8_of(const Shape& image, std::size_t classes) { return resnet_narrow({1, 1, 1}, classes, image); }
Architecture resnet18_of(const Shape& image, std::size_t classes) {
  return resnet_32x32(ResidualBlock::basic, {2, 2, 2, 2}, classes, image);
}
Architecture resnet50_of(const Shape& image, std::size_t classes) {
  return resnet_32x32(ResidualBlock::bottleneck, {3, 4, 6, 3}, classes, image);
}
Architecture imagenet_of(const Shape& image, std::size_t classes) {
  return resnet_224x224(ResidualBlock::bottleneck, {3, 4, 6, 3}, classes, image);
}

/// `source`: of its code; `usual`: the images of its costs.
ModelEntry entry_of(const char* name, const char* summary, const std::string& source, Define define, ImageNetwork::Usual usual) {
  return image_network_entry(
      {.name = name,
       .summary = summary,
       .reference = "He, Zhang, Ren, Sun, Deep Residual Learning for Image Recognition, CVPR 2016; " + source,
       .architecture = [define](const Parameters&, const Shape& image, std::size_t classes) { return define(image, classes); },
       .usual = usual});
}

const char* const small_source = "github.com/kuangliu/pytorch-cifar";
const ImageNetwork::Usual small{{3, 32, 32}, 10};
const Register<ModelEntry> resnet8(
    entry_of("resnet8", "ResNet-8 (16, 32, 64 channels), 78,042 parameters on 3x32x32 images; as workload.cost: those, with classes (10)",
             small_source, resnet8_of, small));
const Register<ModelEntry> resnet18(entry_of(
    "resnet18", "ResNet-18 (64 to 512 channels), 11,173,962 parameters on 3x32x32 images; as workload.cost: those, with classes (10)",
    small_source, resnet18_of, small));
const Register<ModelEntry> resnet50(
    entry_of("resnet50", "ResNet-50 (bottlenecks), 23,520,842 parameters on 3x32x32 images; as workload.cost: those, with classes (10)",
             small_source, resnet50_of, small));
const Register<ModelEntry> imagenet(entry_of(
    "resnet50_imagenet",
    "ResNet-50 for ImageNet; as workload.cost: of 224x224 images, with classes (1000): 25,557,032 parameters, 4.09 G multiply-adds",
    "torchvision.models.resnet50", imagenet_of, {{3, 224, 224}, 1000}));

}  // namespace
}  // namespace straggler::zoo::resnet
