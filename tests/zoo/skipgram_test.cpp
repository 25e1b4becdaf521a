// Skip-gram: its gradient against central differences (by the reference in double), against PyTorch's (reference/skipgram_gradient.csv,
// made by reference/make_skipgram_reference.py in float64), and its noise against count^0.75.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>

#include "models/data/word_list.hpp"
#include "models/layers/reference_negative_sampling.hpp"
#include "models/zoo/cost_model.hpp"
#include "models/zoo/model.hpp"
#include "models/zoo/noise.hpp"
#include "sim/base/registry.hpp"
#include "tests/support/math_helpers.hpp"
#include "tests/support/text.hpp"

namespace straggler::test::skipgram_test {
namespace {

/// Pairs with their targets, the context first, as row numbers.
struct Pairs {
  std::size_t words, width, each;
  std::vector<std::uint32_t> centres, targets;
  std::vector<float> scale;
};

Pairs random_pairs(std::size_t words, std::size_t width, std::size_t each, std::size_t count, std::uint64_t seed) {
  RandomStream stream(seed, "pairs");
  Pairs pairs{words, width, each, {}, {}, {}};
  for (std::size_t p = 0; p < count; ++p) {
    pairs.centres.push_back(static_cast<std::uint32_t>(stream.below(words)));
    for (std::size_t j = 0; j < each; ++j) pairs.targets.push_back(static_cast<std::uint32_t>(stream.below(words)));
    pairs.scale.push_back(p < count / 2 ? 0.25f : static_cast<float>(stream.uniform()));
  }
  return pairs;
}

template <class Scalar>
double by_reference(const Pairs& pairs, const std::vector<Scalar>& weights, std::vector<Scalar>& gradient) {
  gradient.assign(weights.size(), Scalar(0));
  const std::size_t half = pairs.words * pairs.width;
  return reference::negative_sampling<Scalar>(pairs.width, pairs.each, pairs.centres, pairs.targets, pairs.scale, weights.data(),
                                              weights.data() + half, gradient.data(), gradient.data() + half);
}

double by_kernels(const Kernels& kernels, const Pairs& pairs, const std::vector<float>& weights, std::vector<float>& gradient,
                  std::vector<float>* scores = nullptr) {
  gradient.assign(weights.size(), 0.0f);
  const std::size_t half = pairs.words * pairs.width;
  std::vector<const float*> u, v;
  std::vector<float*> du, dv;
  for (const std::uint32_t centre : pairs.centres) {
    u.push_back(weights.data() + centre * pairs.width);
    du.push_back(gradient.data() + centre * pairs.width);
  }
  for (const std::uint32_t target : pairs.targets) {
    v.push_back(weights.data() + half + target * pairs.width);
    dv.push_back(gradient.data() + half + target * pairs.width);
  }
  if (scores) scores->assign(v.size(), 0.0f);
  return kernels.negative_sampling({pairs.centres.size(), pairs.width, pairs.each, u.data(), v.data(), pairs.scale.data(), du.data(),
                                    dv.data(), scores ? scores->data() : nullptr});
}

DataInfo words_of(std::vector<std::uint64_t> counts) {
  auto vocabulary = std::make_shared<WordList>();
  vocabulary->words.resize(counts.size());
  vocabulary->counts = std::move(counts);
  DataInfo info;
  info.features = 1;
  info.classes = vocabulary->size();
  info.vocabulary = vocabulary;
  return info;
}

std::unique_ptr<Model> skipgram(const DataInfo& info, std::int64_t dimension, std::int64_t negatives, const Kernels& kernels) {
  const ModelEntry& entry = Registry<ModelEntry>::instance().at("skipgram");
  return entry.make(complete(entry.parameters, {{"dimension", dimension}, {"negatives", negatives}}), info, ModelSetting{kernels});
}

}  // namespace

TEST_CASE("negative sampling: the first gradient of a row is added to values elsewhere, to the same bits") {
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(kernels->name);
    for (const std::size_t width : {3u, 16u, 100u, 300u}) {
      const Pairs pairs = random_pairs(6, width, 6, 9, width);  // rows coincide within a pair, and from pair to pair
      const std::vector<float> weights = numbers(2 * 6 * width, width), zeros(width);
      std::vector<float> expected, gradient(weights.size(), std::nanf(""));
      const double loss = by_kernels(*kernels, pairs, weights, expected);
      std::vector<bool> seen(12);
      const auto before = [&](std::size_t row) {
        const bool first = !seen[row];
        seen[row] = true;
        return first ? zeros.data() : gradient.data() + row * width;
      };
      std::vector<const float*> u, v, u_before, v_before;
      std::vector<float*> du, dv;
      for (std::size_t p = 0; p < pairs.centres.size(); ++p) {
        u.push_back(weights.data() + pairs.centres[p] * width);
        du.push_back(gradient.data() + pairs.centres[p] * width);
        u_before.push_back(before(pairs.centres[p]));
        for (std::size_t j = 0; j < 6; ++j) {
          const std::size_t row = 6 + pairs.targets[p * 6 + j];
          v.push_back(weights.data() + row * width);
          dv.push_back(gradient.data() + row * width);
          v_before.push_back(before(row));
        }
      }
      CHECK(kernels->negative_sampling({u.size(), width, 6, u.data(), v.data(), pairs.scale.data(), du.data(), dv.data(), nullptr,
                                        u_before.data(), v_before.data()}) == loss);
      for (std::size_t row = 0; row < 12; ++row)
        if (seen[row])
          CHECK(std::equal(expected.begin() + static_cast<std::ptrdiff_t>(row * width),
                           expected.begin() + static_cast<std::ptrdiff_t>((row + 1) * width), gradient.data() + row * width));
    }
  }
}

