// What compressors make of vectors, on every kernel set: their laws, and that a message is read as it was written.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "models/compression/compressor.hpp"
#include "models/rules/elementwise.hpp"
#include "sim/base/registry.hpp"
#include "tests/compression/compression_vectors.hpp"

namespace compression_test {

using namespace straggler;

namespace {

using Floats = std::vector<float>;

const CompressorEntry& top_k() { return Registry<CompressorEntry>::instance().at("top_k"); }

std::vector<double> scalars_of(const CompressorEntry& entry, const Parameters& given = {}) {
  return entry.scalars(complete(entry.parameters, given));
}

Floats apply(std::string_view kernel_set, std::string_view rule, const std::vector<Floats>& inputs,
             const std::vector<double>& scalars = {}) {
  std::vector<const float*> all;
  for (const Floats& input : inputs) all.push_back(input.data());
  Floats out(inputs.front().size());
  Registry<ElementwiseEntry>::instance().at(rule).apply(select_kernels(kernel_set), Extent{out.size()}, all, scalars, out.data());
  return out;
}

double square(const Floats& v) {
  double sum = 0;
  for (const float x : v) sum += static_cast<double>(x) * x;
  return sum;
}

Floats difference(const Floats& a, const Floats& b) {
  Floats out(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) out[i] = a[i] - b[i];
  return out;
}

bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Of a kind that gradients are: many small values, few large ones, exact zeros and equal magnitudes among them.
Floats gradient_like(std::size_t d, std::mt19937& chance) {
  std::normal_distribution<float> draw(0, 1);
  Floats v(d);
  for (float& x : v) {
    x = draw(chance) * std::exp2(static_cast<float>(chance() % 24) - 12);
    if (chance() % 8 == 0) x = 0;
    if (chance() % 8 == 1) x = chance() % 2 ? 0.5f : -0.5f;
  }
  return v;
}

}  // namespace

TEST_CASE("top-k keeps the k values of largest magnitude; of equal ones the first") {
  for (const std::string_view set : available_kernels()) {
    CAPTURE(set);
    const Floats v = {1, -3, 2, 3, -2, 0, 2};
    CHECK(same_bits(apply(set, "top_k", {v}, {1.0 / 7}), {0, -3, 0, 0, 0, 0, 0}));
    CHECK(same_bits(apply(set, "top_k", {v}, {2.0 / 7}), {0, -3, 0, 3, 0, 0, 0}));
    CHECK(same_bits(apply(set, "top_k", {v}, {4.0 / 7}), {0, -3, 2, 3, -2, 0, 0}));
    CHECK(same_bits(apply(set, "top_k", {v}, {1e-9}), {0, -3, 0, 0, 0, 0, 0}));  // one at least
    CHECK(same_bits(apply(set, "top_k", {v}, {1.0}), v));
  }
}

TEST_CASE("top-k sends infinities and NaN first, and keeps none of them back") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const Floats v = {1, -inf, 1e38f, nan};
  for (const std::string_view set : available_kernels()) {
    const Floats q = apply(set, "top_k", {v}, {0.5});
    CHECK(q[0] == 0);
    CHECK(q[1] == -inf);
    CHECK(q[2] == 0);
    CHECK(std::isnan(q[3]));
    CHECK(same_bits(apply(set, "residual", {v, q}), {1, 0, 1e38f, 0}));
  }
}

TEST_CASE("top-k agrees with a sort by magnitude, then by index") {
  std::mt19937 chance(1);
  for (int draw = 0; draw < 40; ++draw) {
    const std::size_t d = 1 + chance() % 3000;
    const double fraction = static_cast<double>(1 + chance() % 1000) / 1000;
    const Floats v = gradient_like(d, chance);
    std::vector<std::size_t> order(d);
    for (std::size_t i = 0; i < d; ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return std::abs(v[a]) > std::abs(v[b]); });
    const auto k = static_cast<std::size_t>(std::max(1.0, std::round(fraction * static_cast<double>(d))));
    Floats expected(d);
    for (std::size_t i = 0; i < k; ++i) expected[order[i]] = v[order[i]];
    for (const std::string_view set : available_kernels()) CHECK(same_bits(apply(set, "top_k", {v}, {fraction}), expected));
    CHECK(top_k().bytes({fraction}, {d}) == 8 * k);
  }
}

TEST_CASE("top-k contracts: |C(v) - v|^2 is at most (1 - k/d) |v|^2") {
  std::mt19937 chance(2);
  for (int draw = 0; draw < 100; ++draw) {
    const std::size_t d = 10 + chance() % 1000;
    const double fraction = static_cast<double>(1 + chance() % 100) / 100;
    const Floats v = gradient_like(d, chance), q = apply("auto", "top_k", {v}, {fraction});
    const double k = static_cast<double>(top_k().bytes({fraction}, {d})) / 8;
    CHECK(square(difference(q, v)) <= (1 - k / static_cast<double>(d)) * square(v) * (1 + 1e-12));
  }
}

