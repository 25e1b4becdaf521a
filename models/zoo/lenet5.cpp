// LeNet-5 as it is commonly trained today: 61,706 parameters on one channel of 28x28, padded to 32x32 as in LeCun, Bottou, Bengio, Haffner,
// Gradient-Based Learning Applied to Document Recognition, 1998. Theirs had scaled tanh, average pools with a weight each, a second
// convolution that joined selected channels only, and RBF outputs; this has ReLU, max pools, full convolutions and softmax. Larger images
// are not padded.
#include "models/zoo/image_network.hpp"
#include "sim/base/registry.hpp"

namespace straggler::zoo::lenet5 {
namespace {

constexpr std::size_t unpadded_side = 32;

Architecture lenet5(const Shape& image, std::size_t classes) {
  const bool pad = image.height < unpadded_side && image.width < unpadded_side;
  ArchitectureBuilder build(image);
  LayerIndex x = build.relu(build.conv(network_input, "conv1", 6, Window::square(5, 1, pad ? 2 : 0), true));
  x = build.max_pool(x, Window::square(2, 2));
  x = build.relu(build.conv(x, "conv2", 16, Window::square(5), true));
  x = build.flatten(build.max_pool(x, Window::square(2, 2)));
  x = build.relu(build.linear(x, "fc1", 120));
  x = build.relu(build.linear(x, "fc2", 84));
  build.linear(x, "fc3", classes);
  return std::move(build).build();
}

const Register<ModelEntry> entry(image_network_entry(
    {.name = "lenet5",
     .summary = "LeNet-5 with ReLU and max pools: two 5x5 convolutions, three dense layers (61,706 parameters on 28x28)",
     .least_side = 12,
     .architecture = lenet5}));

}  // namespace
}  // namespace straggler::zoo::lenet5
