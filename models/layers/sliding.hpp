// The inputs that each place of a sliding window meets.
#pragma once
#include <algorithm>
#include <cstddef>

#include "models/kernels/window.hpp"

namespace straggler {

/// Outputs [first, last) whose input at this place of the window is not padding. The input of output o is o * stride + place - pad.
struct Span {
  std::size_t first, last;
};
inline Span outside_padding(std::size_t in, std::size_t out, std::size_t stride, std::size_t pad, std::size_t place) {
  const std::size_t first = place < pad ? (pad - place + stride - 1) / stride : 0;
  const std::size_t last = in + pad > place ? std::min(out, (in + pad - place - 1) / stride + 1) : 0;
  return {first, std::max(first, last)};
}

/// Calls meet(place, output, input, count) for every place of the window and every row of outputs: outputs output, output + 1, … (count of
/// them) meet the inputs input, input + stride, … there. Padding is skipped.
template <class Meet>
void for_each_meeting(const SlidingWindow& window, const Meet& meet) {
  for (std::size_t ky = 0; ky < window.height; ++ky) {
    const Span ys = outside_padding(window.in_height, window.out_height, window.stride, window.pad_height, ky);
    for (std::size_t kx = 0; kx < window.width; ++kx) {
      const Span xs = outside_padding(window.in_width, window.out_width, window.stride, window.pad_width, kx);
      if (xs.first == xs.last) continue;
      for (std::size_t y = ys.first; y < ys.last; ++y) {
        const std::size_t in_y = y * window.stride + ky - window.pad_height, in_x = xs.first * window.stride + kx - window.pad_width;
        meet(ky * window.width + kx, y * window.out_width + xs.first, in_y * window.in_width + in_x, xs.last - xs.first);
      }
    }
  }
}

}  // namespace straggler
