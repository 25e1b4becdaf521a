#include "models/data/pixels.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace straggler {
namespace {

struct Moments {
  double mean = 0, deviation = 1;
};

/// Exact in integers, whatever the order.
Moments moments(const Pixels& pixels, std::size_t channel) {
  std::uint64_t sum = 0, squares = 0;
  for (std::size_t i = 0; i < pixels.count; ++i) {
    const std::uint8_t* const plane = pixels.bytes + (i * pixels.channels + channel) * pixels.area;
    for (std::size_t k = 0; k < pixels.area; ++k) {
      const std::uint32_t pixel = plane[k];
      sum += pixel;
      squares += pixel * pixel;
    }
  }
  const auto n = static_cast<double>(pixels.count * pixels.area);
  Moments found;
  found.mean = static_cast<double>(sum) / n;
  const double variance = static_cast<double>(squares) / n - found.mean * found.mean;
  if (variance > 0) found.deviation = std::sqrt(variance);  // else all pixels are equal: nothing to scale
  return found;
}

}  // namespace

/// Reads pixels as floats; with it a vector is filled in one pass, without being zeroed first.
struct PixelScale::Normalized {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = float;
  using difference_type = std::ptrdiff_t;
  using pointer = const float*;
  using reference = float;
  const std::uint8_t* at;
  const std::vector<Table>* tables = nullptr;
  std::size_t area = 0, left = 0, channel = 0;  // left: pixels of this channel's plane
  float operator*() const { return (*tables)[channel].values[*at]; }
  Normalized& operator++() {
    ++at;
    if (--left == 0) {
      left = area;
      channel = channel + 1 == tables->size() ? 0 : channel + 1;
    }
    return *this;
  }
  difference_type operator-(const Normalized& o) const { return at - o.at; }
  bool operator==(const Normalized& o) const { return at == o.at; }
};

PixelScale::PixelScale(const std::string& normalize, const Pixels& training) : tables_(training.channels) {
  for (std::size_t c = 0; c < tables_.size(); ++c) {
    Moments scale;
    if (normalize == "unit") scale.deviation = 255;
    if (normalize == "standard") scale = moments(training, c);
    for (int pixel = 0; pixel < 256; ++pixel) tables_[c].values[pixel] = static_cast<float>((pixel - scale.mean) / scale.deviation);
  }
}

std::vector<float> PixelScale::apply(const Pixels& pixels) const {
  return std::vector<float>(Normalized{pixels.bytes, &tables_, pixels.area, pixels.area, 0}, Normalized{pixels.bytes + pixels.total()});
}

std::vector<float> PixelScale::black() const {
  std::vector<float> black;
  for (const Table& table : tables_) black.push_back(table.values[0]);
  return black;
}

std::vector<Parameter> image_parameters() {
  std::vector<Parameter> all(3);
  all[0].name = "normalize";
  all[0].type = ValueType::choice;
  all[0].fallback = "standard";
  all[0].choices = {"none", "unit", "standard"};
  all[0].meaning =
      "none: pixels 0 to 255; unit: divided by 255; standard: minus the mean, over the standard deviation, of all training pixels of a "
      "channel";
  all[1].name = "train_limit";
  all[1].type = ValueType::count;
  all[1].range = Range::at_least(1);
  all[1].meaning = "use the first so many training samples only";
  all[2].name = "test_limit";
  all[2].type = ValueType::count;
  all[2].range = Range::at_least(1);
  all[2].meaning = "use the first so many test samples only";
  return all;
}

std::size_t limited(std::size_t count, const Parameters& parameters, const char* name) {
  return parameters.has(name) ? std::min(count, static_cast<std::size_t>(parameters.count(name))) : count;
}

}  // namespace straggler
