// Images of bytes made floats: what all image files share. Results have the same bits on any number of threads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "models/data/dataset.hpp"
#include "models/data/normalization.hpp"

namespace straggler {

/// [count][channels][area], not owned.
struct Pixels {
  const std::uint8_t* bytes;
  std::size_t count, channels, area;
  std::size_t sample() const { return channels * area; }
  std::size_t total() const { return count * sample(); }
};

/// What becomes of each byte, channel by channel: `none` keeps 0 to 255, `unit` divides by 255, `standard` takes the mean of all training
/// pixels of the channel away and divides by their standard deviation.
class PixelScale {
 public:
  PixelScale(Normalization normalize, const Pixels& training, unsigned threads);
  SampleFloats apply(const Pixels& pixels, unsigned threads) const;
  /// What a byte 0 becomes, [channels].
  std::vector<float> black() const;

 private:
  struct Table {
    float values[256];
  };
  void apply_to(const Pixels& pixels, float* out) const;
  std::vector<Table> tables_;  // [channels]
};

/// The parameters `normalize`, `train_limit` and `test_limit` of a set of images.
std::vector<Parameter> image_parameters();
/// `count`, or the limit if it is given and less.
std::size_t limited(std::size_t count, const Parameters& parameters, const char* name);

}  // namespace straggler
