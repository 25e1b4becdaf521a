// Average pool: padding counts as zeros, as in PyTorch.
#include "models/layers/layer_pass.hpp"
#include "models/layers/reference_pool.hpp"
#include "models/layers/window_layer.hpp"

namespace straggler::layers::average_pool {
namespace {

const Register<LayerEntry> entry({
    .name = "average_pool",
    .summary = "the mean of each window of a channel; without a window: of all places",
    .parameters = {window_parameter(nullptr), stride_parameter(nullptr), pad_parameter()},
    .window = window_of,
    .shape = [](const LayerSpec& layer, std::span<const Shape>) { return slide_pool(layer); },
    .forward =
        [](const auto& pass) {
          reference::average_pool_forward(pass.rows * pass.layer.out.channels, pass.layer.sliding(), pass.x(), pass.y);
        },
    .backward =
        [](const auto& pass) {
          reference::average_pool_backward(pass.rows * pass.layer.out.channels, pass.layer.sliding(), pass.dy, pass.dx());
        },
});

}  // namespace
}  // namespace straggler::layers::average_pool
