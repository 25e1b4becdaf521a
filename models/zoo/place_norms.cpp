// Layer norm and RMS norm: a norm of each row.
#include "models/layers/norm.hpp"
#include "models/zoo/place_layer.hpp"
#include "sim/base/registry.hpp"

namespace straggler::zoo::place_norms {
namespace {

template <bool centred>
RowNorm norm_of(const LayerSpec& layer) {
  return {layer.in.channels, centred, static_cast<float>(norm_epsilon)};
}

template <bool centred>
PlaceLayer norm(const char* name) {
  PlaceLayer row;
  row.name = name;
  row.adds = true;
  row.forward = [](const PlacePass& pass) {
    pass.places.norm_forward(pass.rows_in(), norm_of<centred>(pass.layer), pass.x(), pass.tensor(0), pass.tensor(1), pass.y);
  };
  row.backward = [](const PlacePass& pass) {
    pass.places.norm_backward(pass.rows_in(), norm_of<centred>(pass.layer), pass.x(), pass.tensor(0), pass.dy, pass.inputs[0].add,
                              pass.gradient(0), pass.gradient(1), pass.dx());
  };
  return row;
}

const Register<PlaceLayer> layer_norm(norm<true>("layer_norm"));
const Register<PlaceLayer> rms_norm(norm<false>("rms_norm"));

}  // namespace
}  // namespace straggler::zoo::place_norms
