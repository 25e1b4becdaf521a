#include <stdexcept>

#include "models/layers/layer_pass.hpp"
#include "models/layers/reference_elementwise.hpp"

namespace straggler::layers::add {
namespace {

const Register<LayerEntry> entry({
    .name = "add",
    .summary = "the sum of all inputs",
    .inputs = {1, static_cast<std::size_t>(-1)},
    .shape =
        [](const LayerSpec& layer, std::span<const Shape> inputs) {
          for (const Shape& each : inputs)
            if (each != layer.in)
              throw std::invalid_argument(shape_text(layer.in) + " and " + shape_text(each) +
                                          " have different shapes; add needs equal shapes");
          return layer.in;
        },
    .forward =
        [](const auto& pass) {
          std::copy_n(pass.x(), pass.count(), pass.y);
          for (std::size_t i = 1; i < pass.inputs.size(); ++i) reference::add(pass.count(), pass.inputs[i].x, pass.y);
        },
    .backward =
        [](const auto& pass) {
          for (const auto& input : pass.inputs)
            if (input.dx) reference::add(pass.count(), pass.dy, input.dx);
        },
});

}  // namespace
}  // namespace straggler::layers::add
