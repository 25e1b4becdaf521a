// Sums of layers, and layers that change places alone.
#include "models/zoo/place_layer.hpp"
#include "sim/base/registry.hpp"

namespace straggler::zoo::place_shapes {
namespace {

void add_to(const PlacePass& pass, const float* x, const float* with, float* y) {
  const float* const both[] = {x, with};
  constexpr float ones[] = {1, 1};
  pass.kernels.weighted_sum(pass.floats_out(), 2, both, ones, y);
}

const Register<PlaceLayer> add({
    .name = "add",
    .adds = true,
    .forward =
        [](const PlacePass& pass) {
          if (pass.inputs.size() == 1) std::copy_n(pass.x(), pass.floats_out(), pass.y);
          for (std::size_t i = 1; i < pass.inputs.size(); ++i) add_to(pass, i == 1 ? pass.x() : pass.y, pass.inputs[i].x, pass.y);
        },
    .backward =
        [](const PlacePass& pass) {
          for (const PlacePass::Input& input : pass.inputs) {
            if (!input.dx) continue;
            if (input.add)
              add_to(pass, input.dx, pass.dy, input.dx);
            else
              std::copy_n(pass.dy, pass.floats_out(), input.dx);
          }
        },
});

/// Calls each(number of the input, number of the output): channel c at place p of a sample is feature c * places + p of its only place.
template <class Each>
void for_flattened(const PlacePass& pass, const Each& each) {
  const std::size_t channels = pass.layer.in.channels, places = pass.layer.in.places();
  for (std::size_t sample = 0; sample < pass.samples; ++sample)
    for (std::size_t place = 0; place < places; ++place) {
      const std::size_t from = row_offset(channels, sample * places + place), to = row_offset(channels * places, sample);
      for (std::size_t c = 0; c < channels; ++c) each(from + c * panel_rows, to + (c * places + place) * panel_rows);
    }
}

const Register<PlaceLayer> flatten({
    .name = "flatten",
    .forward = [](const PlacePass& pass) { for_flattened(pass, [&](std::size_t in, std::size_t out) { pass.y[out] = pass.x()[in]; }); },
    .backward =
        [](const PlacePass& pass) {
          if (pass.dx()) for_flattened(pass, [&](std::size_t in, std::size_t out) { pass.dx()[in] = pass.dy[out]; });
        },
});

const Register<PlaceLayer> first_place({
    .name = "first_place",
    .forward =
        [](const PlacePass& pass) {
          const std::size_t channels = pass.layer.in.channels, places = pass.layer.in.places();
          for (std::size_t sample = 0; sample < pass.samples; ++sample)
            copy_rows(channels, 1, {pass.x(), channels, sample * places}, {pass.y, channels, sample});
        },
    .backward =
        [](const PlacePass& pass) {
          const std::size_t channels = pass.layer.in.channels, places = pass.layer.in.places();
          if (!pass.dx()) return;
          std::fill_n(pass.dx(), pass.floats_in(), 0.0f);
          for (std::size_t sample = 0; sample < pass.samples; ++sample)
            copy_rows(channels, 1, {pass.dy, channels, sample}, {pass.dx(), channels, sample * places});
        },
});

/// Calls each(number of the input, number of the output) for every place of each mean, places in order.
template <class Each>
void for_means(const PlacePass& pass, const Each& each) {
  const std::size_t channels = pass.layer.in.channels, places = pass.layer.in.places();
  for (std::size_t row = 0; row < pass.rows_in(); ++row) {
    const std::size_t from = row_offset(channels, row), to = row_offset(channels, row / places);
    for (std::size_t c = 0; c < channels; ++c) each(from + c * panel_rows, to + c * panel_rows);
  }
}

/// The mean of all places.
const Register<PlaceLayer> average_pool({
    .name = "average_pool",
    .able =
        [](const LayerSpec& layer) {
          const Window& window = layer.window;
          return window.height == layer.in.height && window.width == layer.in.width && window.pad_height == 0 && window.pad_width == 0;
        },
    .forward =
        [](const PlacePass& pass) {
          std::fill_n(pass.y, pass.floats_out(), 0.0f);
          for_means(pass, [&](std::size_t in, std::size_t out) { pass.y[out] += pass.x()[in]; });
          for (std::size_t i = 0; i < pass.floats_out(); ++i) pass.y[i] /= static_cast<float>(pass.layer.in.places());
        },
    .backward =
        [](const PlacePass& pass) {
          const auto places = static_cast<float>(pass.layer.in.places());
          if (pass.dx()) for_means(pass, [&](std::size_t in, std::size_t out) { pass.dx()[in] = pass.dy[out] / places; });
        },
});

}  // namespace
}  // namespace straggler::zoo::place_shapes
