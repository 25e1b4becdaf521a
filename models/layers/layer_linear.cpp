// Linear layer over the channels of each place: a convolution whose window is one place of the flattened plane.
#include "models/layers/convolution_products.hpp"
#include "models/layers/layer_pass.hpp"

namespace straggler::layers::linear {
namespace {

reference::Convolution convolution(const LayerSpec& layer, std::size_t rows) {
  const std::size_t places = layer.in.places();
  return {rows, layer.in.channels, layer.out.channels, 1, {{}, 1, places, 1, places}};
}

const Register<LayerEntry> entry({
    .name = "linear",
    .summary = "linear layer over the channels of each place",
    .parameters =
        {{.name = "features", .type = ValueType::count, .required = true, .meaning = "channels of the output", .range = Range::at_least(1)},
         {.name = "bias", .type = ValueType::boolean, .fallback = "true", .meaning = "whether a number is added to each feature"},
         {.name = "tied", .type = ValueType::text, .meaning = "line whose weight it uses, too, such as an embedding; absent: its own"}},
    .scores = true,
    .shape = [](const LayerSpec& layer, std::span<const Shape>) -> Shape {
      return {layer.count("features"), layer.in.height, layer.in.width};
    },
    .tensors =
        [](const LayerSpec& layer) {
          return weight_and_bias({layer.out.channels, layer.in.channels}, layer.parameters.flag("bias"));
        },
    .multiply_adds = [](const LayerSpec& layer) { return static_cast<double>(layer.out.size()) * static_cast<double>(layer.in.channels); },
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
}  // namespace straggler::layers::linear
