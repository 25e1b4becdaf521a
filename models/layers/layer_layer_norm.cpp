// Layer norm: the channels of each place.
#include "models/layers/layer_pass.hpp"
#include "models/layers/reference_norm.hpp"

namespace straggler::layers::layer_norm {
namespace {

const Register<LayerEntry> entry({
    .name = "layer_norm",
    .summary = "layer norm of the channels of each place",
    .tensors = [](const LayerSpec& layer) { return gain_and_bias(layer.in.channels); },
    .backward_reads_inputs = true,
    .forward =
        [](const auto& pass) {
          reference::layer_norm_forward(pass.rows, pass.layer.in.channels, pass.layer.in.places(), pass.x(), pass.tensor(0), pass.tensor(1),
                                        pass.y);
        },
    .backward =
        [](const auto& pass) {
          reference::layer_norm_backward(pass.rows, pass.layer.in.channels, pass.layer.in.places(), pass.x(), pass.tensor(0), pass.dy,
                                         pass.gradient(0), pass.gradient(1), pass.dx());
        },
});

}  // namespace
}  // namespace straggler::layers::layer_norm
