#include "models/data/pixels.hpp"

#include <algorithm>
#include <cmath>

#include "models/data/blocks.hpp"

namespace straggler {
namespace {

/// Bytes of images per thread and block: the first-level cache holds at most one image, the second a few.
constexpr std::size_t image_bytes = std::size_t{1} << 18;

std::size_t block_of(const Pixels& pixels) { return std::max<std::size_t>(image_bytes / pixels.sample(), 1); }

/// Pixels whose squares, at most 255² each, sum to less than 2³²: narrow sums vectorize.
constexpr std::size_t fits_32_bits = std::size_t{1} << 16;

struct Sums {
  std::uint64_t pixels = 0, squares = 0;
};

/// Exact, hence independent of the order.
std::vector<Sums> sums(const Pixels& pixels, unsigned threads) {
  const auto add = [&pixels](std::vector<Sums>& to, std::size_t, std::size_t first, std::size_t count) {
    for (std::size_t plane = first * pixels.channels; plane < (first + count) * pixels.channels; ++plane) {
      const std::uint8_t* const from = pixels.bytes + plane * pixels.area;
      Sums& total = to[plane % pixels.channels];
      for (std::size_t at = 0; at < pixels.area; at += fits_32_bits) {
        std::uint32_t sum = 0, squares = 0;
        for (std::size_t k = at; k < std::min(pixels.area, at + fits_32_bits); ++k) {
          const std::uint32_t pixel = from[k];
          sum += pixel;
          squares += pixel * pixel;
        }
        total.pixels += sum;
        total.squares += squares;
      }
    }
  };
  std::vector<Sums> total(pixels.channels);
  for (const std::vector<Sums>& part : for_blocks(pixels.count, block_of(pixels), threads, total, add))
    for (std::size_t c = 0; c < total.size(); ++c) {
      total[c].pixels += part[c].pixels;
      total[c].squares += part[c].squares;
    }
  return total;
}

}  // namespace

PixelScale::PixelScale(Normalization normalize, const Pixels& training, unsigned threads) : tables_(training.channels) {
  std::vector<Sums> found;
  if (normalize == Normalization::standard) found = sums(training, threads);
  const auto n = static_cast<double>(training.count * training.area);
  for (std::size_t c = 0; c < tables_.size(); ++c) {
    double mean = 0, deviation = 1;
    if (normalize == Normalization::unit) deviation = 255;
    if (normalize == Normalization::standard) {
      mean = static_cast<double>(found[c].pixels) / n;
      const double variance = static_cast<double>(found[c].squares) / n - mean * mean;
      if (variance > 0) deviation = std::sqrt(variance);  // else all pixels are equal: no scaling
    }
    for (int pixel = 0; pixel < 256; ++pixel) tables_[c].values[pixel] = static_cast<float>((pixel - mean) / deviation);
  }
}

void PixelScale::apply_to(const Pixels& pixels, float* out) const {
  const std::uint8_t* from = pixels.bytes;
  for (std::size_t plane = 0; plane < pixels.count * pixels.channels; ++plane) {
    const float* const values = tables_[plane % pixels.channels].values;
    for (const std::uint8_t* const end = from + pixels.area; from != end;) *out++ = values[*from++];
  }
}

SampleFloats PixelScale::apply(const Pixels& pixels, unsigned threads) const {
  SampleFloats out(pixels.total());
  for_blocks(pixels.count, block_of(pixels), threads, 0, [&](int, std::size_t, std::size_t first, std::size_t count) {
    apply_to({pixels.bytes + first * pixels.sample(), count, pixels.channels, pixels.area}, out.data() + first * pixels.sample());
  });
  return out;
}

std::vector<float> PixelScale::black() const {
  std::vector<float> black;
  for (const Table& table : tables_) black.push_back(table.values[0]);
  return black;
}

std::size_t bytes_while_read(const ImagesRead& images) {
  const auto above = [](std::size_t taken, std::size_t later) { return taken > later ? taken - later : 0; };
  const std::size_t bytes = images.sample * (images.train + images.test), one = sizeof(float) * images.sample;
  const std::size_t test_floats = one * images.test_taken, floats = test_floats + one * images.train_taken;
  return std::max({above(bytes + images.beside, floats), above(bytes, test_floats), images.sample * images.test});
}

std::vector<Parameter> image_parameters() {
  std::vector<Parameter> all(3);
  all[0] = normalization.parameter(Normalization::standard,
                                   "none: pixels 0 to 255; unit: divided by 255; standard: minus the mean, over the standard deviation, of "
                                   "all training pixels of a channel");
  all[1].name = "train_limit";
  all[1].type = ValueType::count;
  all[1].range = Range::at_least(1);
  all[1].meaning = "use only the first training samples, this many";
  all[2].name = "test_limit";
  all[2].type = ValueType::count;
  all[2].range = Range::at_least(1);
  all[2].meaning = "use only the first test samples, this many";
  return all;
}

std::size_t limited(std::size_t count, const Parameters& parameters, const char* name) {
  return parameters.has(name) ? std::min(count, static_cast<std::size_t>(parameters.count(name))) : count;
}

}  // namespace straggler
