// The laws of compressors that round, draw or keep signs: bytes of real networks, unbiasedness, variance and contraction.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "models/compression/compressor.hpp"
#include "models/optimizers/optimizer.hpp"
#include "models/zoo/cost_model.hpp"
#include "sim/base/registry.hpp"

namespace quantizers_test {

using namespace straggler;

namespace {

using Floats = std::vector<float>;
using ParameterTexts = std::vector<std::pair<std::string, std::string>>;

const CompressorEntry& compressor(std::string_view name) { return Registry<CompressorEntry>::instance().at(name); }

std::vector<double> scalars_of(const CompressorEntry& entry, const ParameterTexts& given, std::uint64_t draw) {
  Parameters parameters;
  for (const auto& [name, text] : given)
    for (const Parameter& parameter : entry.parameters)
      if (parameter.name == name) parameters.set(name, parse_value(parameter, text));
  std::vector<double> scalars = entry.scalars(complete(entry.parameters, parameters));
  if (entry.draws != Draws::none) scalars.push_back(draw_number(1, Rank{0}, draw));
  return scalars;
}

Floats compressed(const CompressorEntry& entry, const std::vector<double>& scalars, const Floats& v, std::span<const TensorInfo> tensors = {},
                  std::string_view set = "auto") {
  Floats out(v.size());
  Extent extent{v.size()};
  extent.tensors = tensors;
  Registry<ElementwiseEntry>::instance().at(entry.rule->name).apply(select_kernels(set), extent, {v.data()}, scalars, out.data());
  return out;
}

double square(const Floats& v) {
  double sum = 0;
  for (const float x : v) sum += static_cast<double>(x) * x;
  return sum;
}

double apart(const Floats& a, const Floats& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(static_cast<double>(a[i]) - b[i], 2);
  return sum;
}

Floats normal(std::size_t d, std::uint32_t seed) {
  std::mt19937 chance(seed);
  std::normal_distribution<float> draw(0, 1);
  Floats v(d);
  for (float& x : v) x = draw(chance);
  return v;
}

/// Three tensors of different sizes in a vector of d, some empty for small d.
std::vector<TensorInfo> tensors_of(std::size_t d) {
  return {{"a", {d / 3}, 0}, {"b", {d / 2 - d / 3}, d / 3}, {"c", {d - d / 2}, d / 2}};
}

/// Of the mean of `draws` messages: how far each coordinate is from v, in standard errors of a variance that is known.
template <class Variance>
double worst_error(const CompressorEntry& entry, const ParameterTexts& given, const Floats& v, int draws, Variance variance) {
  std::vector<double> sum(v.size());
  for (int draw = 0; draw < draws; ++draw) {
    const Floats q = compressed(entry, scalars_of(entry, given, static_cast<std::uint64_t>(draw)), v);
    for (std::size_t i = 0; i < v.size(); ++i) sum[i] += q[i];
  }
  double worst = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    const double error = std::abs(sum[i] / draws - v[i]);
    worst = std::max(worst, error / (std::sqrt(variance(i) / draws) + 1e-6 * std::abs(v[i])));
  }
  return worst;
}

/// On images of 28x28; of a network that is only priced, its own.
CostTable table_of(const char* name) {
  if (const CostModelEntry* const priced = Registry<CostModelEntry>::instance().find(name)) return priced->make(complete(priced->parameters, {}));
  const ModelEntry& entry = Registry<ModelEntry>::instance().at(name);
  DataInfo info;
  info.features = 784;
  info.classes = 10;
  info.shape = {1, 28, 28};
  return cost_table(*entry.make(complete(entry.parameters, {}), info, ModelSetting{select_kernels("auto")}));
}

}  // namespace