TEST_CASE("negative sampling: outputs' gradients as terms come to the same bits as written out, and so does what descends along them") {
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(kernels->name);
    for (const std::size_t width : {3u, 16u, 100u, 300u}) {
      constexpr std::size_t words = 200, each = 6, count = 30;
      const Pairs pairs = random_pairs(words, width, each, count, width);
      const std::vector<float> weights = numbers(2 * words * width, width);
      std::vector<float> expected;
      by_kernels(*kernels, pairs, weights, expected);
      // As skip-gram gives them: a centre's gradient is written out, the outputs' are terms.
      std::vector<float> buffer(SparseRows::buffer_floats(2 * words * width, width), std::nanf(""));
      const SparseRows rows(buffer.data(), 2 * words * width, width);
      RowSlots slots;
      slots.resize(2 * words);
      {
        GradientRows gradient(rows, slots, {width, each}, count);
        REQUIRE(gradient.in_terms());
        for (std::size_t p = 0; p < count; ++p) {
          const GradientRow centre = gradient.row(pairs.centres[p]);
          const float* const u = weights.data() + pairs.centres[p] * width;
          float *const copy = gradient.source(centre), *const du = centre.out;
          std::vector<const float*> v;
          for (std::size_t j = 0; j < each; ++j) {
            const std::size_t row = words + pairs.targets[p * each + j];
            gradient.add_term(row, centre);
            v.push_back(weights.data() + row * width);
          }
          PairBlock block{1, width, each, &u, v.data(), &pairs.scale[p], &du, nullptr, nullptr, &centre.before};
          block.factors = gradient.factors(each);
          block.centre_copies = &copy;
          block.loss = false;
          CHECK(kernels->negative_sampling(block) == 0);
        }
      }
      std::vector<float> room(SparseRows::stride_of(width)), stepped = weights;
      std::vector<float*> places;
      std::size_t wrong = 0;
      for (std::size_t slot = 0; slot < rows.count(); ++slot) {
        const float* const values = rows.values(*kernels, slot, room.data());
        for (std::size_t i = 0; i < width; ++i) wrong += values[i] != expected[rows.row(slot) * width + i];
        CHECK((slot < rows.written()) == (rows.row(slot) < words));
        CHECK(slots[rows.row(slot)] == RowSlots::absent);
        if (slot >= rows.written()) places.push_back(stepped.data() + rows.row(slot) * width);
      }
      CHECK(wrong == 0);
      std::vector<float> descended = weights;
      kernels->descend(words * width, 0.3f, weights.data() + words * width, expected.data() + words * width,
                       descended.data() + words * width);
      kernels->descend_terms(places.size(), 0.3f, rows.terms(), 0, places.data());
      CHECK(stepped == descended);
    }
  }
}

TEST_CASE("sparse rows: terms are taken where they fit in the room of the rows written out") {
  constexpr std::size_t words = 8, width = 4;
  std::vector<float> buffer(SparseRows::buffer_floats(words * width, width));
  RowSlots slots;
  slots.resize(words);
  const auto in_terms = [&](std::size_t each, std::size_t samples) {
    return GradientRows(SparseRows(buffer.data(), words * width, width), slots, {width, each}, samples).in_terms();
  };
  // 32 floats; a sample takes a row and a source of 4 each, and 4 numbers a term.
  CHECK(in_terms(2, 2));
  CHECK_FALSE(in_terms(3, 2));
  CHECK_FALSE(in_terms(2, 3));
  CHECK_FALSE(in_terms(0, 2));  // a pattern without terms
  CHECK_FALSE(in_terms(2, 0));  // nobody knows how many samples will come
}

