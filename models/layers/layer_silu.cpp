// Sigmoid linear unit (Elfwing, Uchibe, Doya 2018): x / (1 + e^-x).
#include "models/layers/layer_pass.hpp"
#include "models/layers/reference_elementwise.hpp"

namespace straggler::layers::silu {
namespace {

const Register<LayerEntry> entry({
    .name = "silu",
    .summary = "sigmoid linear unit",
    .backward_reads_inputs = true,
    .forward = [](const auto& pass) { reference::silu_forward(pass.count(), pass.x(), pass.y); },
    .backward = [](const auto& pass) { reference::silu_backward(pass.count(), pass.x(), pass.dy, pass.dx()); },
});

}  // namespace
}  // namespace straggler::layers::silu
