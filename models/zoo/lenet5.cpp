#include "models/zoo/image_network.hpp"
#include "sim/base/registry.hpp"

namespace straggler::resources {
std::string_view lenet5_list();
}

namespace straggler::zoo::lenet5 {
namespace {

const Register<ModelEntry> entry(image_network_entry(
    {.name = "lenet5",
     .summary = "LeNet-5 with ReLU and max pools: two 5x5 convolutions, three dense layers (61,706 parameters on 28x28)",
     .least_side = 12,
     .architecture = [](const Parameters&, const Shape& image, std::size_t classes) {
       constexpr std::size_t unpadded_side = 32;
       const bool pads = image.height < unpadded_side && image.width < unpadded_side;
       return architecture_of(resources::lenet5_list(), image, classes, {{"padding", pads ? 2 : 0}});
     }}));

}  // namespace
}  // namespace straggler::zoo::lenet5