TEST_CASE("negative sampling: the reference's gradient is that of its loss, by central differences") {
  const Pairs pairs = random_pairs(7, 5, 4, 20, 1);
  std::vector<double> weights = numbers<double>(2 * 7 * 5, 2), gradient, ignored;
  by_reference(pairs, weights, gradient);
  constexpr double step = 1e-5;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double at = weights[i];
    weights[i] = at + step;
    const double above = by_reference(pairs, weights, ignored);
    weights[i] = at - step;
    const double below = by_reference(pairs, weights, ignored);
    weights[i] = at;
    CHECK(std::abs((above - below) / (2 * step) - gradient[i]) < 1e-8);  // third derivatives of order 1, times step^2
  }
}

TEST_CASE("negative sampling: every set of kernels follows the reference, for all widths and numbers of targets") {
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(kernels->name);
    for (const std::size_t width : {1u, 3u, 4u, 7u, 8u, 15u, 16u, 17u, 31u, 33u, 63u, 64u, 65u, 100u, 127u, 128u, 130u, 300u})
      for (const std::size_t each : {1u, 2u, 4u, 5u, 6u, 8u, 9u, 16u, 21u, 64u}) {
        CAPTURE(width);
        CAPTURE(each);
        const Pairs pairs = random_pairs(6, width, each, 9, width * 100 + each);  // few words: rows coincide within a pair
        std::vector<float> weights = numbers(2 * 6 * width, width), gradient, scores;
        for (float& weight : weights) weight *= 2 / std::sqrt(static_cast<float>(width));
        std::vector<double> expected;
        const double loss = by_reference(pairs, as<double>(weights), expected);
        CHECK(by_kernels(*kernels, pairs, weights, gradient, &scores) == doctest::Approx(loss).epsilon(1e-6));
        CHECK(distance(gradient, expected) < 1e-6);
        double product = 0;
        for (std::size_t i = 0; i < width; ++i)
          product += double{weights[pairs.centres[8] * width + i]} * double{weights[(6 + pairs.targets[9 * each - 1]) * width + i]};
        CHECK(std::abs(scores.back() - product) < 1e-5);
      }
  }
}

TEST_CASE("negative sampling: the sigmoid is exact to 2.5e-7, and large products neither overflow nor lose the loss") {
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(kernels->name);
    double worst = 0;
    std::vector<float> gradient;
    for (int i = -8600; i <= 8600; ++i) {
      // One pair of width 1 with u = 1: the gradient by v is -σ(-v).
      const float x = static_cast<float>(i) * 0.01f;
      by_kernels(*kernels, {1, 1, 1, {0}, {0}, {1.0f}}, {1.0f, x}, gradient);
      const double exact = -1 / (1 + std::exp(static_cast<double>(x)));
      worst = std::max(worst, std::abs(static_cast<double>(gradient[1]) / exact - 1));
    }
    CHECK(worst < 2.5e-7);
    CHECK(by_kernels(*kernels, {1, 1, 1, {0}, {0}, {1.0f}}, {1.0f, -1000.0f}, gradient) == doctest::Approx(1000));
    CHECK(by_kernels(*kernels, {1, 1, 1, {0}, {0}, {1.0f}}, {1.0f, 1000.0f}, gradient) == 0);
    CHECK(gradient[1] == 0);
    CHECK(std::isnan(by_kernels(*kernels, {1, 1, 1, {0}, {0}, {1.0f}}, {1.0f, std::nanf("")}, gradient)));
    // 60 pairs of 64 targets at product 0: log 2 each, whose product is 2^3840, beyond a double.
    const Pairs many{1, 1, 64, std::vector<std::uint32_t>(60), std::vector<std::uint32_t>(60 * 64), std::vector<float>(60, 1.0f)};
    CHECK(by_kernels(*kernels, many, {0.0f, 0.0f}, gradient) == doctest::Approx(60 * 64 * std::log(2.0)).epsilon(1e-12));
  }
}

namespace {

/// In [-1/2, 1/2), exact in float; as in the script.
double number(std::uint64_t salt, std::uint64_t i) {
  auto x = static_cast<std::uint32_t>(i * 2654435761u + salt * 40503u + 12345u);
  x = (x ^ (x >> 15)) * 2246822519u;
  x = (x ^ (x >> 13)) * 3266489917u;
  return static_cast<double>(x >> 8) / 16777216.0 - 0.5;
}

}  // namespace

