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

/// What is read at once: all images of both halves, of `sample` bytes each, of which so many are taken. `beside`: bytes that unpacking them
/// takes, which are free before the first image is converted.
struct ImagesRead {
  std::size_t sample, train, test, train_taken, test_taken, beside;
};
/// Bytes beside the floats of the images taken, at most. Training images are converted first, and the bytes of each half are freed after
/// it.
std::size_t bytes_while_read(const ImagesRead& images);

/// The parameters `normalize`, `train_limit` and `test_limit` of an image set.
std::vector<Parameter> image_parameters();
/// `count`, or the limit if it is given and smaller.
std::size_t limited(std::size_t count, const Parameters& parameters, const char* name);

}  // namespace straggler
