#include "models/layers/layer_pass.hpp"

namespace straggler::layers::first_place {
namespace {

const Register<LayerEntry> entry({
    .name = "first_place",
    .summary = "the channels of the first place alone (BERT's [CLS])",
    .shape = [](const LayerSpec& layer, std::span<const Shape>) -> Shape {
      return {layer.in.channels, 1, 1};
    },
    .forward =
        [](const auto& pass) {
          for (std::size_t i = 0; i < pass.count(); ++i) pass.y[i] = pass.x()[i * pass.layer.in.places()];
        },
    .backward =
        [](const auto& pass) {
          for (std::size_t i = 0; i < pass.count(); ++i) pass.dx()[i * pass.layer.in.places()] += pass.dy[i];
        },
});

}  // namespace
}  // namespace straggler::layers::first_place
