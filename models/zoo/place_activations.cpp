// Element-wise layers without weights.
#include "models/zoo/place_layer.hpp"
#include "sim/base/registry.hpp"

namespace straggler::zoo::place_activations {
namespace {

using Choose = Activation (*)(const LayerSpec&);

template <Choose activation>
PlaceLayer element_wise(const char* name) {
  PlaceLayer row;
  row.name = name;
  row.forward = [](const PlacePass& pass) { pass.places.activation_forward(activation(pass.layer), pass.floats_out(), pass.x(), pass.y); };
  row.backward = [](const PlacePass& pass) {
    if (pass.dx()) pass.places.activation_backward(activation(pass.layer), pass.floats_out(), pass.x(), pass.y, pass.dy, pass.dx());
  };
  return row;
}

Activation gelu_form(const LayerSpec& layer) {
  return layer.parameters.text("form") == "tanh" ? Activation::gelu_by_tanh : Activation::gelu;
}

template <Activation activation>
Activation always(const LayerSpec&) {
  return activation;
}

const Register<PlaceLayer> relu(element_wise<always<Activation::relu>>("relu"));
const Register<PlaceLayer> tangent(element_wise<always<Activation::tanh>>("tanh"));
const Register<PlaceLayer> silu(element_wise<always<Activation::silu>>("silu"));
const Register<PlaceLayer> gelu(element_wise<gelu_form>("gelu"));

}  // namespace
}  // namespace straggler::zoo::place_activations
