// Learned positions: y[channel][place] = x[channel][place] + table[place][channel].
#include "models/layers/layer_pass.hpp"
#include "models/layers/reference_elementwise.hpp"
#include "models/layers/reference_embedding.hpp"

namespace straggler::layers::learned_positions {
namespace {

const Register<LayerEntry> entry({
    .name = "learned_positions",
    .summary = "adds a learned row to each place",
    .tensors = [](const LayerSpec& layer) -> std::vector<TensorSpec> {
      return {
          {"weight", {layer.in.places(), layer.in.channels}, {InitialValues::Rule::normal, 0.02}}};  // as ViT's (Dosovitskiy et al. 2021)
    },
    .forward =
        [](const auto& pass) {
          std::copy_n(pass.x(), pass.count(), pass.y);
          reference::positions_forward(pass.rows, pass.layer.in.places(), pass.layer.in.channels, pass.tensor(0), pass.y);
        },
    .backward =
        [](const auto& pass) {
          reference::positions_backward(pass.rows, pass.layer.in.places(), pass.layer.in.channels, pass.dy, pass.gradient(0));
          if (pass.dx()) reference::add(pass.count(), pass.dy, pass.dx());
        },
});

}  // namespace
}  // namespace straggler::layers::learned_positions