TEST_CASE("skip-gram's loss and gradient equal PyTorch's to 1e-5 in every set of kernels, and to 1e-12 in double") {
  constexpr std::size_t words = 13, width = 21, negatives = 5, count = 40;
  std::ifstream file(STRAGGLER_SOURCE_DIR "/tests/zoo/reference/skipgram_gradient.csv");
  REQUIRE(file.good());
  double loss = 0;
  std::vector<double> expected;
  std::string line, kind, index, value;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    std::getline(cells, kind, ',');
    std::getline(cells, index, ',');
    std::getline(cells, value, ',');
    if (kind == "loss")
      loss = std::stod(value);
    else
      expected.push_back(std::stod(value));
  }
  REQUIRE(expected.size() == 2 * words * width);

  std::vector<float> weights;
  for (const std::uint64_t salt : {1u, 2u})
    for (std::size_t i = 0; i < words * width; ++i) weights.push_back(static_cast<float>(number(salt, i)));
  const auto word = [](std::uint64_t salt, std::size_t i) { return static_cast<std::uint32_t>((number(salt, i) + 0.5) * words); };
  Pairs pairs{words, width, 1 + negatives, {}, {}, std::vector<float>(count, 1.0f / count)};
  for (std::size_t p = 0; p < count; ++p) {
    pairs.centres.push_back(word(3, p));
    pairs.targets.push_back(word(4, p));
    for (std::size_t j = 0; j < negatives; ++j) pairs.targets.push_back(word(5, p * negatives + j));
  }
  std::vector<double> exact;
  CHECK(by_reference(pairs, as<double>(weights), exact) == doctest::Approx(loss).epsilon(1e-6));  // 1/40 is rounded to float
  CHECK(distance(exact, expected) < 1e-6);
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(kernels->name);
    std::vector<float> gradient;
    CHECK(by_kernels(*kernels, pairs, weights, gradient) == doctest::Approx(loss).epsilon(1e-6));
    CHECK(distance(gradient, expected) < 1e-6);
  }
}

TEST_CASE("the model's gradient is that of its draws; evaluating takes the same negatives every time") {
  std::vector<std::uint64_t> counts;
  for (std::uint64_t i = 0; i < 30; ++i) counts.push_back(1000 / (i + 1));
  const DataInfo info = words_of(counts);
  const Noise noise(counts);
  constexpr std::size_t width = 11, negatives = 4, count = 37;  // more than two blocks of the model
  Pairs pairs = random_pairs(30, width, 1 + negatives, count, 3);
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;
  std::vector<std::uint64_t> draws;
  for (std::size_t p = 0; p < count; ++p) {
    inputs.push_back(static_cast<float>(pairs.centres[p]));
    labels.push_back(static_cast<std::int32_t>(pairs.targets[p * (1 + negatives)]));
    draws.push_back(p * p * 0x9E3779B97F4A7C15u);
    for (std::size_t j = 0; j < negatives; ++j) pairs.targets[p * (1 + negatives) + 1 + j] = noise.draw(draws[p], j);
  }
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(kernels->name);
    const std::unique_ptr<Model> model = skipgram(info, width, negatives, *kernels);
    REQUIRE(model->parameters() == 2 * 30 * width);
    const std::vector<float> weights = numbers(model->parameters(), 5);
    const std::unique_ptr<Workspace> workspace = model->workspace();
    std::vector<double> expected;
    const double loss = by_reference(pairs, as<double>(weights), expected);
    std::vector<float> gradient(model->parameters(), 1.0f), twice;
    const Rows rows{count, inputs.data(), labels.data(), pairs.scale.data(), draws.data()};
    CHECK(model->gradient(weights.data(), rows, false, gradient.data(), *workspace) == doctest::Approx(loss).epsilon(1e-5));
    CHECK(distance(gradient, expected) < 1e-6);
    twice = gradient;
    model->gradient(weights.data(), rows, true, twice.data(), *workspace);
    for (double& one : expected) one *= 2;
    CHECK(distance(twice, expected) < 1e-6);

    const Rows test{count, inputs.data(), labels.data(), nullptr, nullptr};
    std::uint64_t correct = 0, again = 0, split = 0;
    const double whole = model->evaluate(weights.data(), test, correct, *workspace);
    CHECK(model->evaluate(weights.data(), test, again, *workspace) == whole);
    CHECK(again == correct);
    double parts = 0;  // other blocks, the same negatives
    for (std::size_t p = 0; p < count; ++p)
      parts += model->evaluate(weights.data(), {1, &inputs[p], &labels[p], nullptr, nullptr}, split, *workspace);
    CHECK(parts == doctest::Approx(whole).epsilon(1e-9));
    CHECK(split == correct);
  }
}

