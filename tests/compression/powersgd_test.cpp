// PowerSGD's factors: closed forms of its bytes and of its approximation, means of factors, and the optimum that error feedback reaches.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "models/compression/compressor.hpp"
#include "models/rules/elementwise.hpp"
#include "sim/base/registry.hpp"

namespace straggler::powersgd_test {
namespace {

using Floats = std::vector<float>;

const CompressorEntry& powersgd() { return Registry<CompressorEntry>::instance().at("powersgd"); }
const FactorRules& rules() { return *powersgd().factors; }

/// One tensor of rows × columns, then a vector of five.
struct Case {
  Case(std::size_t n, std::size_t m, double r) : rows(n), columns(m), tensors{{"a", {n, m}, 0}, {"b", {5}, n * m}}, scalars{r, 12345} {}
  std::size_t size() const { return rows * columns + 5; }
  VectorLayout layout() const { return {size(), tensors}; }
  Floats apply(const Rule& rule, const std::vector<Floats>& inputs) const { return apply(rule, inputs, scalars); }
  Floats apply(const Rule& rule, const std::vector<Floats>& inputs, const std::vector<double>& with) const {
    Extent extent;
    extent.n = size();
    extent.tensors = tensors;
    std::vector<const float*> all;
    for (const Floats& input : inputs) all.push_back(input.data());
    Floats out(size());
    Registry<ElementwiseEntry>::instance().at(rule.name).apply(select_kernels("auto"), extent, all, with, out.data());
    return out;
  }
  /// The factors of M that begin from `last`, if there is one.
  Floats factors(const Floats& m, const Floats* last = nullptr) const {
    const Floats left = apply(*rules().orthogonal, {apply(*rules().left, last ? std::vector<Floats>{m, *last} : std::vector<Floats>{m})});
    Floats both = left;
    const Floats right = apply(*rules().right, {m, left});
    for (std::size_t i = 0; i < both.size(); ++i) both[i] += right[i];
    return both;
  }
  Floats product(const Floats& both) const { return apply(*rules().product, {both}); }

  std::size_t rows, columns;
  std::vector<TensorInfo> tensors;
  std::vector<double> scalars;
};

double square(const Floats& v) {
  double sum = 0;
  for (const float x : v) sum += static_cast<double>(x) * x;
  return sum;
}

Floats minus(Floats a, const Floats& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}

Floats normal(std::size_t n, unsigned seed) {
  std::mt19937 chance(seed);
  std::normal_distribution<float> draw(0, 1);
  Floats v(n);
  for (float& x : v) x = draw(chance);
  return v;
}

/// A matrix of that rank, and the vector behind it.
Floats of_rank(const Case& all, std::size_t rank, unsigned seed) {
  Floats m = normal(all.size(), seed);
  const Floats a = normal(all.rows * rank, seed + 1), b = normal(all.columns * rank, seed + 2);
  for (std::size_t i = 0; i < all.rows; ++i)
    for (std::size_t j = 0; j < all.columns; ++j) {
      float sum = 0;
      for (std::size_t k = 0; k < rank; ++k) sum += a[i * rank + k] * b[j * rank + k];
      m[i * all.columns + j] = sum;
    }
  return m;
}

}  // namespace

TEST_CASE("powersgd gives a matrix of its rank exactly, from a factor that is drawn and from one of before") {
  for (const std::size_t rank : {1u, 2u, 4u}) {
    const Case all(40, 30, static_cast<double>(rank));
    const Floats m = of_rank(all, rank, 7), other = of_rank(all, rank, 70);
    const Floats first = all.factors(m), second = all.factors(other, &first);
    CHECK(square(minus(all.product(first), m)) < 1e-10 * square(m));
    CHECK(square(minus(all.product(second), other)) < 1e-10 * square(other));
    CHECK(square(minus(all.apply(*powersgd().rule, {m}), m)) < 1e-10 * square(m));
    for (std::size_t i = 40 * 30; i < all.size(); ++i) CHECK(all.product(first)[i] == m[i]);  // a vector is whole
  }
}

TEST_CASE("powersgd is a projection: |C(M) - M|^2 = |M|^2 - |C(M)|^2") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Case all(5 + seed, 60 - seed, 1 + seed % 3);
    Floats m = normal(all.size(), seed);
    std::fill(m.end() - 5, m.end(), 0.0f);
    const Floats q = all.product(all.factors(m));
    CHECK(std::abs(square(minus(q, m)) - (square(m) - square(q))) < 1e-4 * square(m));
    CHECK(square(minus(q, m)) < square(m));
  }
}

