#include <stdexcept>

#include "models/layers/layer_pass.hpp"
#include "models/layers/reference_elementwise.hpp"

namespace straggler::layers::concat {
namespace {

const Register<LayerEntry> entry({
    .name = "concat",
    .summary = "the channels of all inputs, one input after the other",
    .inputs = {1, static_cast<std::size_t>(-1)},
    .shape =
        [](const LayerSpec& layer, std::span<const Shape> inputs) {
          Shape out{0, layer.in.height, layer.in.width};
          for (const Shape& each : inputs) {
            if (each.height != out.height || each.width != out.width)
              throw std::invalid_argument(shape_text(layer.in) + " and " + shape_text(each) + " cover different places; make them alike");
            out.channels += each.channels;
          }
          return out;
        },
    .forward =
        [](const auto& pass) {
          auto* to = pass.y;
          for (std::size_t row = 0; row < pass.rows; ++row)
            for (const auto& input : pass.inputs) to = std::copy_n(input.x + row * input.size, input.size, to);
        },
    .backward =
        [](const auto& pass) {
          const std::size_t size = pass.layer.out.size();
          std::size_t from = 0;  // of the input in a row
          for (const auto& input : pass.inputs) {
            for (std::size_t row = 0; input.dx && row < pass.rows; ++row)
              reference::add(input.size, pass.dy + row * size + from, input.dx + row * input.size);
            from += input.size;
          }
        },
});

}  // namespace
}  // namespace straggler::layers::concat
