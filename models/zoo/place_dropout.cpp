// Dropout, by the mask of models/layers/dropout.hpp, which is kept from forward to backward.
#include "models/layers/dropout.hpp"
#include "models/zoo/place_layer.hpp"
#include "sim/base/registry.hpp"

namespace straggler::zoo::place_dropout {
namespace {

double rate(const LayerSpec& layer) { return layer.parameters.number("rate"); }

/// What each number is multiplied by: 0 or 1 / (1 - rate).
void draw_factors(const PlacePass& pass) {
  const std::size_t channels = pass.layer.out.channels, places = pass.layer.out.places();
  const auto scale = static_cast<float>(1 / (1 - rate(pass.layer)));
  for (std::size_t sample = 0; sample < pass.samples; ++sample) {
    DropoutMask mask(pass.draws[sample], pass.index, rate(pass.layer));
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t row = sample * places; row < (sample + 1) * places; ++row)
        pass.kept[row_offset(channels, row) + c * panel_rows] = mask.keeps() ? scale : 0;
  }
}

void apply_factors(const PlacePass& pass, const float* x, float* y) {
  for (std::size_t i = 0; i < pass.floats_out(); ++i) y[i] = pass.kept[i] > 0 ? x[i] * pass.kept[i] : 0;
}

const Register<PlaceLayer> entry({
    .name = "dropout",
    .kept = [](const LayerSpec& layer, std::size_t samples) -> std::size_t {
      return rate(layer) > 0 ? panel_floats(samples * layer.out.places(), layer.out.channels) : 0;
    },
    .forward =
        [](const PlacePass& pass) {
          if (!pass.training || rate(pass.layer) == 0) {
            std::copy_n(pass.x(), pass.floats_out(), pass.y);
            return;
          }
          draw_factors(pass);
          apply_factors(pass, pass.x(), pass.y);
        },
    .backward =
        [](const PlacePass& pass) {
          if (!pass.dx()) return;
          if (rate(pass.layer) == 0)
            std::copy_n(pass.dy, pass.floats_out(), pass.dx());
          else
            apply_factors(pass, pass.dy, pass.dx());
        },
});

}  // namespace
}  // namespace straggler::zoo::place_dropout
