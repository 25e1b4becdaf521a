// Synthetic images of any size, as substitutes for photographs; a network can learn them, but a mean image cannot classify them.
//
// A class has a few patterns, each a sum of six plane waves of low frequency with amplitudes for every channel. An image is one of its
// class's patterns, shifted around the torus by up to a quarter of the image in both directions, in a random contrast; plus `difficulty`
// times a shifted pattern of another class, and noise of standard deviation 2 * `difficulty` at every pixel. Pixels are then scaled to
// variance 1. Shifted patterns average out, so a linear model learns little from them.
//
// Test accuracy, measured with 20,000 training images of 3x32x32 in 10 classes after three epochs (SGD, batch 64, momentum 0.9), at
// difficulty 0.25, 0.5 and 1: softmax regression (rate 0.005) 57, 42 and 27 %; MLP with two layers of 200 (0.005) 100, 96 and 60 %; LeNet-5
// with three channels, by PyTorch (0.02), 92 % at 0.5, 51 % at 1 and 21 % after two epochs at 2.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "models/data/blocks.hpp"
#include "models/data/dataset.hpp"
#include "sim/base/random.hpp"
#include "sim/base/registry.hpp"

namespace straggler::data::synthetic_images {
namespace {

constexpr std::size_t waves = 6, patterns_per_class = 3;
constexpr std::int64_t most_cycles = 3;  // per wave, over the image

struct Shape {
  std::size_t channels, height, width;
  std::size_t area() const { return height * width; }
  std::size_t features() const { return channels * area(); }
};

DataInfo inspect(const Parameters& parameters, const std::filesystem::path& /*base*/) {
  DataInfo info;
  for (const char* side : {"channels", "height", "width"}) info.shape.push_back(static_cast<std::size_t>(parameters.count(side)));
  info.features = info.shape[0] * info.shape[1] * info.shape[2];
  info.classes = static_cast<std::size_t>(parameters.count("classes"));
  info.train = static_cast<std::size_t>(parameters.count("samples"));
  info.test = static_cast<std::size_t>(parameters.count("test_samples"));
  info.synthetic = true;
  info.origin = "synthetic images, generated from the seed: waves, moved and blurred by noise";
  return info;
}

/// One pattern of mean 0 and variance 1 over its pixels.
std::vector<float> pattern(const Shape& shape, RandomStream random) {
  constexpr double full = 2 * std::numbers::pi;
  std::vector<double> sum(shape.features(), 0.0);
  for (std::size_t w = 0; w < waves; ++w) {
    const auto down = static_cast<double>(random.below(most_cycles + 1));
    const double right = static_cast<double>(random.below(2 * most_cycles + 1)) - most_cycles, phase = full * random.uniform();
    for (std::size_t c = 0; c < shape.channels; ++c) {
      const double amplitude = 2 * random.uniform() - 1;
      for (std::size_t y = 0; y < shape.height; ++y)
        for (std::size_t x = 0; x < shape.width; ++x)
          sum[c * shape.area() + y * shape.width + x] +=
              amplitude * std::cos(full * (down * static_cast<double>(y) / static_cast<double>(shape.height) +
                                           right * static_cast<double>(x) / static_cast<double>(shape.width)) +
                                   phase);
    }
  }
  double mean = 0, squares = 0;
  for (const double value : sum) mean += value / static_cast<double>(sum.size());
  for (const double value : sum) squares += (value - mean) * (value - mean) / static_cast<double>(sum.size());
  const double scale = squares > 1e-12 ? 1 / std::sqrt(squares) : 1;
  std::vector<float> made(sum.size());
  for (std::size_t i = 0; i < sum.size(); ++i) made[i] = static_cast<float>((sum[i] - mean) * scale);
  return made;
}

/// out += amount * the pattern, shifted around the torus.
void add_moved(const std::vector<float>& pattern, const Shape& shape, std::size_t down, std::size_t right, float amount, float* out) {
  for (std::size_t c = 0; c < shape.channels; ++c)
    for (std::size_t y = 0; y < shape.height; ++y, out += shape.width) {
      const float* const row = pattern.data() + c * shape.area() + (y + down) % shape.height * shape.width;
      const std::size_t first = shape.width - right;
      for (std::size_t x = 0; x < first; ++x) out[x] += amount * row[x + right];
      for (std::size_t x = first; x < shape.width; ++x) out[x] += amount * row[x - first];
    }
}

/// The sum of four bytes of one draw, scaled to mean 0 and variance 1: close to normal between -3.4 and 3.4.
float noise(RandomStream& random) {
  const std::uint32_t drawn = random();
  const std::uint32_t sum = (drawn & 255) + (drawn >> 8 & 255) + (drawn >> 16 & 255) + (drawn >> 24);
  constexpr float mean = 4 * 127.5f, deviation = 147.8005f;  // of four bytes: √(4 (256² - 1) / 12)
  return (static_cast<float>(sum) - mean) / deviation;
}

class Generator {
 public:
  Generator(const Parameters& parameters, const DataInfo& info, std::uint64_t seed)
      : shape_{info.shape[0], info.shape[1], info.shape[2]}, classes_(info.classes), difficulty_(parameters.number("difficulty")) {
    const std::uint64_t key = RandomStream::stream_key(seed, "data/synthetic_images/pattern");
    for (std::size_t i = 0; i < classes_ * patterns_per_class; ++i) patterns_.push_back(pattern(shape_, RandomStream(key, i)));
  }
  DataSplit split(std::size_t count, std::uint64_t key, unsigned threads) const {
    SampleFloats inputs(count * shape_.features());
    std::vector<std::int32_t> labels(count);
    for_blocks(count, 64, threads, 0, [&](int, std::size_t, std::size_t first, std::size_t images) {
      std::fill_n(inputs.data() + first * shape_.features(), images * shape_.features(), 0.0f);
      for (std::size_t i = first; i < first + images; ++i) {
        labels[i] = static_cast<std::int32_t>(i % classes_);
        draw(i % classes_, RandomStream(key, i), inputs.data() + i * shape_.features());
      }
    });
    return {SampleInputs(std::move(inputs), shape_.features()), std::move(labels)};
  }

