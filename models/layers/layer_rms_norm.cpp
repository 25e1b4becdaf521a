// RMS norm (Zhang, Sennrich 2019): the channels of each place over their root mean square.
#include "models/layers/layer_pass.hpp"
#include "models/layers/reference_norm.hpp"

namespace straggler::layers::rms_norm {
namespace {

const Register<LayerEntry> entry({
    .name = "rms_norm",
    .summary = "the channels of each place over their root mean square",
    .tensors = [](const LayerSpec& layer) -> std::vector<TensorSpec> { return {gain_and_bias(layer.in.channels).front()}; },
    .backward_reads_inputs = true,
    .forward =
        [](const auto& pass) {
          reference::rms_norm_forward(pass.rows, pass.layer.in.channels, pass.layer.in.places(), pass.x(), pass.tensor(0), pass.y);
        },
    .backward =
        [](const auto& pass) {
          reference::rms_norm_backward(pass.rows, pass.layer.in.channels, pass.layer.in.places(), pass.x(), pass.tensor(0), pass.dy,
                                       pass.gradient(0), pass.dx());
        },
});

}  // namespace
}  // namespace straggler::layers::rms_norm
