#include "models/data/augment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "sim/base/random.hpp"

namespace straggler {

void check_augmentation(const Augmentation& augmentation, const std::vector<std::size_t>& shape) {
  if (!augmentation.any()) return;
  if (shape.size() != 3)
    throw std::invalid_argument(
        "the samples are not images (channels, height, width), so that there is nothing to crop or flip; leave it out");
  if (augmentation.crop >= std::min(shape[1], shape[2]))
    throw std::invalid_argument(fmt::format("a crop by up to {} pixels could miss an image of {} x {}; use less than {}", augmentation.crop,
                                            shape[1], shape[2], std::min(shape[1], shape[2])));
}

Augmenter::Augmenter(const Augmentation& augmentation, const std::vector<std::size_t>& shape, std::vector<float> border)
    : what_(augmentation), channels_(shape.at(0)), height_(shape.at(1)), width_(shape.at(2)), border_(std::move(border)) {
  border_.resize(channels_, 0.0f);
}

void Augmenter::copy(const float* image, std::uint64_t draw, float* out) const {
  RandomStream random(draw, "augment");
  const auto crop = static_cast<std::ptrdiff_t>(what_.crop), width = static_cast<std::ptrdiff_t>(width_),
             height = static_cast<std::ptrdiff_t>(height_);
  std::ptrdiff_t down = 0, right = 0;  // out[y][x] = image[y + down][x + right], before the flip
  if (crop > 0) {
    down = static_cast<std::ptrdiff_t>(random.below(2 * what_.crop + 1)) - crop;
    right = static_cast<std::ptrdiff_t>(random.below(2 * what_.crop + 1)) - crop;
  }
  const bool flip = what_.flip && random.below(2) == 1;
  const std::ptrdiff_t from = std::max<std::ptrdiff_t>(-right, 0), to = std::min(width - right, width);  // columns inside the image
  for (std::size_t c = 0; c < channels_; ++c)
    for (std::ptrdiff_t y = 0; y < height; ++y, out += width) {
      const std::ptrdiff_t row = y + down;
      if (row < 0 || row >= height) {
        std::fill_n(out, width_, border_[c]);
        continue;
      }
      const float* const pixels = image + (static_cast<std::ptrdiff_t>(c) * height + row) * width + right;
      std::fill(out, out + from, border_[c]);
      std::copy(pixels + from, pixels + to, out + from);
      std::fill(out + to, out + width, border_[c]);
      if (flip) std::reverse(out, out + width);
    }
}

}  // namespace straggler
