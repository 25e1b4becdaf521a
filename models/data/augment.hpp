// Random changes of training images that keep their class, as data sets of photographs are usually trained with: a crop of the image with
// a border around it, and a reflection (Krizhevsky, Sutskever, Hinton 2012; He, Zhang, Ren, Sun 2016, section 4.2).
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace straggler {

struct Augmentation {
  std::size_t crop = 0;  // pixels of border, added before the image's size is cut out again at random: moves by up to this many
  bool flip = false;     // left and right change places, or not, at even odds
  bool any() const { return crop > 0 || flip; }
};

/// `shape`: that of a sample. Throws std::invalid_argument where the samples are no images or the border is wider than they are.
void check_augmentation(const Augmentation& augmentation, const std::vector<std::size_t>& shape);

class Augmenter {
 public:
  /// `shape`: channels, height, width. `border`: the value beside the image, [channels]; empty: 0.
  Augmenter(const Augmentation& augmentation, const std::vector<std::size_t>& shape, std::vector<float> border);
  /// Writes a changed `image` to `out`. What changes follows from `draw` alone.
  void copy(const float* image, std::uint64_t draw, float* out) const;

 private:
  Augmentation what_;
  std::size_t channels_, height_, width_;
  std::vector<float> border_;
};

}  // namespace straggler
