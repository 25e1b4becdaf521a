// Shared by layers whose window slides over the places of their input.
#pragma once
#include "models/layers/layer.hpp"

namespace straggler {

/// `window`, `stride` and `pad` as declared. A window or pad is one number, or [height, width].
Parameter window_parameter(const char* fallback, bool required = false);  // fallback: null for none
Parameter stride_parameter(const char* fallback);
Parameter pad_parameter();

/// Of the layer's parameters: without a window all places of the input, without a stride windows side by side. Throws
/// std::invalid_argument.
Window window_of(const LayerSpec& layer);

/// floor((in + 2 pad - side) / stride) + 1 of each side. Throws std::invalid_argument where the window is wider than its padded input.
Shape slide(const LayerSpec& layer, std::size_t channels);

/// slide with the input's channels, if each window meets a place of the input. Throws std::invalid_argument.
Shape slide_pool(const LayerSpec& layer);

}  // namespace straggler
