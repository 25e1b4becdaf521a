// ResNets for 32x32 images (CIFAR), by their layers: github.com/kuangliu/pytorch-cifar, models/resnet.py.
#include "models/zoo/architecture_resnet.hpp"
#include "models/zoo/cost_model.hpp"
#include "sim/base/registry.hpp"

namespace straggler {
namespace {

CostModelEntry resnet(const char* name, const char* summary, ResidualBlock block, std::vector<std::size_t> blocks) {
  return {.name = name,
          .summary = summary,
          .reference = "He, Zhang, Ren, Sun, Deep Residual Learning for Image Recognition, CVPR 2016; github.com/kuangliu/pytorch-cifar",
          .parameters = {{.name = "classes",
                          .type = ValueType::count,
                          .fallback = "10",
                          .meaning = "outputs of the last layer",
                          .range = Range::between(1, 1'000'000)}},
          .make = [block, blocks](const Parameters& parameters) {
            return cost_table(resnet_32x32(block, blocks, static_cast<std::size_t>(parameters.count("classes"))));
          }};
}

const Register<CostModelEntry> resnet18(resnet("resnet18", "ResNet-18 for 32x32 images: 11,173,962 parameters, 0.56 G multiply-adds",
                                               ResidualBlock::basic, {2, 2, 2, 2}));
const Register<CostModelEntry> resnet50(resnet("resnet50", "ResNet-50 for 32x32 images: 23,520,842 parameters, 1.30 G multiply-adds",
                                               ResidualBlock::bottleneck, {3, 4, 6, 3}));

}  // namespace
}  // namespace straggler
