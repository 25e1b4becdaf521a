#include "models/layers/layer_pass.hpp"
#include "models/layers/reference_elementwise.hpp"

namespace straggler::layers::tanh {
namespace {

const Register<LayerEntry> entry({
    .name = "tanh",
    .summary = "hyperbolic tangent",
    .backward_reads_output = true,
    .forward = [](const auto& pass) { reference::tanh_forward(pass.count(), pass.x(), pass.y); },
    .backward = [](const auto& pass) { reference::tanh_backward(pass.count(), pass.y, pass.dy, pass.dx()); },
});

}  // namespace
}  // namespace straggler::layers::tanh
