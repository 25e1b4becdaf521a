// Conversion of byte images to floats, shared by all image files. Results have the same bits on any number of threads.
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

/// The map of each byte, per channel: `none` keeps 0 to 255; `unit` divides by 255; `standard` subtracts the mean of all training pixels of
/// the channel and divides by their standard deviation.
class PixelScale {
 public:
  PixelScale(Normalization normalize, const Pixels& training, unsigned threads);
  SampleFloats apply(const Pixels& pixels, unsigned threads) const;
  /// The image of byte 0, [channels].
  std::vector<float> black() const;

 private:
  struct Table {
    float values[256];
  };
  void apply_to(const Pixels& pixels, float* out) const;
  std::vector<Table> tables_;  // [channels]
};

/// Bytes beside the floats of `train` and of the `taken` ones of `test` images, of `sample` bytes each, while they are converted: training
/// images first, and the bytes of each half are freed after it.
std::size_t bytes_while_converting(std::size_t sample, std::size_t train, std::size_t test, std::size_t taken);

/// The parameters `normalize`, `train_limit` and `test_limit` of an image set.
std::vector<Parameter> image_parameters();
/// `count`, or the limit if it is given and smaller.
std::size_t limited(std::size_t count, const Parameters& parameters, const char* name);

}  // namespace straggler