TEST_CASE("a pair is correct if its context scores above all negatives that are other words") {
  // Two words; the context's output vector is 1, the other's -1: right from a centre of 1, wrong from one of -1, and a tie is wrong.
  const DataInfo info = words_of({10, 10});
  for (const Kernels* kernels : all_kernels()) {
    const std::unique_ptr<Model> model = skipgram(info, 1, 20, *kernels);  // 20 negatives: both words are among them
    const std::unique_ptr<Workspace> workspace = model->workspace();
    const float input = 0;
    const std::int32_t label = 1;
    for (const auto& [centre, expected] : {std::pair(1.0f, 1u), std::pair(-1.0f, 0u), std::pair(0.0f, 0u)}) {
      const std::vector<float> weights{centre, 0, -1, 1};
      std::uint64_t correct = 0;
      model->evaluate(weights.data(), {1, &input, &label, nullptr, nullptr}, correct, *workspace);
      CHECK(correct == expected);
    }
  }
}

TEST_CASE("skip-gram begins as word2vec does: inputs uniform in half a unit over the dimension, outputs zero") {
  const std::unique_ptr<Model> model = skipgram(words_of(std::vector<std::uint64_t>(500, 3)), 40, 5, select_kernels("auto"));
  std::vector<float> weights(model->parameters());
  model->initialize(9, weights.data());
  const auto half = weights.begin() + 500 * 40;
  CHECK(*std::max_element(weights.begin(), half) < 0.5f / 40);
  CHECK(*std::min_element(weights.begin(), half) >= -0.5f / 40);
  // Variance of a uniform number: width^2 / 12; of 20,000 of them the mean square is within 5 of its own deviations, 0.9 / sqrt(20,000).
  const double squares = std::inner_product(weights.begin(), half, weights.begin(), 0.0) / (500 * 40) * 12 * 40 * 40;
  CHECK(std::abs(squares - 1) < 5 * 0.9 / std::sqrt(20'000.0));
  CHECK(std::all_of(half, weights.end(), [](float x) { return x == 0.0f; }));
  REQUIRE(model->tensors().size() == 2);
  CHECK(model->tensors()[0].name == "input.weight");
  CHECK(model->tensors()[1].name == "output.weight");
  CHECK(model->tensors()[1].offset == 500 * 40);
  // A pair: 6 products of 40 multiply-adds.
  CHECK(cost_table(*model).forward_flops() == 2 * 6 * 40);
  CHECK(cost_table(*model).parameters() == 2 * 500 * 40);
}

TEST_CASE("noise is drawn by count^0.75") {
  std::vector<std::uint64_t> counts;
  std::vector<double> share;
  for (std::uint64_t i = 0; i < 60; ++i) {
    counts.push_back(1 + 100'000 / (i + 1) / (i + 1));
    share.push_back(std::pow(static_cast<double>(counts.back()), 0.75));
  }
  const double total = std::accumulate(share.begin(), share.end(), 0.0);
  const Noise noise(counts);
  constexpr std::size_t keys = 200'000, each = 5;
  std::vector<double> seen(60);
  for (std::size_t key = 0; key < keys; ++key)
    for (std::size_t j = 0; j < each; ++j) ++seen[noise.draw(Hasher().add(std::uint64_t{key}).key().low, j)];
  double chi_square = 0;
  for (std::size_t i = 0; i < 60; ++i) {
    const double expected = share[i] / total * keys * each;
    REQUIRE(expected > 5);
    chi_square += (seen[i] - expected) * (seen[i] - expected) / expected;
  }
  // 59 degrees of freedom: mean 59, variance 118.
  CHECK(chi_square < 59 + 5 * std::sqrt(118.0));
  CHECK(chi_square > 59 - 5 * std::sqrt(118.0));  // and it is random
  const AliasTable table(std::array{0.0, 3.0, 1.0});
  std::array<int, 3> drawn{};
  for (std::uint64_t i = 0; i < 4096; ++i) ++drawn[table.draw(i << 52 | (i * 2654435761u & 0xFFFFFFFFu))];
  CHECK(drawn[0] == 0);
  CHECK(std::abs(drawn[1] - 3072) < 5 * std::sqrt(4096 * 0.75 * 0.25));
}

TEST_CASE("skip-gram takes texts alone") {
  DataInfo points;
  points.features = 2;
  points.classes = 4;
  const std::string said = error_of<std::invalid_argument>([&] { skipgram(points, 10, 5, select_kernels("auto")); });
  CHECK(said.find("pairs of words; use data") != std::string::npos);
}

}  // namespace straggler::test::skipgram_test
