#include "models/zoo/image_network.hpp"
#include "sim/base/registry.hpp"

namespace straggler::resources {
std::string_view vgg16_list();
}

namespace straggler::zoo::vgg16 {
namespace {

const Register<ModelEntry> entry(image_network_entry(
    {.name = "vgg16",
     .summary = "VGG-16; as workload.cost: of 224x224 images, with classes (1000): 138,357,544 parameters, 15.5 G multiply-adds",
     .reference = "Simonyan, Zisserman, Very Deep Convolutional Networks for Large-Scale Image Recognition, ICLR 2015 (configuration D); "
                  "torchvision.models.vgg16",
     .least_side = 32,
     .architecture = [](const Parameters&, const Shape& image,
                        std::size_t classes) { return architecture_of(resources::vgg16_list(), image, classes); },
     .usual = ImageNetwork::Usual{{3, 224, 224}, 1000}}));

}  // namespace
}  // namespace straggler::zoo::vgg16