TEST_CASE("bytes of the messages of an MLP, LeNet-5 and ResNet-18, by the formulas") {
  // 784-200-200-10; LeNet-5: two convolutions and three dense layers; ResNet-18 for 32x32: 20 convolutions without biases, as many
  // batch norms of two tensors, and a dense layer.
  struct Network {
    const char* model;
    std::uint64_t d, tensors;
  };
  for (const Network& network : {Network{"mlp", 784 * 200 + 200 + 200 * 200 + 200 + 200 * 10 + 10, 6}, Network{"lenet5", 61'706, 10},
                                 Network{"resnet18", 11'173'962, 20 + 40 + 2}}) {
    CAPTURE(network.model);
    const CostTable table = table_of(network.model);
    const std::vector<TensorInfo> tensors = table.tensors();
    const std::uint64_t d = network.d, t = network.tensors;
    CHECK(table.parameters() == d);
    CHECK(tensors.size() == t);
    const VectorLayout layout{d, tensors};
    const auto bytes = [&](const char* name, const ParameterTexts& given = {}) {
      const CompressorEntry& entry = compressor(name);
      return entry.bytes(scalars_of(entry, given, 1), layout);
    };
    const auto k = static_cast<std::uint64_t>(std::llround(0.01 * static_cast<double>(d)));
    CHECK(bytes("fp16") == 2 * d);
    CHECK(bytes("bf16") == 2 * d);
    CHECK(bytes("int8") == d + 4 * t);
    CHECK(bytes("top_k") == 8 * k);
    CHECK(bytes("random_k") == 4 * k);
    CHECK(bytes("qsgd") == (5 * d + 7) / 8 + 4 * ((d + 511) / 512));  // lg 31: 5 bits
    CHECK(bytes("qsgd", {{"levels", "1"}, {"bucket", "100"}}) == (2 * d + 7) / 8 + 4 * ((d + 99) / 100));
    CHECK(bytes("terngrad") == (2 * d + 7) / 8 + 4 * t);
    CHECK(bytes("signsgd") == (d + 7) / 8);
    CHECK(bytes("signsgd", {{"error_feedback", "true"}}) == (d + 7) / 8 + 4 * t);
  }
}

TEST_CASE("every compressor: messages of several tensors are read to the bits that were written, whatever is in them") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<ParameterTexts> variants = {{}, {{"error_feedback", "true"}}, {{"error_feedback", "false"}}};
  for (const CompressorEntry& entry : Registry<CompressorEntry>::instance().entries()) {
    if (!entry.rule || entry.factors) continue;  // those are messages of factors (powersgd_test.cpp)
    CAPTURE(entry.name);
    for (std::uint32_t seed = 0; seed < 40; ++seed) {
      const std::size_t d = seed < 10 ? 6 + seed : 500 + 97 * seed;
      Floats v = normal(d, seed);
      std::mt19937 chance(seed);
      for (float& x : v) {
        if (seed % 4 == 1) x = std::ldexp(x, static_cast<int>(chance() % 250) - 140);  // subnormal numbers among them
        if (seed % 4 == 2 && chance() % 3 == 0) x = chance() % 2 ? 0.0f : -0.0f;
        if (seed % 4 == 3 && chance() % 50 == 0) x = chance() % 3 == 0 ? nan : chance() % 2 ? inf : -inf;
        if (seed % 8 == 5) x = x > 0 ? 1e-45f : 0;
        if (seed % 8 == 6) x = std::ldexp(x, 126);
      }
      const std::vector<TensorInfo> tensors = tensors_of(d);
      const VectorLayout layout{d, tensors};
      const std::vector<double> scalars = scalars_of(entry, variants[seed % variants.size()], seed);
      const Floats q = compressed(entry, scalars, v, tensors);
      for (const std::string_view set : available_kernels()) {
        const Floats same = compressed(entry, scalars, v, tensors, set);
        CHECK(std::memcmp(same.data(), q.data(), d * sizeof(float)) == 0);
      }
      const std::vector<std::byte> message = entry.encode(scalars, layout, q);
      CHECK(message.size() == entry.bytes(scalars, layout));
      Floats read(d, 7.0f);
      entry.decode(scalars, layout, message, read);
      CHECK(std::memcmp(read.data(), q.data(), d * sizeof(float)) == 0);
      std::vector<std::byte> longer = message;
      longer.push_back({});
      CHECK_THROWS_AS(entry.decode(scalars, layout, longer, read), std::logic_error);
      CHECK_THROWS_AS(entry.decode(scalars, layout, std::span(message).first(message.size() - 1), read), std::logic_error);
    }
  }
}

TEST_CASE("sixteen bits: the nearest number of the format") {
  const Floats v = {1.0f, 1.0009765f, 65504, 65520, -1e-8f, 3.1415927f};
  CHECK(compressed(compressor("fp16"), {}, v) == Floats{1.0f, 1.0009765625f, 65504, std::numeric_limits<float>::infinity(), 0.0f, 3.140625f});
  CHECK(compressed(compressor("bf16"), {}, {1.00390625f, 1.01171875f, 3.1415927f}) == Floats{1.0f, 1.015625f, 3.140625f});  // ties to even
  // |C(v) - v| ≤ 2^-11 |v| of normal numbers, 2^-8 in bf16.
  const Floats many = normal(5000, 3);
  const Floats fp16 = compressed(compressor("fp16"), {}, many), bf16 = compressed(compressor("bf16"), {}, many);
  for (std::size_t i = 0; i < many.size(); ++i) {
    CHECK(std::abs(fp16[i] - many[i]) <= std::max(std::ldexp(std::abs(many[i]), -11), std::ldexp(1.0f, -25)));
    CHECK(std::abs(bf16[i] - many[i]) <= std::ldexp(std::abs(many[i]), -8));
  }
}

