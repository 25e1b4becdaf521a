#include "models/zoo/architecture_resnet.hpp"

#include <stdexcept>
#include <utility>

namespace straggler {
namespace {

const std::vector<std::size_t> wide = {64, 128, 256, 512}, narrow = {16, 32, 64};

class ResNet {
 public:
  ResNet(Shape input, ResidualBlock block, std::vector<std::size_t> channels, const char* shortcut)
      : build_(input), block_(block), channels_(std::move(channels)), shortcut_(shortcut) {}

  LayerIndex conv_bn(LayerIndex from, const LayerName& conv, const LayerName& bn, std::size_t channels, const Window& window) {
    return build_.batch_norm(build_.conv(from, conv, channels, window), bn);
  }

  LayerIndex stages(LayerIndex x, const std::vector<std::size_t>& blocks) {
    if (blocks.size() != channels_.size())
      throw std::invalid_argument("this ResNet has " + std::to_string(channels_.size()) + " stages; give as many numbers of blocks");
    for (std::size_t stage = 0; stage < blocks.size(); ++stage)
      for (std::size_t i = 0; i < blocks[stage]; ++i) {
        const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(i);
        build_.within(name);
        x = residual(x, name, channels_[stage], stage > 0 && i == 0 ? 2 : 1);
      }
    build_.within({});
    return x;
  }

  Architecture finish(LayerIndex x, const char* classifier, std::size_t classes) && {
    build_.linear(build_.flatten(build_.global_average_pool(x)), classifier, classes);
    return std::move(build_).build();
  }

  ArchitectureBuilder& build() { return build_; }

 private:
  LayerIndex residual(LayerIndex x, const std::string& name, std::size_t channels, std::size_t stride) {
    const auto layer = [&](LayerIndex from, int number, std::size_t out, const Window& window) {
      const std::string suffix = std::to_string(number);
      return conv_bn(from, name + ".conv" + suffix, name + ".bn" + suffix, out, window);
    };
    const std::size_t out = block_ == ResidualBlock::basic ? channels : 4 * channels;
    LayerIndex y;
    if (block_ == ResidualBlock::basic) {
      y = build_.relu(layer(x, 1, channels, Window::square(3, stride, 1)));
      y = layer(y, 2, out, Window::square(3, 1, 1));
    } else {
      y = build_.relu(layer(x, 1, channels, Window::square(1)));
      y = build_.relu(layer(y, 2, channels, Window::square(3, stride, 1)));
      y = layer(y, 3, out, Window::square(1));
    }
    if (build_.shape(x) != build_.shape(y)) {
      const std::string table = name + ".shortcut", tensors = name + "." + shortcut_;
      x = conv_bn(x, {table + ".conv", tensors + ".0"}, {table + ".bn", tensors + ".1"}, out, Window::square(1, stride));
    }
    return build_.relu(build_.add({y, x}));
  }

  ArchitectureBuilder build_;
  ResidualBlock block_;
  std::vector<std::size_t> channels_;  // of the stages
  const char* shortcut_;               // the framework's name for it
};

}  // namespace

Architecture resnet_32x32(ResidualBlock block, const std::vector<std::size_t>& blocks, std::size_t classes, Shape input) {
  ResNet net(input, block, wide, "shortcut");
  const LayerIndex stem = net.build().relu(net.conv_bn(network_input, "conv1", "bn1", 64, Window::square(3, 1, 1)));
  const LayerIndex last = net.stages(stem, blocks);
  return std::move(net).finish(last, "linear", classes);
}

Architecture resnet_narrow(const std::vector<std::size_t>& blocks, std::size_t classes, Shape input) {
  ResNet net(input, ResidualBlock::basic, narrow, "shortcut");
  const LayerIndex stem = net.build().relu(net.conv_bn(network_input, "conv1", "bn1", 16, Window::square(3, 1, 1)));
  const LayerIndex last = net.stages(stem, blocks);
  return std::move(net).finish(last, "linear", classes);
}

Architecture resnet_224x224(ResidualBlock block, const std::vector<std::size_t>& blocks, std::size_t classes, Shape input) {
  ResNet net(input, block, wide, "downsample");
  const LayerIndex stem = net.build().relu(net.conv_bn(network_input, "conv1", "bn1", 64, Window::square(7, 2, 3)));
  const LayerIndex last = net.stages(net.build().max_pool(stem, Window::square(3, 2, 1)), blocks);
  return std::move(net).finish(last, "fc", classes);
}

}  // namespace straggler
