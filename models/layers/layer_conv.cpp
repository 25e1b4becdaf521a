// Convolution; with groups each output channel sees the input channels of its group only.
#include <stdexcept>

#include "models/layers/convolution_products.hpp"
#include "models/layers/layer_pass.hpp"
#include "models/layers/window_layer.hpp"

namespace straggler::layers::conv {
namespace {

reference::Convolution convolution(const LayerSpec& layer, std::size_t rows) {
  return {rows, layer.in.channels, layer.out.channels, layer.count("groups"), layer.sliding()};
}

const Register<LayerEntry> entry({
    .name = "conv",
    .summary = "convolution",
    .parameters =
        {{.name = "channels", .type = ValueType::count, .required = true, .meaning = "channels of the output", .range = Range::at_least(1)},
         window_parameter("[1]"),
         stride_parameter("1"),
         pad_parameter(),
         {.name = "bias", .type = ValueType::boolean, .fallback = "true", .meaning = "whether a number is added to each channel"},
         {.name = "groups",
          .type = ValueType::count,
          .fallback = "1",
          .meaning = "groups of channels, each computed from its own input channels",
          .range = Range::at_least(1)}},
    .window = window_of,
    .shape =
        [](const LayerSpec& layer, std::span<const Shape>) {
          const std::size_t channels = layer.count("channels"), groups = layer.count("groups");
          if (layer.in.channels % groups != 0 || channels % groups != 0)
            throw std::invalid_argument("the channels of " + shape_text(layer.in) + " and " + std::to_string(channels) +
                                        " of the output do not split into " + std::to_string(groups) + " groups; choose a divisor of both");
          return slide(layer, channels);
        },
    .tensors =
        [](const LayerSpec& layer) {
          return weight_and_bias({layer.out.channels, layer.in.channels / layer.count("groups"), layer.window.height, layer.window.width},
                                 layer.parameters.flag("bias"));
        },
    .multiply_adds =
        [](const LayerSpec& layer) {
          const std::size_t channels = layer.in.channels / layer.count("groups");
          return static_cast<double>(layer.out.size()) * static_cast<double>(layer.window.height * layer.window.width * channels);
        },
    .backward_reads_inputs = true,
    .scratch = [](const LayerSpec& layer) { return ConvolutionProducts(convolution(layer, 1)).column_floats(); },
    .forward =
        [](const auto& pass) {
          convolve(convolution(pass.layer, pass.rows), pass.x(), pass.tensor(0), pass.tensor(1), pass.y, pass.scratch);
        },
    .backward =
        [](const auto& pass) {
          convolve_backward(convolution(pass.layer, pass.rows), pass.x(), pass.tensor(0), pass.dy, pass.gradient(0), pass.gradient(1),
                            pass.dx(), pass.scratch);
        },
});

}  // namespace
}  // namespace straggler::layers::conv
