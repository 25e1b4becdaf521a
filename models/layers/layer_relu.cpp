#include "models/layers/layer_pass.hpp"
#include "models/layers/reference_elementwise.hpp"

namespace straggler::layers::relu {
namespace {

const Register<LayerEntry> entry({
    .name = "relu",
    .summary = "max(0, x)",
    .backward_reads_output = true,
    .forward = [](const auto& pass) { reference::relu_forward(pass.count(), pass.x(), pass.y); },
    .backward = [](const auto& pass) { reference::relu_backward(pass.count(), pass.y, pass.dy, pass.dx()); },
});

}  // namespace
}  // namespace straggler::layers::relu
