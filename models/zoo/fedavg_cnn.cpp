// The CNN of McMahan, Moore, Ramage, Hampson, Agüera y Arcas, Communication-Efficient Learning of Deep Networks from Decentralized
// Data, 2017, for MNIST: two 5x5 convolutions with 32 and 64 channels, each followed by a 2x2 max pool, 512 ReLUs, softmax;
// 1,663,370 parameters on one channel of 28x28.
#include "models/zoo/image_network.hpp"
#include "sim/base/registry.hpp"

namespace straggler::zoo::fedavg_cnn {
namespace {

Architecture fedavg_cnn(const Shape& image, std::size_t classes) {
  ArchitectureBuilder build(image);
  LayerIndex x = build.relu(build.conv(network_input, "conv1", 32, Window::square(5, 1, 2), true));
  x = build.max_pool(x, Window::square(2, 2));
  x = build.relu(build.conv(x, "conv2", 64, Window::square(5, 1, 2), true));
  x = build.flatten(build.max_pool(x, Window::square(2, 2)));
  x = build.relu(build.linear(x, "fc1", 512));
  build.linear(x, "fc2", classes);
  return std::move(build).build();
}

const Register<ModelEntry> entry(image_network_entry(
    {.name = "fedavg_cnn",
     .summary = "the CNN of federated averaging: two 5x5 convolutions, two dense layers (1,663,370 parameters on 28x28)",
     .least_side = 4,
     .architecture = fedavg_cnn}));

}  // namespace
}  // namespace straggler::zoo::fedavg_cnn