TEST_CASE("from the factor of the step before, powersgd converges to the largest singular values") {
  const Case all(12, 12, 2);
  Floats m(all.size());
  for (std::size_t i = 0; i < 12; ++i) m[i * 12 + i] = std::pow(0.7f, static_cast<float>(i));
  Floats both = all.factors(m);
  for (int step = 0; step < 60; ++step) both = all.factors(m, &both);
  double left_out = 0;
  for (int i = 2; i < 12; ++i) left_out += std::pow(0.7, 2 * i);
  CHECK(std::abs(square(minus(all.product(both), m)) - left_out) < 1e-5);
}

TEST_CASE("zeros are sent as zeros, and a factor that is not a number is drawn again") {
  const Case all(20, 10, 2);
  const Floats zeros(all.size());
  const Floats nothing = all.factors(zeros);
  CHECK(square(all.product(nothing)) == 0);
  const Floats m = of_rank(all, 2, 3), after = all.factors(m, &nothing);
  CHECK(square(minus(all.product(after), m)) < square(m));
  CHECK(square(all.product(after)) > 0);
  Floats broken = all.factors(m);
  for (float& x : broken) x = std::nanf("");
  CHECK(all.factors(m, &broken) == all.factors(m));
}

TEST_CASE("a message of factors is read to the bits that were written, and has no other values") {
  const Case all(17, 9, 2);
  const Floats both = all.factors(normal(all.size(), 5));
  const std::vector<std::byte> message = powersgd().encode(all.scalars, all.layout(), both);
  CHECK(message.size() == 4 * (2 * (17 + 9) + 5));
  Floats read(all.size(), 7.0f);
  powersgd().decode(all.scalars, all.layout(), message, read);
  CHECK(std::memcmp(read.data(), both.data(), both.size() * sizeof(float)) == 0);
  CHECK_THROWS_AS(powersgd().encode(all.scalars, all.layout(), normal(all.size(), 5)), std::logic_error);
  CHECK_THROWS_AS(powersgd().decode(all.scalars, all.layout(), std::span(message).first(8), read), std::logic_error);
}

