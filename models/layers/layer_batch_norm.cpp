// Batch norm: each channel over the batch and all places; running statistics in evaluation.
#include "models/layers/layer_pass.hpp"
#include "models/layers/reference_norm.hpp"

namespace straggler::layers::batch_norm {
namespace {

const Register<LayerEntry> entry({
    .name = "batch_norm",
    .summary = "batch norm of each channel, with running statistics",
    .tensors = [](const LayerSpec& layer) { return gain_and_bias(layer.in.channels); },
    .buffers = [](const LayerSpec& layer) -> std::vector<TensorSpec> {
      return {{"running_mean", {layer.in.channels}, {InitialValues::Rule::constant, 0}},
              {"running_var", {layer.in.channels}, {InitialValues::Rule::constant, 1}}};
    },
    .backward_reads_inputs = true,
    .forward =
        [](const auto& pass) {
          const std::size_t channels = pass.layer.in.channels, places = pass.layer.in.places();
          if (pass.training)
            return reference::batch_norm_forward(pass.rows, channels, places, pass.x(), pass.tensor(0), pass.tensor(1), pass.y, pass.batch,
                                                 pass.batch + channels);
          reference::batch_norm_evaluate(pass.rows, channels, places, pass.x(), pass.tensor(0), pass.tensor(1), pass.running,
                                         pass.running + channels, pass.y);
        },
    .backward =
        [](const auto& pass) {
          reference::batch_norm_backward(pass.rows, pass.layer.in.channels, pass.layer.in.places(), pass.x(), pass.tensor(0), pass.dy,
                                         pass.gradient(0), pass.gradient(1), pass.dx());
        },
});

}  // namespace
}  // namespace straggler::layers::batch_norm