TEST_CASE("every compressor: with error feedback the sent parts and the residual add up to the whole") {
  std::mt19937 chance(3);
  for (const CompressorEntry& entry : Registry<CompressorEntry>::instance().entries()) {
    if (!entry.rule) continue;
    CAPTURE(entry.name);
    std::vector<double> scalars = scalars_of(entry);
    if (entry.draws != Draws::none) scalars.push_back(0);
    const std::size_t d = 500;
    std::vector<double> there(d), sent(d), magnitude(d);
    Floats left;
    for (int message = 0; message < 60; ++message) {
      const Floats v = gradient_like(d, chance);
      std::vector<Floats> inputs = {v};
      if (message > 0) inputs.push_back(left);
      if (entry.draws != Draws::none) scalars.back() = draw_number(1, Rank{0}, static_cast<std::uint64_t>(message));
      const Floats q = apply("auto", entry.rule->name, inputs, scalars);
      inputs.insert(inputs.begin() + 1, q);
      left = apply("auto", "residual", inputs);
      for (std::size_t i = 0; i < d; ++i) {
        there[i] += v[i];
        sent[i] += q[i];
        magnitude[i] += std::abs(v[i]) + std::abs(q[i]) + std::abs(left[i]);
      }
    }
    for (std::size_t i = 0; i < d; ++i) CHECK(std::abs(sent[i] + left[i] - there[i]) <= 1e-7 * magnitude[i]);
  }
}

TEST_CASE("every compressor: a message has its bytes, and is read to the bits that were written") {
  std::mt19937 chance(4);
  for (const CompressorEntry& entry : Registry<CompressorEntry>::instance().entries()) {
    if (!entry.rule) continue;
    CAPTURE(entry.name);
    CHECK(!entry.formula.empty());
    CHECK(!entry.message.empty());
    CHECK(!entry.reference.empty());
    std::vector<double> scalars = scalars_of(entry);
    if (entry.draws != Draws::none) scalars.push_back(draw_number(1, Rank{2}, 3));
    for (const std::size_t d : {1u, 2u, 99u, 1000u}) {
      Floats v = gradient_like(d, chance);
      if (d > 2) v[1] = std::numeric_limits<float>::quiet_NaN();
      if (d > 2) v[2] = -0.0f;
      const Floats q = apply("auto", entry.rule->name, {v}, scalars);
      const std::vector<std::byte> message = entry.encode(scalars, {d}, q);
      CHECK(test::has_stated_bytes(entry, scalars, {d}, q, message));
      Floats read(d, 7.0f);
      entry.decode(scalars, {d}, message, read);
      CHECK(same_bits(read, q));
      CHECK_THROWS_AS(entry.decode(scalars, {d}, std::span(message).first(message.size() - 1), read), std::logic_error);
    }
  }
}

TEST_CASE("top-k of many values agrees with sorting, for any sample") {
  std::mt19937 chance(5);
  const std::size_t d = 70'001;
  Floats rising(d), few(d), equal(d, 1.0f), periodic(d);
  for (std::size_t i = 0; i < d; ++i) {
    rising[i] = static_cast<float>(i);
    few[i] = i % 9000 == 17 ? -3.0f : 0.0f;
    periodic[i] = i % (d / 16384) == 0 ? 100.0f + static_cast<float>(i % 7) : static_cast<float>(i % 5);
  }
  for (const Floats& v : {gradient_like(d, chance), rising, few, equal, periodic}) {
    std::vector<std::size_t> order(d);
    for (std::size_t i = 0; i < d; ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return std::abs(v[a]) > std::abs(v[b]); });
    for (const std::size_t k : {std::size_t{1}, std::size_t{70}, std::size_t{700}, std::size_t{7000}, std::size_t{69'000}, d}) {
      CAPTURE(k);
      Floats expected(d);
      for (std::size_t i = 0; i < k; ++i) expected[order[i]] = v[order[i]];
      const double fraction = static_cast<double>(k) / static_cast<double>(d);
      for (const std::string_view set : available_kernels()) CHECK(same_bits(apply(set, "top_k", {v}, {fraction}), expected));
    }
  }
}

TEST_CASE("top-k: a message of zeros only, a kept negative zero, and values that no message holds") {
  const Floats zeros(10), negative = {-0.0f, 0, 0};
  Floats read(10, 1.0f);
  top_k().decode({0.3}, {10}, top_k().encode({0.3}, {10}, zeros), read);
  CHECK(same_bits(read, zeros));
  Floats three(3, 1.0f);
  top_k().decode({1.0}, {3}, top_k().encode({1.0}, {3}, negative), three);
  CHECK(same_bits(three, negative));
  CHECK_THROWS_AS(top_k().encode({0.3}, {10}, Floats(10, 1.0f)), std::logic_error);
  std::vector<std::byte> message = top_k().encode({0.3}, {10}, zeros);
  message[3] = std::byte{0x7f};
  CHECK_THROWS_AS(top_k().decode({0.3}, {10}, message, read), std::logic_error);
}

}  // namespace compression_test
