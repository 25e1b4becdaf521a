// im2col in the panels of the kernels (kernels.hpp): the inputs of a product, gathered for 32 of its outputs at a time. Outputs are
// numbered sample by sample, place by place.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "models/kernels/kernels.hpp"
#include "models/quantization/inference_network.hpp"

namespace straggler {

class Patches {
 public:
  explicit Patches(const InferenceStep& step)
      : in_(step.in), out_(step.out), window_(step.window), group_channels_(step.in.channels / step.groups) {
    const std::size_t height = padded_height(), width = padded_width();
    for (std::size_t c = 0; c < group_channels_; ++c)
      for (std::size_t y = 0; y < window_.height; ++y)
        for (std::size_t x = 0; x < window_.width; ++x) offsets_.push_back((c * height + y) * width + x);
  }

  std::size_t size() const { return offsets_.size(); }
  std::size_t places() const { return out_.height * out_.width; }
  std::size_t padded_height() const { return in_.height + 2 * window_.pad_height; }
  std::size_t padded_width() const { return in_.width + 2 * window_.pad_width; }
  /// Numbers of one sample with its padding.
  std::size_t padded_size() const { return in_.channels * padded_height() * padded_width(); }

  /// padded[samples][channels][padded height][padded width] = convert(x), zeros around it.
  template <class From, class To, class Convert>
  void pad(std::size_t samples, const From* x, To* padded, const Convert& convert) const {
    const std::size_t top = window_.pad_height, left = window_.pad_width, width = padded_width();
    for (std::size_t plane = 0; plane < samples * in_.channels; ++plane) {
      if (top + left > 0) std::fill_n(padded, padded_height() * width, To{});
      for (std::size_t y = 0; y < in_.height; ++y, x += in_.width) {
        To* const row = padded + (top + y) * width + left;
        for (std::size_t i = 0; i < in_.width; ++i) row[i] = convert(x[i]);
      }
      padded += padded_height() * width;
    }
  }

  /// For a panel: the offset of each output's patch in the padded input, and of its first channel in the output.
  struct Panel {
    std::size_t count = 0;
    std::array<std::size_t, panel_rows> from, to;
    bool contiguous = false;  // the patches are adjacent
  };
  /// Outputs first .. first + 31 of `total`; lanes beyond repeat the last one.
  Panel panel(std::size_t first, std::size_t total) const {
    Panel panel;
    panel.count = std::min(panel_rows, total - first);
    panel.contiguous = panel.count == panel_rows;
    for (std::size_t lane = 0; lane < panel_rows; ++lane) {
      const std::size_t output = first + std::min(lane, panel.count - 1), sample = output / places(), place = output % places();
      const std::size_t y = place / out_.width * window_.stride, x = place % out_.width * window_.stride;
      panel.from[lane] = sample * padded_size() + y * padded_width() + x;
      panel.to[lane] = sample * out_.size() + place;
      panel.contiguous = panel.contiguous && panel.from[lane] == panel.from[0] + lane;
    }
    return panel;
  }

  /// The patches in `group` as floats: [size()][32].
  void gather(const Panel& panel, std::size_t group, const float* padded, float* patches) const {
    padded += group * group_channels_ * padded_height() * padded_width();
    for (const std::size_t offset : offsets_) {
      const float* const from = padded + offset;
      if (panel.contiguous)
        std::copy_n(from + panel.from[0], panel_rows, patches);
      else
        for (std::size_t lane = 0; lane < panel_rows; ++lane) patches[lane] = from[panel.from[lane]];
      patches += panel_rows;
    }
  }

  /// The same as pairs of 16-bit integers: [(size() + 1) / 2][32][2], the last one with zero if it has no partner.
  void gather_pairs(const Panel& panel, std::size_t group, const std::int16_t* padded, std::int16_t* patches) const {
    padded += group * group_channels_ * padded_height() * padded_width();
    for (std::size_t k = 0; k < offsets_.size(); k += 2, patches += 2 * panel_rows) {
      const std::int16_t* const a = padded + offsets_[k];
      if (k + 1 == offsets_.size()) {
        for (std::size_t lane = 0; lane < panel_rows; ++lane) {
          patches[2 * lane] = a[panel.from[lane]];
          patches[2 * lane + 1] = 0;
        }
        continue;
      }
      const std::int16_t* const b = padded + offsets_[k + 1];
      if (panel.contiguous)
        interleave(a + panel.from[0], b + panel.from[0], patches);
      else
        for (std::size_t lane = 0; lane < panel_rows; ++lane) {
          patches[2 * lane] = a[panel.from[lane]];
          patches[2 * lane + 1] = b[panel.from[lane]];
        }
    }
  }

 private:
  static void interleave(const std::int16_t* a, const std::int16_t* b, std::int16_t* pairs) {
    for (std::size_t lane = 0; lane < panel_rows; ++lane) {
      pairs[2 * lane] = a[lane];
      pairs[2 * lane + 1] = b[lane];
    }
  }

  Shape in_, out_;
  Window window_;
  std::size_t group_channels_;
  std::vector<std::size_t> offsets_;  // [size()]: of a patch's inputs from its start
};

/// Calls visit for every output of a pool over one plane, with the places of the input in its window that are
/// not padding: visit(output, first y, last y + 1, first x, last x + 1).
template <class Visit>
void for_pool_windows(const Shape& in, const Shape& out, const Window& window, const Visit& visit) {
  for (std::size_t oy = 0; oy < out.height; ++oy)
    for (std::size_t ox = 0; ox < out.width; ++ox) {
      const std::size_t y = oy * window.stride, x = ox * window.stride;  // of the padded input
      const auto inside = [](std::size_t at, std::size_t pad, std::size_t size) { return std::min(at > pad ? at - pad : 0, size); };
      visit(oy * out.width + ox, inside(y, window.pad_height, in.height), inside(y + window.height, window.pad_height, in.height),
            inside(x, window.pad_width, in.width), inside(x + window.width, window.pad_width, in.width));
    }
}

}  // namespace straggler