TEST_CASE("bytes of ResNet-18 by its layers (He et al. 2016, ImageNet)") {
  std::vector<TensorInfo> tensors;
  std::size_t at = 0;
  std::uint64_t vectors = 0;                                      // floats that are whole
  std::vector<std::pair<std::uint64_t, std::uint64_t>> matrices;  // rows, columns
  const auto add = [&](std::vector<std::size_t> shape) {
    std::size_t count = 1;
    for (const std::size_t size : shape) count *= size;
    tensors.push_back({"t", shape, at});
    at += count;
    if (shape.size() == 1)
      vectors += count;
    else
      matrices.emplace_back(shape[0], count / shape[0]);
  };
  const auto convolution = [&](std::size_t out, std::size_t in, std::size_t k) {
    add({out, in, k, k});
    add({out});  // batch norm
    add({out});
  };
  convolution(64, 3, 7);
  for (std::size_t stage = 0; stage < 4; ++stage) {
    const std::size_t c = 64u << stage, from = stage == 0 ? 64 : c / 2;
    convolution(c, from, 3);
    convolution(c, c, 3);
    if (stage > 0) convolution(c, from, 1);
    convolution(c, c, 3);
    convolution(c, c, 3);
  }
  add({1000, 512});
  add({1000});
  REQUIRE(at == 11'689'512);
  // Rows + columns: 64 + 147; 4 (64 + 576); 128 + 576, 3 (128 + 1152), 128 + 64; 256 + 1152, 3 (256 + 2304), 256 + 128;
  // 512 + 2304, 3 (512 + 4608), 512 + 256; 1000 + 512. Vectors: 9600 of batch norm, 1000.
  const std::uint64_t sides = 211 + 2560 + (704 + 3840 + 192) + (1408 + 7680 + 384) + (2816 + 15360 + 768) + 1512;
  std::uint64_t by_layers = 0, columns = 0;
  for (const auto& [n, m] : matrices) {
    by_layers += n + m;
    columns += m;
  }
  CHECK(by_layers == sides);
  CHECK(vectors == 10'600);
  for (const std::uint64_t r : {1u, 2u, 4u}) {  // in no layer r (n + m) >= n m
    CHECK(powersgd().bytes({static_cast<double>(r), 0}, {at, tensors}) == 4 * (r * sides + 10'600));
    CHECK(powersgd().right_bytes({static_cast<double>(r), 0}, {at, tensors}) == 4 * r * columns);
  }
  // Where factors are no smaller, a tensor is whole: 4 × 4 at rank 2.
  const std::vector<TensorInfo> small = {{"a", {4, 4}, 0}};
  CHECK(powersgd().bytes({2, 0}, {16, small}) == 64);
  CHECK(powersgd().bytes({1, 0}, {16, small}) == 32);
}

TEST_CASE("with error feedback, p workers of different aims end at their mean") {
  // Gradients W - T_k of |W - T_k|^2 / 2: the optimum is the mean of all T_k. By means of factors, as an all-reduce has them.
  const Case all(8, 6, 1);
  const std::size_t p = 3;
  std::vector<Floats> aims, left_out(p, Floats(all.size()));
  Floats optimum(all.size()), w(all.size()), last;
  for (std::size_t k = 0; k < p; ++k) {
    aims.push_back(normal(all.size(), static_cast<unsigned>(k) + 11));
    for (std::size_t i = 0; i < all.size(); ++i) optimum[i] += aims[k][i] / static_cast<float>(p);
  }
  const auto mean = [&](const std::vector<Floats>& parts, double factor) {
    return all.apply(Rule{"compressed_mean"}, parts, {number_of(powersgd()), factor, 1, all.scalars[0], all.scalars[1]});
  };
  for (int step = 0; step < 400; ++step) {
    std::vector<Floats> m, lefts, rights;
    for (std::size_t k = 0; k < p; ++k) {
      Floats v = minus(w, aims[k]);
      for (std::size_t i = 0; i < v.size(); ++i) v[i] += left_out[k][i];
      lefts.push_back(all.apply(*rules().left, step > 0 ? std::vector<Floats>{v, last} : std::vector<Floats>{v}));
      m.push_back(std::move(v));
    }
    const Floats left = all.apply(*rules().orthogonal, {mean(lefts, 1)});
    for (std::size_t k = 0; k < p; ++k) {
      rights.push_back(all.apply(*rules().right, {m[k], left}));
      Floats own = left;
      for (std::size_t i = 0; i < own.size(); ++i) own[i] += rights[k][i];
      left_out[k] = minus(m[k], all.product(own));
    }
    last = left;
    const Floats right = mean(rights, 2);
    for (std::size_t i = 0; i < last.size(); ++i) last[i] += right[i];
    const Floats step_along = all.product(last);
    for (std::size_t i = 0; i < w.size(); ++i) w[i] -= 0.1f * step_along[i];
  }
  CHECK(square(minus(w, optimum)) < 1e-6 * square(optimum));
}

TEST_CASE("an all-reduce in 16 bits divides first and rounds every sum; in 32 bits it sums and divides") {
  const auto mean = [](const char* name, const std::vector<Floats>& parts, bool ring) {
    const CompressorEntry& entry = Registry<CompressorEntry>::instance().at(name);
    Extent extent;
    extent.n = parts.front().size();
    std::vector<const float*> all;
    for (const Floats& part : parts) all.push_back(part.data());
    Floats out(extent.n);
    std::vector<double> scalars = {number_of(entry), 0, ring ? 1.0 : 0.0};
    if (entry.name == "random_k") scalars.insert(scalars.end(), {1.0, 0.0, 77.0});
    Registry<ElementwiseEntry>::instance().at("compressed_mean").apply(select_kernels("auto"), extent, all, scalars, out.data());
    return out;
  };
  // 2048 / 2 + 1 / 2: fp16 has steps of 1 there, ties to even. bf16 has 8 bits: 256 / 2 + 1 / 2 = 128.5 → 128.
  CHECK(mean("fp16", {{2048}, {1}}, false) == Floats{1024});
  CHECK(mean("fp16", {{2048}, {3}}, false) == Floats{1026});
  CHECK(mean("bf16", {{256}, {1}}, false) == Floats{128});
  CHECK(mean("fp16", {{65504}, {65504}}, false) == Floats{65504});  // no overflow
  // A ring of three: chunk 0 is summed from rank 0 on, chunk 1 from rank 1 on, chunk 2 from rank 2 on.
  const Floats a = {1e8f, 1e8f, 1e8f}, b = {1, 1, 1}, c = {-1e8f, -1e8f, -1e8f};
  CHECK(mean("random_k", {a, b, c}, true) == Floats{(1e8f + 1 - 1e8f) / 3, (1 - 1e8f + 1e8f) / 3, (-1e8f + 1e8f + 1) / 3});
  CHECK(mean("random_k", {a, b, c}, false) == Floats(3, (1e8f + 1 - 1e8f) / 3));
}

}  // namespace straggler::powersgd_test
