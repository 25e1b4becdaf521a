#include "models/layers/layer_pass.hpp"
#include "models/layers/reference_elementwise.hpp"

namespace straggler::layers::sequence {
namespace {

const Register<LayerEntry> entry({
    .name = "sequence",
    .summary = "all places in one row, row by row of the image",
    .view = true,
    .shape = [](const LayerSpec& layer, std::span<const Shape>) -> Shape {
      return {layer.in.channels, layer.in.places(), 1};
    },
    .operations = 0,
    .forward = [](const auto& pass) { std::copy_n(pass.x(), pass.count(), pass.y); },
    .backward = [](const auto& pass) { reference::add(pass.count(), pass.dy, pass.dx()); },
});

}  // namespace
}  // namespace straggler::layers::sequence
