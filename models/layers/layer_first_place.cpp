#include "models/layers/layer.hpp"

namespace straggler::layers::first_place {
namespace {

const Register<LayerEntry> entry({
    .name = "first_place",
    .summary = "the channels of the first place alone (BERT's [CLS])",
    .shape = [](const LayerSpec& layer, std::span<const Shape>) -> Shape {
      return {layer.in.channels, 1, 1};
    },
});

}  // namespace
}  // namespace straggler::layers::first_place
