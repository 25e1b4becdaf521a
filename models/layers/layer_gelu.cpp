// Gaussian error linear unit (Hendrycks, Gimpel 2016): x Φ(x), or its approximation by tanh.
#include "models/layers/layer_pass.hpp"
#include "models/layers/reference_elementwise.hpp"

namespace straggler::layers::gelu {
namespace {

bool by_tanh(const LayerSpec& layer) { return layer.parameters.text("form") == "tanh"; }

const Register<LayerEntry> entry({
    .name = "gelu",
    .summary = "Gaussian error linear unit",
    .parameters = {{.name = "form",
                    .type = ValueType::choice,
                    .fallback = "erf",
                    .meaning = "erf: exact; tanh: the approximation",
                    .choices = {"erf", "tanh"}}},
    .backward_reads_inputs = true,
    .forward = [](const auto& pass) { reference::gelu_forward(pass.count(), by_tanh(pass.layer), pass.x(), pass.y); },
    .backward = [](const auto& pass) { reference::gelu_backward(pass.count(), by_tanh(pass.layer), pass.x(), pass.dy, pass.dx()); },
});

}  // namespace
}  // namespace straggler::layers::gelu
