#include "models/data/pixels.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

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

PixelMaps pixel_maps(Normalization normalize, const Pixels& training, unsigned threads) {
  std::vector<Sums> found;
  if (normalize == Normalization::standard) found = sums(training, threads);
  const auto n = static_cast<double>(training.count * training.area);
  std::vector<PixelMap> maps(training.channels);
  for (std::size_t c = 0; c < maps.size(); ++c) {
    double mean = 0, deviation = 1;
    if (normalize == Normalization::unit) deviation = 255;
    if (normalize == Normalization::standard) {
      mean = static_cast<double>(found[c].pixels) / n;
      const double variance = static_cast<double>(found[c].squares) / n - mean * mean;
      if (variance > 0) deviation = std::sqrt(variance);  // else all pixels are equal: no scaling
    }
    for (int pixel = 0; pixel < 256; ++pixel) maps[c].values[pixel] = static_cast<float>((pixel - mean) / deviation);
  }
  return std::make_shared<const std::vector<PixelMap>>(std::move(maps));
}

void take_images(Dataset& data, ReadImages train, ReadImages test, Normalization normalize, unsigned threads) {
  const std::size_t channels = data.info.shape[0], area = data.info.shape[1] * data.info.shape[2];
  const PixelMaps maps = pixel_maps(normalize, {train.bytes.data() + train.start, data.info.train, channels, area}, threads);
  const auto take = [&](ReadImages& images, std::size_t count) {
    if (const std::size_t end = images.start + count * channels * area; end < images.bytes.size()) {
      images.bytes = SampleBytes(images.bytes.begin() + static_cast<std::ptrdiff_t>(images.start),
                                 images.bytes.begin() + static_cast<std::ptrdiff_t>(end));
      images.start = 0;
    }
    return SampleInputs(std::move(images.bytes), images.start, area, maps);
  };
  data.train.inputs = take(train, data.info.train);
  data.test.inputs = take(test, data.info.test);
  data.black.clear();
  for (const PixelMap& map : *maps) data.black.push_back(map.values[0]);
}

std::size_t bytes_while_read(const ImageSizes& images) {
  const std::size_t all = images.train + images.test, taken = images.train_taken + images.test_taken;
  std::size_t most = images.sample * (all - taken) + images.beside;
  if (images.train_taken < images.train) most = std::max(most, images.sample * (all - images.test_taken));
  if (images.test_taken < images.test) most = std::max(most, images.sample * images.test);
  return most;
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
