// Embedding: rows of a table for tokens, and of another one for places. A sample of tokens is the same in panels as in rows.
#include "models/layers/reference_embedding.hpp"
#include "models/zoo/place_layer.hpp"
#include "sim/base/registry.hpp"

namespace straggler::zoo::place_embedding {
namespace {

constexpr std::size_t some_rows = panel_rows;

/// Calls each(first row, rows, their numbers in a table) for all rows, some at a time.
template <class NumberOf, class Each>
void for_numbers(std::size_t rows, const NumberOf& number_of, const Each& each) {
  for (std::size_t row = 0; row < rows; row += some_rows) {
    std::uint32_t numbers[some_rows];
    const std::size_t count = std::min(some_rows, rows - row);
    for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<std::uint32_t>(number_of(row + i));
    each(row, count, numbers);
  }
}

void forward(const PlacePass& pass) {
  const std::size_t channels = pass.layer.out.channels, places = pass.layer.out.places(), table_rows = pass.layer.count("rows");
  const auto token = [&](std::size_t row) { return reference::token(pass.x()[row], table_rows); };
  for_numbers(pass.rows_out(), token, [&](std::size_t row, std::size_t count, const std::uint32_t* tokens) {
    pass.kernels.gather_panels(count, channels, pass.tensor(0), tokens, pass.y + row * channels);
  });
  if (!pass.tensor(1)) return;
  const auto place = [=](std::size_t row) { return row % places; };
  for_numbers(pass.rows_out(), place, [&](std::size_t row, std::size_t count, const std::uint32_t* numbers) {
    pass.kernels.gather_panels(count, channels, pass.tensor(1), numbers, pass.scratch);
    const float* const both[] = {pass.y + row * channels, pass.scratch};
    constexpr float ones[] = {1, 1};
    pass.kernels.weighted_sum(some_rows * channels, 2, both, ones, pass.y + row * channels);
  });
}

/// Row by row, in their order.
void backward(const PlacePass& pass) {
  const std::size_t channels = pass.layer.out.channels, places = pass.layer.out.places();
  const auto add = [&](std::size_t from, std::size_t to, float* table) {
    for (std::size_t c = 0; c < channels; ++c) table[to * channels + c] += pass.scratch[from * channels + c];
  };
  for (std::size_t row = 0; row < pass.rows_out(); row += some_rows) {
    const std::size_t count = std::min(some_rows, pass.rows_out() - row);
    pass.kernels.from_panels(count, channels, pass.dy + row * channels, pass.scratch);
    for (std::size_t i = 0; i < count; ++i) {
      add(i, static_cast<std::size_t>(pass.x()[row + i]), pass.gradient(0));
      if (pass.gradient(1)) add(i, (row + i) % places, pass.gradient(1));
    }
  }
}

const Register<PlaceLayer> entry({
    .name = "embedding",
    .scratch = [](const LayerSpec& layer, std::size_t) { return some_rows * layer.out.channels; },
    .forward = forward,
    .backward = backward,
});

}  // namespace
}  // namespace straggler::zoo::place_embedding
