// Random label-preserving changes of training images, usual for photographs: a crop of the padded image, and a reflection (Krizhevsky,
// Sutskever, Hinton 2012; He, Zhang, Ren, Sun 2016, section 4.2).
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace straggler {

struct Augmentation {
  std::size_t crop = 0;  // pixels of border, added before a random crop to the original size: shifts by up to this many
  bool flip = false;     // mirrors left and right with probability 1/2
  bool any() const { return crop > 0 || flip; }
};

/// `shape`: of one sample. Throws std::invalid_argument if samples are not images or the border is wider than they are.
void check_augmentation(const Augmentation& augmentation, const std::vector<std::size_t>& shape);

class Augmenter {
 public:
  /// `shape`: channels, height, width. `border`: the value outside the image, [channels]; empty: 0.
  Augmenter(const Augmentation& augmentation, const std::vector<std::size_t>& shape, std::vector<float> border);
  /// Writes a changed `image` to `out`. The change depends on `draw` alone.
  void copy(const float* image, std::uint64_t draw, float* out) const;

 private:
  Augmentation what_;
  std::size_t channels_, height_, width_;
  std::vector<float> border_;
};

}  // namespace straggler
