// The window of a convolution or a pool, and the plane over which it slides.
#pragma once
#include <cstddef>

namespace straggler {

/// The outputs lie `stride` places apart; `pad_*` places beyond each edge of the input are padding.
struct Window {
  std::size_t height = 1, width = 1, stride = 1, pad_height = 0, pad_width = 0;
  static Window square(std::size_t side, std::size_t stride = 1, std::size_t pad = 0) { return {side, side, stride, pad, pad}; }
  std::size_t places() const { return height * width; }
  bool operator==(const Window&) const = default;
};

/// A window over one plane of in_height x in_width places. Output (y, x) meets the inputs (y stride + i - pad_height,
/// x stride + j - pad_width) for 0 <= i < height and 0 <= j < width.
struct SlidingWindow : Window {
  std::size_t in_height = 1, in_width = 1, out_height = 1, out_width = 1;
  std::size_t inputs() const { return in_height * in_width; }
  std::size_t outputs() const { return out_height * out_width; }
};

}  // namespace straggler