TEST_CASE("int8: the nearest of 255 multiples of each tensor's largest magnitude by 127") {
  const std::vector<TensorInfo> tensors = {{"a", {4}, 0}, {"b", {3}, 4}};
  const Floats v = {127, 0.5f, 1.5f, -2.6f, -2.54f, 1.28f, 0.009f};  // units 1 and 0.02
  const Floats q = compressed(compressor("int8"), {}, v, tensors);
  const float unit = 2.54f / 127;
  CHECK(q == Floats{127, 0, 2, -3, -2.54f, 64 * unit, 0});  // ties to even
  const Floats many = normal(10'000, 4);
  const Floats rounded = compressed(compressor("int8"), {}, many);
  float most = 0;
  for (const float x : many) most = std::max(most, std::abs(x));
  for (std::size_t i = 0; i < many.size(); ++i) CHECK(std::abs(rounded[i] - many[i]) <= most / 254 * 1.0001f);
}

TEST_CASE("QSGD: the mean of many draws is the gradient, and a message's error is as the paper says") {
  const Floats v = normal(200, 5);
  const double norm = std::sqrt(square(v));
  for (const int levels : {1, 4, 15, 127}) {
    CAPTURE(levels);
    const ParameterTexts given = {{"levels", std::to_string(levels)}, {"bucket", "1000"}};
    // Of a value that lies at the share f between two levels: f (1 - f) (norm / s)².
    const auto variance = [&](std::size_t i) {
      const double unit = norm / levels, at = std::abs(v[i]) / unit, f = at - std::floor(at);
      return f * (1 - f) * unit * unit;
    };
    CHECK(worst_error(compressor("qsgd"), given, v, 4000, variance) < 5);
    double expected = 0, found = 0;
    for (std::size_t i = 0; i < v.size(); ++i) expected += variance(i);
    const int draws = 400;
    for (int draw = 0; draw < draws; ++draw)
      found += apart(compressed(compressor("qsgd"), scalars_of(compressor("qsgd"), given, static_cast<std::uint64_t>(draw)), v), v) / draws;
    CHECK(found == doctest::Approx(expected).epsilon(0.05));
    const double d = 200, s = levels;
    CHECK(expected <= std::min(d / (s * s), std::sqrt(d) / s) * square(v));  // Alistarh et al. 2017, lemma 3.1
  }
  // Buckets have norms of their own: a small value beside a large one is not lost in another bucket.
  const Floats two = {1000, 1, 1e-3f, 2e-3f};
  const Floats q = compressed(compressor("qsgd"), scalars_of(compressor("qsgd"), {{"bucket", "2"}, {"levels", "1"}}, 1), two);
  const float small = std::sqrt(5.0f) * 1e-3f;
  for (std::size_t i = 2; i < 4; ++i) CHECK((q[i] == 0 || std::abs(q[i] - small) < 1e-6f));
}

TEST_CASE("TernGrad: the mean of many draws is the gradient, and a value's variance is s |v| - v²") {
  const Floats v = normal(200, 6);
  double most = 0;
  for (const float x : v) most = std::max<double>(most, std::abs(x));
  const auto variance = [&](std::size_t i) { return most * std::abs(v[i]) - static_cast<double>(v[i]) * v[i]; };
  CHECK(worst_error(compressor("terngrad"), {}, v, 4000, variance) < 5);
  double expected = 0, found = 0;
  for (std::size_t i = 0; i < v.size(); ++i) expected += variance(i);
  const int draws = 400;
  for (int draw = 0; draw < draws; ++draw) {
    const Floats q = compressed(compressor("terngrad"), scalars_of(compressor("terngrad"), {}, static_cast<std::uint64_t>(draw)), v);
    for (std::size_t i = 0; i < v.size(); ++i) CHECK((q[i] == 0 || q[i] == std::copysign(static_cast<float>(most), v[i])));
    found += apart(q, v) / draws;
  }
  CHECK(found == doctest::Approx(expected).epsilon(0.05));
}

TEST_CASE("random-k: unbiased without error feedback, a contraction in the mean with it, and the same places on every worker") {
  const Floats v = normal(200, 7);
  const double d = 200, k = 20;
  const CompressorEntry& entry = compressor("random_k");
  const ParameterTexts scaled = {{"fraction", "0.1"}, {"error_feedback", "false"}}, kept = {{"fraction", "0.1"}};
  const auto variance = [&](std::size_t i) { return (d / k - 1) * v[i] * v[i]; };
  CHECK(worst_error(entry, scaled, v, 4000, variance) < 5);
  double unscaled = 0;
  const int draws = 2000;
  for (int draw = 0; draw < draws; ++draw) {
    const Floats q = compressed(entry, scalars_of(entry, kept, static_cast<std::uint64_t>(draw)), v);
    std::size_t places = 0;
    for (std::size_t i = 0; i < v.size(); ++i) {
      CHECK((q[i] == 0 || q[i] == v[i]));
      places += q[i] != 0;
    }
    CHECK(places == 20);
    unscaled += apart(q, v) / draws;
  }
  CHECK(unscaled == doctest::Approx((1 - k / d) * square(v)).epsilon(0.05));
  CHECK(entry.draws == Draws::version);
  CHECK(compressed(entry, scalars_of(entry, {{"fraction", "1"}}, 3), v) == v);
}

TEST_CASE("signs: of each value its own, scaled by the tensor's mean magnitude where there is error feedback") {
  const CompressorEntry& entry = compressor("signsgd");
  const std::vector<TensorInfo> tensors = {{"a", {4}, 0}, {"b", {2}, 4}};
  const Floats v = {1, -2, 3, -4, 0.5f, -0.5f};
  CHECK(compressed(entry, scalars_of(entry, {}, 1), v, tensors) == Floats{1, -1, 1, -1, 1, -1});
  CHECK(compressed(entry, scalars_of(entry, {{"error_feedback", "true"}}, 1), v, tensors) == Floats{2.5f, -2.5f, 2.5f, -2.5f, 0.5f, -0.5f});
  // |C(v) - v|² = |v|² - |v|₁² / d
  const Floats many = normal(1000, 8);
  double sum = 0;
  for (const float x : many) sum += std::abs(x);
  CHECK(apart(compressed(entry, scalars_of(entry, {{"error_feedback", "true"}}, 1), many), many) ==
        doctest::Approx(square(many) - sum * sum / 1000).epsilon(1e-5));
  // A zero has either sign, by the version and the coordinate.
  const Floats zeros(10'000);
  const Floats first = compressed(entry, scalars_of(entry, {}, 1), zeros), again = compressed(entry, scalars_of(entry, {}, 1), zeros),
               next = compressed(entry, scalars_of(entry, {}, 2), zeros);
  CHECK(first == again);
  CHECK(first != next);
  double mean = 0, common = 0;
  for (std::size_t i = 0; i < zeros.size(); ++i) {
    CHECK(std::abs(first[i]) == 1);
    mean += first[i] / 10'000;
    common += first[i] * next[i] / 10'000;
  }
  CHECK(std::abs(mean) < 0.05);  // five standard errors
  CHECK(std::abs(common) < 0.05);
}

TEST_CASE("a vote is the sign that most of three workers send; of as many of both it is drawn, the same for all") {
  const CompressorEntry& entry = compressor("signsgd");
  const std::vector<double> scalars = scalars_of(entry, {}, 4);
  const bool votes = entry.vote != nullptr;
  REQUIRE(votes);
  const Rule* const rule = entry.vote(scalars);
  REQUIRE(rule);
  const auto vote = [&](const std::vector<Floats>& parts) {
    std::vector<const float*> inputs;
    for (const Floats& part : parts) inputs.push_back(part.data());
    Extent extent;
    extent.n = parts.front().size();
    Floats out(extent.n);
    Registry<ElementwiseEntry>::instance().at(rule->name).apply(select_kernels("auto"), extent, inputs, scalars, out.data());
    return out;
  };
  const Floats a = {1, 1, 1, -1, -1, -1}, b = {1, 1, -1, 1, -1, -1}, c = {1, -1, -1, -1, 1, -1};
  CHECK(vote({a, b, c}) == Floats{1, 1, -1, -1, -1, -1});
  CHECK(vote({b}) == b);
  // Two who disagree: the bit that a zero gets.
  const Floats tied = vote({a, b}), of_zeros = compressed(entry, scalars, Floats(6));
  CHECK(tied == Floats{1, 1, of_zeros[2], of_zeros[3], -1, -1});
  CHECK(tied == vote({b, a}));
  // A vote is written as a message is.
  const std::vector<std::byte> message = entry.encode(scalars, {6}, tied);
  CHECK(message.size() == 1);
  Floats read(6);
  entry.decode(scalars, {6}, message, read);
  CHECK(read == tied);
  CHECK(!entry.vote(scalars_of(entry, {{"error_feedback", "true"}}, 4)));
}

}  // namespace quantizers_test
