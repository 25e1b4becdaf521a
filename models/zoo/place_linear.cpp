// Linear layer over the channels of each place: a dense layer of all places of all samples.
#include "models/zoo/place_layer.hpp"
#include "sim/base/registry.hpp"

namespace straggler::zoo::place_linear {
namespace {

const Register<PlaceLayer> entry({
    .name = "linear",
    // The kernels want a bias and its gradient.
    .scratch = [](const LayerSpec& layer, std::size_t) { return layer.parameters.flag("bias") ? 0 : layer.out.channels; },
    .forward =
        [](const PlacePass& pass) {
          const std::size_t in = pass.layer.in.channels, out = pass.layer.out.channels;
          if (!pass.tensor(1)) std::fill_n(pass.scratch, out, 0.0f);
          pass.kernels.dense_forward(pass.rows_in(), in, out, pass.x(), pass.tensor(0), pass.tensor(1) ? pass.tensor(1) : pass.scratch,
                                     false, pass.y);
        },
    .backward =
        [](const PlacePass& pass) {
          const std::size_t in = pass.layer.in.channels, out = pass.layer.out.channels;
          const DenseRows rows{pass.kernels, pass.rows_in(), in, out};
          rows.backward(pass.x(), pass.dy, pass.tensor(0), pass.gradient(0), pass.gradient(1) ? pass.gradient(1) : pass.scratch, pass.dx());
        },
});

}  // namespace
}  // namespace straggler::zoo::place_linear
