// A learned place before all others, as ViT's and BERT's [CLS].
#include <stdexcept>

#include "models/layers/layer_pass.hpp"

namespace straggler::layers::class_token {
namespace {

const Register<LayerEntry> entry({
    .name = "class_token",
    .summary = "puts a learned place before the first one",
    .shape = [](const LayerSpec& layer, std::span<const Shape>) -> Shape {
      if (layer.in.width != 1)
        throw std::invalid_argument(shape_text(layer.in) + " is not a sequence such as " +
                                    shape_text({layer.in.channels, layer.in.places(), 1}) + "; put a line sequence before it");
      return {layer.in.channels, layer.in.height + 1, 1};
    },
    .tensors = [](const LayerSpec& layer) -> std::vector<TensorSpec> {
      return {{"weight", {layer.in.channels}, {InitialValues::Rule::normal, 0.02}}};
    },
    .forward =
        [](const auto& pass) {
          const std::size_t places = pass.layer.in.height;
          for (std::size_t plane = 0; plane < pass.rows * pass.layer.in.channels; ++plane) {
            auto* const to = pass.y + plane * (places + 1);
            to[0] = pass.tensor(0)[plane % pass.layer.in.channels];
            std::copy_n(pass.x() + plane * places, places, to + 1);
          }
        },
    .backward =
        [](const auto& pass) {
          const std::size_t places = pass.layer.in.height;
          for (std::size_t plane = 0; plane < pass.rows * pass.layer.in.channels; ++plane) {
            const auto* const from = pass.dy + plane * (places + 1);
            pass.gradient(0)[plane % pass.layer.in.channels] += from[0];
            for (std::size_t place = 0; pass.dx() && place < places; ++place) pass.dx()[plane * places + place] += from[place + 1];
          }
        },
});

}  // namespace
}  // namespace straggler::layers::class_token
