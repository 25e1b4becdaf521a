#include "models/layers/layer_pass.hpp"
#include "models/layers/reference_pool.hpp"
#include "models/layers/window_layer.hpp"

namespace straggler::layers::max_pool {
namespace {

const Register<LayerEntry> entry({
    .name = "max_pool",
    .summary = "the largest number in each window of a channel",
    .parameters = {window_parameter(nullptr, true), stride_parameter(nullptr), pad_parameter()},
    .window = window_of,
    .shape = [](const LayerSpec& layer, std::span<const Shape>) { return slide_pool(layer); },
    .backward_reads_inputs = true,
    .kept_indices = [](const LayerSpec& layer) { return layer.out.size(); },
    .forward =
        [](const auto& pass) {
          reference::max_pool_forward(pass.rows * pass.layer.out.channels, pass.layer.sliding(), pass.x(), pass.y, pass.kept);
        },
    .backward =
        [](const auto& pass) {
          reference::max_pool_backward(pass.rows * pass.layer.out.channels, pass.layer.sliding(), pass.kept, pass.dy, pass.dx());
        },
});

}  // namespace
}  // namespace straggler::layers::max_pool
