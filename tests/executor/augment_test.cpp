// Crops and flips: every outcome, its chance, and where they happen: to training samples as they are drawn, and nowhere else.
#include <doctest/doctest.h>

#include <atomic>
#include <map>
#include <set>
#include <stdexcept>

#include "models/data/augment.hpp"
#include "models/executor/single_gradient.hpp"
#include "tests/executor/executor_fakes.hpp"

namespace augment_test {

using namespace straggler;
using namespace straggler::fake;

namespace {

constexpr std::size_t height = 3, width = 4, channels = 2, features = channels * height * width;

/// What a move by (down, right) and a flip make of an image, pixel by pixel.
std::vector<float> moved(const std::vector<float>& image, int down, int right, bool flip, const std::vector<float>& border) {
  std::vector<float> out;
  for (std::size_t c = 0; c < channels; ++c)
    for (int y = 0; y < static_cast<int>(height); ++y)
      for (int x = 0; x < static_cast<int>(width); ++x) {
        const int row = y + down, column = (flip ? static_cast<int>(width) - 1 - x : x) + right;
        const bool inside = row >= 0 && row < static_cast<int>(height) && column >= 0 && column < static_cast<int>(width);
        out.push_back(inside ? image[(c * height + static_cast<std::size_t>(row)) * width + static_cast<std::size_t>(column)] : border[c]);
      }
  return out;
}

std::vector<float> image_of(int seed) {
  std::vector<float> image(features);
  for (std::size_t i = 0; i < features; ++i) image[i] = static_cast<float>(100 * seed + static_cast<int>(i) + 1);
  return image;
}

/// All that a crop by up to `crop` pixels and perhaps a flip can make of an image.
std::set<std::vector<float>> outcomes(const std::vector<float>& image, int crop, bool flip, const std::vector<float>& border) {
  std::set<std::vector<float>> all;
  for (int down = -crop; down <= crop; ++down)
    for (int right = -crop; right <= crop; ++right)
      for (int mirrored = 0; mirrored <= (flip ? 1 : 0); ++mirrored) all.insert(moved(image, down, right, mirrored == 1, border));
  return all;
}

/// A world of images, each with label 1, whose gradient at weights 0 is minus the image that was drawn.
struct Images {
  explicit Images(unsigned threads, Augmentation augment) : world(threads, features, 5) {
    world.executor.reset();
    world.data.info.shape = {channels, height, width};
    SampleFloats inputs;
    for (int i = 0; i < 5; ++i) {
      const std::vector<float> image = image_of(i);
      inputs.insert(inputs.end(), image.begin(), image.end());
      world.data.train.labels[static_cast<std::size_t>(i)] = 1;
    }
    world.data.train.inputs = SampleInputs(std::move(inputs), features);
    world.data.black = border;
    world.data.augment = augment;
    ExecutorOptions options;
    options.threads = threads;
    options.seed = 3;
    world.executor = std::make_unique<Executor>(world.lineage, world.model, world.data, world.partition, world.naive, options);
    Formula formula;
    zero = world.lineage.make(formula, {});
    world.executor->give(zero, std::vector<float>(features + 1, 0.0f));
  }
  std::vector<float> drawn(std::uint32_t stream, std::uint64_t position) {
    std::vector<float> gradient = world.value(world.lineage.gradient(zero, batch(stream, position, 1)));
    gradient.pop_back();  // of the bias
    for (float& value : gradient) value = -value;
    return gradient;
  }

