// What the engine `panels` makes of a layer of a network over sequences. A row registers itself from its file, place_NAME.cpp, under the
// name of the layer's own row (models/layers).
//
// Activations are panels (models/kernels/places.hpp) whose rows are places: row s * places + p is place p of sample s, its features are
// the channels.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/kernels/places.hpp"
#include "models/zoo/architecture.hpp"

namespace straggler {

/// One pass of one layer over a block of samples.
struct PlacePass {
  struct Input {
    const float* x = nullptr;
    float* dx = nullptr;  // backward; null: of no use
    bool add = false;     // to dx, rather than to assign; false for a row without `adds`
  };
  const LayerSpec& layer;
  std::size_t index = 0;  // of the layer in its network
  std::size_t samples = 0;
  bool training = false;
  const std::uint64_t* draws = nullptr;  // [samples], if a layer of the network draws
  const Kernels& kernels;
  const PlaceKernels& places;
  std::span<const Input> inputs = {};
  float* y = nullptr;         // backward reads it
  const float* dy = nullptr;  // backward
  const std::vector<std::size_t>& offsets;
  const float* weights = nullptr;
  float* weight_gradient = nullptr;  // backward adds to it
  float* kept = nullptr;             // [kept]
  float* scratch = nullptr;          // [scratch]

  const float* x() const { return inputs[0].x; }
  float* dx() const { return inputs[0].dx; }
  std::size_t rows_in() const { return samples * layer.in.places(); }
  std::size_t rows_out() const { return samples * layer.out.places(); }
  /// Floats of the block's input and output, with padding.
  std::size_t floats_in() const { return panel_floats(rows_in(), layer.in.channels); }
  std::size_t floats_out() const { return panel_floats(rows_out(), layer.out.channels); }
  /// Null: the layer has no such tensor.
  const float* tensor(std::size_t t) const { return t < offsets.size() ? weights + offsets[t] : nullptr; }
  float* gradient(std::size_t t) const { return t < offsets.size() ? weight_gradient + offsets[t] : nullptr; }
};

struct PlaceLayer {
  std::string name;
  bool (*able)(const LayerSpec&) = nullptr;                                 // whether the row computes this layer; null: any
  std::size_t (*kept)(const LayerSpec&, std::size_t samples) = nullptr;     // floats from forward to backward; null: none
  std::size_t (*scratch)(const LayerSpec&, std::size_t samples) = nullptr;  // floats of a call; null: none
  bool adds = false;                                                        // whether backward obeys Input::add
  void (*forward)(const PlacePass&) = nullptr;
  void (*backward)(const PlacePass&) = nullptr;  // called where there are tensors, or an input whose derivative is of use
};

/// Where feature 0 of a row is in panels; the others follow, panel_rows floats apart.
constexpr std::size_t row_offset(std::size_t features, std::size_t row) {
  return row / panel_rows * panel_rows * features + row % panel_rows;
}

/// The dense layer y = w x + b of each of `rows` rows, from dy: dw and db += the derivatives, dx (null: none) = wᵀ dy. A group of rows at a
/// time, whose dy a near cache still holds for dx.
struct DenseRows {
  const Kernels& kernels;
  std::size_t rows, in, out;

  void backward(const float* x, const float* dy, const float* w, float* dw, float* db, float* dx) const {
    constexpr std::size_t group = 4 * panel_rows;
    for (std::size_t row = 0; row < rows; row += group) {
      const std::size_t some = std::min(group, rows - row);
      kernels.dense_backward_weights(some, in, out, x + row * in, dy + row * out, true, dw, db);
      if (dx) kernels.dense_backward_input(some, in, out, dy + row * out, w, nullptr, false, dx + row * in);
    }
  }
};

/// Panels of that many features, from a row on.
template <class Float>
struct PanelRows {
  Float* panels;
  std::size_t features, row;
};

/// Copies the first `features` features of `count` rows.
inline void copy_rows(std::size_t features, std::size_t count, PanelRows<const float> from, PanelRows<float> to) {
  while (count > 0) {
    const std::size_t some = std::min({count, panel_rows - from.row % panel_rows, panel_rows - to.row % panel_rows});
    const float* const source = from.panels + row_offset(from.features, from.row);
    float* const target = to.panels + row_offset(to.features, to.row);
    for (std::size_t c = 0; c < features; ++c) std::copy_n(source + c * panel_rows, some, target + c * panel_rows);
    from.row += some;
    to.row += some;
    count -= some;
  }
}

}  // namespace straggler
