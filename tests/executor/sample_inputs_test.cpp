// Images stay bytes in memory: whoever reads them gets, to the bit, the floats that their pixels stand for.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>

#include "models/data/pixels.hpp"
#include "models/executor/executor.hpp"
#include "models/zoo/model.hpp"
#include "sim/base/registry.hpp"
#include "tests/executor/executor_fakes.hpp"
#include "tests/support/floats.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/math_helpers.hpp"
#include "tests/support/sanitized.hpp"

namespace straggler::test::sample_inputs_test {

namespace {

/// Each byte of each channel stands for a number of its own, which no formula gives.
PixelMaps maps_of(std::size_t channels) {
  std::vector<PixelMap> maps(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    const std::vector<float> values = numbers(256, 40 + c);
    std::copy(values.begin(), values.end(), maps[c].values);
  }
  return std::make_shared<const std::vector<PixelMap>>(std::move(maps));
}

SampleBytes bytes_of(std::size_t count, std::uint64_t seed) {
  RandomStream stream(seed, "bytes");
  SampleBytes bytes(count);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(stream.below(256));
  return bytes;
}

/// The same samples twice.
struct Twins {
  SampleInputs images, floats;
  std::vector<float> values;
};

Twins twins(std::size_t count, std::size_t channels, std::size_t area, std::uint64_t seed) {
  constexpr std::size_t start = 16;  // of a file's header
  const PixelMaps maps = maps_of(channels);
  const SampleBytes bytes = bytes_of(start + count * channels * area, seed);
  Twins made;
  for (std::size_t i = start; i < bytes.size(); ++i) made.values.push_back((*maps)[(i - start) / area % channels].values[bytes[i]]);
  made.floats = SampleInputs(SampleFloats(made.values.begin(), made.values.end()), channels * area);
  made.images = SampleInputs(bytes, start, area, maps);
  return made;
}

std::vector<float> all_of(const SampleInputs& inputs) { return floats(DataSplit{inputs, {}}); }

/// Sample i of a data set of images is image i of a random few.
Dataset images(std::size_t train, std::size_t test, const std::vector<std::size_t>& shape, std::size_t classes, bool as_bytes) {
  Dataset data;
  data.info.shape = shape;
  data.info.features = shape[0] * shape[1] * shape[2];
  data.info.classes = classes;
  data.info.train = train;
  data.info.test = test;
  for (const auto& [split, count] : {std::pair(&data.train, train), std::pair(&data.test, test)}) {
    const Twins both = twins(count, shape[0], shape[1] * shape[2], count);
    split->inputs = as_bytes ? both.images : both.floats;
    split->labels = labels_below(classes, count, count);
  }
  data.black = {0.5f, -0.25f, 0.125f};
  data.black.resize(shape[0]);
  return data;
}

}  // namespace

TEST_CASE("pixels go to panels as what their channel's table says, in every set of kernels") {
  struct Shape {
    std::size_t rows, channels, area;
  };
  for (const Kernels* kernels : all_kernels())
    for (const Shape& shape : {Shape{1, 1, 1}, Shape{2, 3, 2}, Shape{7, 1, 784}, Shape{31, 2, 17}, Shape{32, 3, 16}, Shape{33, 1, 100},
                               Shape{70, 3, 33}, Shape{40, 1, 1500}}) {
      CAPTURE(kernels->name);
      CAPTURE(shape.rows);
      CAPTURE(shape.channels);
      CAPTURE(shape.area);
      const Twins both = twins(shape.rows + 5, shape.channels, shape.area, 1);
      const std::size_t features = shape.channels * shape.area;
      RandomStream stream(2, "samples");
      std::vector<std::uint32_t> samples(shape.rows);
      for (std::uint32_t& sample : samples) sample = static_cast<std::uint32_t>(stream.below(shape.rows + 5));
      constexpr float nan = std::numeric_limits<float>::quiet_NaN();
      std::vector<float> of_images(panel_floats(shape.rows, features), nan), of_floats = of_images, expected, images, as_floats;
      both.images.gather_panels(*kernels, samples, of_images.data());
      both.floats.gather_panels(*kernels, samples, of_floats.data());
      for (std::size_t row = 0; row < shape.rows; ++row)
        for (std::size_t i = 0; i < features; ++i) {
          const std::size_t at = (row / panel_rows * features + i) * panel_rows + row % panel_rows;
          expected.push_back(both.values[samples[row] * features + i]);
          images.push_back(of_images[at]);
          as_floats.push_back(of_floats[at]);
        }
      CHECK(same_bits(images, expected));
      CHECK(same_bits(as_floats, expected));
    }
}

TEST_CASE("bytes and floats answer alike, and bytes take a quarter of the memory") {
  constexpr std::size_t count = 50, channels = 3, area = 20, features = channels * area;
  Twins both = twins(count, channels, area, 3);
  CHECK(both.images.count() == count);
  CHECK(both.images.features() == features);
  CHECK(both.images.memory().size() == 16 + count * features);
  CHECK(both.floats.memory().size() == 4 * count * features);
  CHECK(same_bits(all_of(both.images), both.values));
  CHECK(same_bits(all_of(both.floats), both.values));

  std::vector<float> room(7 * features);
  CHECK(both.images.rows(4, 7, room.data()) == room.data());
  CHECK(same_bits(room, {both.values.begin() + 4 * features, both.values.begin() + 11 * features}));
  CHECK(both.floats.rows(4, 7, room.data()) != room.data());
  CHECK(std::equal(room.begin(), room.end(), both.floats.rows(4, 7, nullptr)));

  const std::vector<std::uint32_t> chosen = {0, 1, 7, 8, 30, 49};
  std::vector<float> taken, left;
  for (std::size_t i = 0; i < count; ++i) {
    const auto row = both.values.begin() + static_cast<std::ptrdiff_t>(i * features);
    std::vector<float>& to = std::count(chosen.begin(), chosen.end(), i) > 0 ? taken : left;
    to.insert(to.end(), row, row + features);
  }
  for (SampleInputs* const inputs : {&both.images, &both.floats}) {
    CHECK(same_bits(all_of(inputs->subset(chosen)), taken));
    CHECK(same_bits(all_of(*inputs), both.values));
    CHECK(same_bits(all_of(inputs->take(chosen)), taken));
    CHECK(inputs->count() == count - chosen.size());
    CHECK(same_bits(all_of(*inputs), left));
    CHECK(same_bits(all_of(inputs->take({})), {}));
    CHECK(same_bits(all_of(*inputs), left));
  }
}

TEST_CASE("a pixel is its distance from the mean over the deviation, in double, rounded once") {
  constexpr std::size_t count = 40, channels = 2, area = 30;
  SampleBytes bytes = bytes_of(count * channels * area, 5);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (i / area % channels == 1) bytes[i] = 9;  // all alike: nothing to scale by
  std::uint64_t sum = 0, squares = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (i / area % channels == 0) {
      sum += bytes[i];
      squares += std::uint64_t{bytes[i]} * bytes[i];
    }
  constexpr double n = count * area;
  const double mean = static_cast<double>(sum) / n, deviation = std::sqrt(static_cast<double>(squares) / n - mean * mean);
  const std::map<Normalization, std::array<std::pair<double, double>, channels>> expected = {
      {Normalization::none, {{{0, 1}, {0, 1}}}},
      {Normalization::unit, {{{0, 255}, {0, 255}}}},
      {Normalization::standard, {{{mean, deviation}, {9, 1}}}}};
  for (const auto& [normalize, scales] : expected)
    for (const unsigned threads : {1u, 3u}) {
      const PixelMaps maps = pixel_maps(normalize, {bytes.data(), count, channels, area}, threads);
      REQUIRE(maps->size() == channels);
      for (std::size_t c = 0; c < channels; ++c)
        for (int pixel = 0; pixel < 256; ++pixel) {
          const auto value = static_cast<float>((pixel - scales[c].first) / scales[c].second);
          CHECK(std::bit_cast<std::uint32_t>((*maps)[c].values[pixel]) == std::bit_cast<std::uint32_t>(value));
        }
    }
}

TEST_CASE("of images only those taken stay in memory") {
  constexpr std::size_t area = 12;
  const SampleBytes train = bytes_of(8 + 30 * area, 6), test = bytes_of(8 + 10 * area, 7);
  for (const std::size_t taken : {30u, 4u}) {
    Dataset data;
    data.info.shape = {1, 3, 4};
    data.info.train = taken;
    data.info.test = 3;
    take_images(data, {train, 8}, {test, 8}, Normalization::none, 1);
    CHECK(data.train.inputs.count() == taken);
    CHECK(data.train.inputs.memory().size() == (taken == 30 ? 8 : 0) + taken * area);
    CHECK(data.test.inputs.memory().size() == 3 * area);
    CHECK(same_bits(floats(data.train), {train.begin() + 8, train.begin() + 8 + static_cast<std::ptrdiff_t>(taken * area)}));
    CHECK(same_bits(floats(data.test), {test.begin() + 8, test.begin() + 8 + 3 * area}));
    CHECK(data.black == std::vector<float>{0});
  }
}

TEST_CASE("what reading images takes beside those taken, step by step") {
  struct Taken {
    std::size_t train, test;
  };
  constexpr std::size_t sample = 10, train = 100, test = 20;
  for (const std::size_t beside : {0u, 7u, 5'000u})
    for (const Taken& taken : {Taken{100, 20}, Taken{1, 1}, Taken{100, 5}, Taken{99, 20}, Taken{60, 10}}) {
      CAPTURE(beside);
      CAPTURE(taken.train);
      CAPTURE(taken.test);
      // Unpacked; then the training images taken are copied, which frees the others; then the test images.
      std::size_t now = sample * (train + test), most = now + beside;
      for (const auto& [all, kept] : {std::pair(train, taken.train), std::pair(test, taken.test)})
        if (kept < all) {
          most = std::max(most, now + sample * kept);
          now -= sample * (all - kept);
        }
      CHECK(bytes_while_read({sample, train, test, taken.train, taken.test, beside}) == most - now);
    }
}

TEST_CASE("gradients and evaluations have the same bits, whether images are kept as bytes or as floats") {
  struct Case {
    const char* model;
    Parameters parameters;
    std::vector<std::size_t> shape;
    bool augmented;
  };
  const std::vector<Case> cases = {{"mlp", {{"hidden", std::vector<std::int64_t>{30}}}, {1, 28, 28}, false},
                                   {"softmax", {}, {3, 5, 7}, true},
                                   {"lenet5", {{"engine", std::string("panels")}}, {1, 28, 28}, false},
                                   {"lenet5", {{"engine", std::string("reference")}}, {1, 28, 28}, false},
                                   {"lenet5", {{"engine", std::string("reference")}}, {1, 28, 28}, true}};
  fake::register_rules();
  for (const Case& one : cases) {
    CAPTURE(one.model);
    CAPTURE(one.augmented);
    std::vector<std::vector<float>> gradients;
    std::vector<Evaluation> evaluations;
    for (const bool as_bytes : {false, true}) {
      Dataset data = images(300, sanitized ? 110 : 1100, one.shape, 10, as_bytes);
      hold_out_validation(data, 0.1, 4);
      if (one.augmented) data.augment = {2, true};
      const fake::Around partition(data.train.count());
      const Kernels& kernels = select_kernels("auto");
      const ModelEntry& entry = Registry<ModelEntry>::instance().at(one.model);
      const std::unique_ptr<Model> model = entry.make(complete(entry.parameters, one.parameters), data.info, ModelSetting{kernels});
      Lineage lineage(Math::lazy, Key{1, 2});
      ExecutorOptions options;
      options.threads = 2;
      options.seed = 3;
      options.train_subset = 100;
      Executor executor(lineage, *model, data, partition, kernels, options);
      Handle weights = lineage.initial();
      for (const std::uint32_t size : {1u, 33u, 300u}) {
        const Handle gradient = lineage.mean_gradient(weights, std::vector<Batch>{fake::batch(0, 3, size), fake::batch(7, 0, 5)});
        const auto value = executor.value(gradient);
        gradients.emplace_back(value.begin(), value.end());
        const Handle inputs[] = {weights, gradient};
        weights = lineage.elementwise(fake::descend, inputs, {0.05});
      }
      for (const EvaluationSet set : {EvaluationSet::test, EvaluationSet::validation, EvaluationSet::train_subset, EvaluationSet::train})
        evaluations.push_back(executor.evaluate(weights, set));
    }
    REQUIRE(gradients.size() == 6);
    for (std::size_t i = 0; i < 3; ++i) CHECK(same_bits(gradients[i], gradients[i + 3]));
    CHECK(!same_bits(gradients[0], gradients[1]));
    REQUIRE(evaluations.size() == 8);
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(std::bit_cast<std::uint64_t>(evaluations[i].loss) == std::bit_cast<std::uint64_t>(evaluations[i + 4].loss));
      CHECK(evaluations[i].accuracy == evaluations[i + 4].accuracy);
    }
    CHECK(evaluations[0].loss != evaluations[1].loss);
  }
}

}  // namespace straggler::test::sample_inputs_test