  static inline const std::vector<float> border = {-7.0f, -9.0f};
  World world;
  Handle zero;
};

}  // namespace

TEST_CASE("augment: each shift and flip has the same probability, and nothing else happens") {
  const std::vector<float> image = image_of(0), border = {-1.0f, -2.0f};
  for (const int crop : {0, 1, 2})
    for (const bool flip : {false, true}) {
      if (crop == 0 && !flip) continue;
      CAPTURE(crop);
      CAPTURE(flip);
      const Augmenter augmenter({static_cast<std::size_t>(crop), flip}, {channels, height, width}, border);
      const std::set<std::vector<float>> possible = outcomes(image, crop, flip, border);
      const auto kinds = static_cast<std::size_t>(2 * crop + 1) * static_cast<std::size_t>(2 * crop + 1) * (flip ? 2 : 1);
      REQUIRE(possible.size() == kinds);
      const double draws = 20'000, expected = draws / static_cast<double>(kinds);
      std::map<std::vector<float>, int> counts;
      std::vector<float> out(features);
      for (std::uint64_t draw = 0; draw < static_cast<std::uint64_t>(draws); ++draw) {
        augmenter.copy(image.data(), draw, out.data());
        ++counts[out];
      }
      CHECK(counts.size() == kinds);
      for (const auto& one : counts) {
        CHECK(possible.contains(one.first));
        CHECK(std::abs(one.second - expected) < 5 * std::sqrt(expected));
      }
    }
}

TEST_CASE("augment: a gradient sees a changed sample, another at every position, the same on any threads and outside of a lineage") {
  const Augmentation augment{2, true};
  Images one(1, augment), three(3, augment);
  SingleGradient single(one.world.model, one.world.data, one.world.partition, one.world.naive, 3);
  const std::vector<float> zero(features + 1, 0.0f);
  const std::atomic<bool> cancelled = false;
  std::set<std::vector<float>> seen;
  for (std::uint64_t position = 0; position < 100; ++position) {
    CAPTURE(position);
    const std::vector<float> drawn = one.drawn(0, position);
    const std::vector<float> image = image_of(static_cast<int>(position % 5));
    CHECK(outcomes(image, 2, true, Images::border).contains(drawn));
    CHECK(drawn == three.drawn(0, position));
    std::vector<float> alone(features + 1);
    single.compute(zero.data(), batch(0, position, 1), cancelled, alone.data());
    alone.pop_back();
    for (float& value : alone) value = -value;
    CHECK(drawn == alone);
    if (position % 5 == 0) seen.insert(drawn);
  }
  CHECK(seen.size() > 10);                    // of 50 outcomes, in 20 draws of one sample
  CHECK(one.drawn(5, 0) != one.drawn(0, 0));  // the same sample, drawn by another stream
}

TEST_CASE("augment: a batch's samples change as they do alone, and evaluation sees them as they are") {
  Images plain(1, {}), changed(2, {1, true});
  const std::vector<float> together = changed.world.value(changed.world.lineage.gradient(changed.zero, batch(0, 0, 5)));
  std::vector<double> sum(features, 0.0);
  for (std::uint64_t position = 0; position < 5; ++position) {
    const std::vector<float> drawn = changed.drawn(0, position);
    for (std::size_t i = 0; i < features; ++i) sum[i] -= drawn[i] / 5.0;
  }
  for (std::size_t i = 0; i < features; ++i) CHECK(together[i] == doctest::Approx(sum[i]).epsilon(1e-5));
  for (const EvaluationSet set : {EvaluationSet::train, EvaluationSet::test}) {
    const Handle weights = changed.world.lineage.initial();
    CHECK(changed.world.executor->evaluate(weights, set).loss == plain.world.executor->evaluate(plain.world.lineage.initial(), set).loss);
  }
}

TEST_CASE("augment: samples that are not images, or smaller than the border, are refused") {
  DataInfo points, image;
  points.shape = {2};
  image.shape = {3, 8, 6};
  CHECK_NOTHROW(check_augmentation({}, points.shape));
  CHECK_THROWS_AS(check_augmentation({1, false}, points.shape), std::invalid_argument);
  CHECK_THROWS_AS(check_augmentation({0, true}, points.shape), std::invalid_argument);
  CHECK_NOTHROW(check_augmentation({5, true}, image.shape));
  CHECK_THROWS_AS(check_augmentation({6, true}, image.shape), std::invalid_argument);
}

}  // namespace augment_test