 private:
  void draw(std::size_t label, RandomStream random, float* out) const {
    const auto move = [&](std::size_t side) { return random.below(side / 2 + 1) + side - side / 4; };
    const std::size_t which = random.below(patterns_per_class);
    const double contrast = 0.5 + random.uniform();
    const std::size_t down = move(shape_.height) % shape_.height, right = move(shape_.width) % shape_.width;
    add_moved(patterns_[label * patterns_per_class + which], shape_, down, right, static_cast<float>(contrast), out);
    // The square of the contrast is 13/12 on average.
    double variance = 13.0 / 12;
    if (difficulty_ > 0 && classes_ > 1) {
      const std::size_t other = (label + 1 + random.below(classes_ - 1)) % classes_, its = random.below(patterns_per_class);
      const std::size_t other_down = random.below(shape_.height), other_right = random.below(shape_.width);
      add_moved(patterns_[other * patterns_per_class + its], shape_, other_down, other_right, static_cast<float>(difficulty_), out);
      variance += difficulty_ * difficulty_;
    }
    const double spread = 2 * difficulty_;
    const auto scale = static_cast<float>(1 / std::sqrt(variance + spread * spread)), blur = static_cast<float>(spread);
    for (std::size_t i = 0; i < shape_.features(); ++i) out[i] = (out[i] + blur * noise(random)) * scale;
  }

  const Shape shape_;
  const std::size_t classes_;
  const double difficulty_;
  std::vector<std::vector<float>> patterns_;  // [classes * patterns_per_class]
};

Dataset load(const Parameters& parameters, const std::filesystem::path& base, std::uint64_t seed, unsigned threads) {
  Dataset data;
  data.info = inspect(parameters, base);
  const Generator generator(parameters, data.info, seed);
  data.train = generator.split(data.info.train, RandomStream::stream_key(seed, "data/synthetic_images/train"), threads);
  data.test = generator.split(data.info.test, RandomStream::stream_key(seed, "data/synthetic_images/test"), threads);
  return data;
}

Parameter count(const char* name, const char* fallback, double low, double high, const char* meaning) {
  return {name, ValueType::count, fallback, false, meaning, Range::between(low, high), {}};
}

const Register<DataEntry> entry({"synthetic_images",
                                 "synthetic images of any size and number of classes: moving waves in noise, not photographs",
                                 {count("channels", "3", 1, 64, "colours"),
                                  count("height", "32", 4, 1024, "pixels"),
                                  count("width", "32", 4, 1024, "pixels"),
                                  count("classes", "10", 2, 1000, "number of classes"),
                                  count("samples", "50000", 1, 1e8, "number of training samples"),
                                  count("test_samples", "10000", 1, 1e8, "number of test samples"),
                                  {"difficulty",
                                   ValueType::number,
                                   "0.5",
                                   false,
                                   "0: only waves; more: weaker waves, mixed with another class's waves and noise",
                                   Range::between(0, 10),
                                   {}}},
                                 inspect,
                                 load});

}  // namespace
}  // namespace straggler::data::synthetic_images
