// Residual networks: He, Zhang, Ren, Sun, Deep Residual Learning for Image Recognition, CVPR 2016.
#pragma once
#include "models/zoo/architecture.hpp"

namespace straggler {

enum class ResidualBlock {
  basic,       // two 3x3 convolutions
  bottleneck,  // 1x1, 3x3 (which has the stride), 1x1 to four times the channels
};

/// The variant for 32x32 images in wide use for CIFAR-10 (github.com/kuangliu/pytorch-cifar): a 3x3 stem of stride 1 and no max pool,
/// `blocks` per stage of 64, 128, 256 and 512 channels. {2, 2, 2, 2} of basic blocks is its ResNet18, {3, 4, 6, 3} of bottlenecks its
/// ResNet50. Tensor names follow it; tables call the two layers of a shortcut "shortcut.conv", "shortcut.bn".
Architecture resnet_32x32(ResidualBlock block, const std::vector<std::size_t>& blocks, std::size_t classes, Shape input = {3, 32, 32});

/// The paper's own for CIFAR-10 (section 4.2), of depth 6 n + 2: a 3x3 stem of 16 channels, `blocks` basic blocks in each of three stages
/// of 16, 32 and 64 channels. If the shape changes, a shortcut is a 1x1 convolution and a batch norm (the paper's option B, as in the other
/// two variants, not its parameter-free option A). {1, 1, 1}: ResNet-8, 78,042 parameters for 10 classes.
Architecture resnet_narrow(const std::vector<std::size_t>& blocks, std::size_t classes, Shape input = {3, 32, 32});

/// The original for 224x224 images: a 7x7 stem of stride 2 and a max pool. Tensor names follow torchvision.
Architecture resnet_224x224(ResidualBlock block, const std::vector<std::size_t>& blocks, std::size_t classes, Shape input = {3, 224, 224});

}  // namespace straggler
