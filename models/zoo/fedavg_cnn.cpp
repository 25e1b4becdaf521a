#include "models/zoo/image_network.hpp"
#include "sim/base/registry.hpp"

namespace straggler::resources {
std::string_view fedavg_cnn_list();
}

namespace straggler::zoo::fedavg_cnn {
namespace {

const Register<ModelEntry> entry(image_network_entry(
    {.name = "fedavg_cnn",
     .summary = "the CNN of federated averaging: two 5x5 convolutions, two dense layers (1,663,370 parameters on 28x28)",
     .least_side = 4,
     .architecture = [](const Parameters&, const Shape& image, std::size_t classes) {
       return architecture_of(resources::fedavg_cnn_list(), image, classes);
     }}));

}  // namespace
}  // namespace straggler::zoo::fedavg_cnn
