// The laws of compressors: what they make of vectors by hand, that the unbiased ones have the mean and the variance of their papers, and
// how far the others are off at most.
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "tests/compression/compression_vectors.hpp"

namespace straggler::test::compression_laws_test {
namespace {

/// Of one coordinate of an unbiased compressor: the variance, and how far a draw may be off.
struct Spread {
  double variance = 0, reach = 0;
};

constexpr int draws = 4000;

Floats normal_values(std::size_t d, unsigned seed) {
  std::mt19937 chance(seed);
  std::normal_distribution<float> draw(0, 1);
  Floats v(d);
  for (float& x : v) x = draw(chance) * draw(chance);
  v[d / 2] = 0;
  return v;
}

/// Means of every coordinate, of |q - v|², and of (Σ (q - v))², over many draws.
void check_unbiased(const Compressor& compressor, const Floats& v, std::span<const TensorInfo> tensors, const std::vector<Spread>& spread,
                    bool independent) {
  const std::size_t d = v.size();
  std::vector<double> sum(d);
  double squares = 0, squares_squared = 0, totals = 0, variance = 0;
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    const Floats q = compressor(v, draw, tensors);
    double square_error = 0, total = 0;
    for (std::size_t i = 0; i < d; ++i) {
      const double error = static_cast<double>(q[i]) - v[i];
      sum[i] += error;
      square_error += error * error;
      total += error;
    }
    squares += square_error;
    squares_squared += square_error * square_error;
    totals += total * total;
  }
  for (std::size_t i = 0; i < d; ++i) {
    CAPTURE(i);
    variance += spread[i].variance;
    // Bernstein's inequality: five standard errors, and for what happens in few draws a few of those.
    CHECK(std::abs(sum[i] / draws) <= 5 * std::sqrt(spread[i].variance / draws) + 5 * spread[i].reach / draws);
  }
  const double mean = squares / draws, error = std::sqrt((squares_squared / draws - mean * mean) / draws);
  CHECK(std::abs(mean - variance) <= 5 * error + 1e-4 * variance);
  // A sum of many has a kurtosis near three.
  if (independent) CHECK(std::abs(totals / draws - variance) <= 5 * variance * std::sqrt(2.0 / draws));
}

double sum_of(const std::vector<Spread>& spread) {
  double sum = 0;
  for (const Spread& each : spread) sum += each.variance;
  return sum;
}

}  // namespace

TEST_CASE("halves: the nearest number of the format, ties to even") {
  for (const std::string_view set : available_kernels()) {
    const Floats v = {1 + 0x1p-11f, 1 + 3 * 0x1p-11f, 65'519, 65'520, -0x1p-25f, 0x1.8p-25f, -0.0f};
    CHECK(same_bits(Compressor("fp16")(v, 0, {}, set), {1, 1 + 0x1p-9f, 65'504, INFINITY, -0.0f, 0x1p-24f, -0.0f}));
    const Floats w = {1 + 0x1p-8f, 1 + 3 * 0x1p-8f, 3e38f, 0x1p-133f, 0x1p-134f};
    const Floats q = Compressor("bf16")(w, 0, {}, set);
    CHECK(same_bits({q[0], q[1], q[3], q[4]}, {1, 1 + 0x1p-6f, 0x1p-133f, 0}));
    CHECK(std::abs(q[2] - w[2]) <= 0x1p-8f * w[2]);
  }
}

TEST_CASE("int8: the nearest of 255 steps of each tensor, ties to even; the largest gives itself") {
  const std::vector<TensorInfo> tensors = tensors_of_sizes({7, 3, 2});
  for (const std::string_view set : available_kernels()) {
    const Floats v = {127, -1, 0.5f, 1.5f, 2.5f, -127, -0.3f, 0.1f, -0.7f, 0, 0, -0.0f};
    const Floats q = Compressor("int8")(v, 0, tensors, set);
    CHECK(same_bits({q.begin(), q.begin() + 7}, {127, -1, 0, 2, 2, -127, 0}));
    CHECK(same_bits({q.begin() + 7, q.end()}, {18 * (0.7f / 127), -0.7f, 0, 0, 0}));
  }
}

TEST_CASE("signs: one or minus one; with error feedback the mean magnitude of each tensor") {
  const std::vector<TensorInfo> tensors = tensors_of_sizes({3, 2});
  const Floats v = {1, -2, 6, -0.5f, 0.25f};
  for (const std::string_view set : available_kernels()) {
    CHECK(same_bits(Compressor("signsgd", {{"error_feedback", false}})(v, 0, tensors, set), {1, -1, 1, -1, 1}));
    CHECK(same_bits(Compressor("signsgd", {{"error_feedback", true}})(v, 0, tensors, set), {3, -3, 3, -0.375f, 0.375f}));
  }
}

TEST_CASE("signs of zeros and of NaN are zero, and no zero is negative") {
  const std::vector<TensorInfo> tensors = tensors_of_sizes({5, 2, 2});
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const Floats v = {3, 0, -0.0f, -nan, -1, 0, -0.0f, inf, -inf};
  for (const std::string_view set : available_kernels()) {
    CHECK(same_bits(Compressor("signsgd", {{"error_feedback", false}})(v, 0, tensors, set), {1, 0, 0, 0, -1, 0, 0, 1, -1}));
    // The mean magnitude of finite values, which are 0 in the last two tensors.
    CHECK(same_bits(Compressor("signsgd", {{"error_feedback", true}})(v, 0, tensors, set), {0.8f, 0, 0, 0, -0.8f, 0, 0, 0, 0}));
  }
}

TEST_CASE("random-k: every set of k is as likely as any other, and the same for all vectors") {
  const Compressor two("random_k", {{"fraction", 0.4}});
  std::map<std::set<std::size_t>, int> counts;
  for (std::uint64_t draw = 0; draw < 10'000; ++draw) {
    const Floats q = two({1, 2, 3, 4, 5}, draw), again = two({-1, 7, 9, 2, 1e-9f}, draw);
    std::set<std::size_t> kept;
    for (std::size_t i = 0; i < 5; ++i) {
      CHECK((q[i] == 0) == (again[i] == 0));
      if (q[i] != 0) kept.insert(i);
    }
    CHECK(kept.size() == 2);
    ++counts[kept];
  }
  CHECK(counts.size() == 10);
  for (const auto& [kept, count] : counts) CHECK(std::abs(count - 1000) <= 5 * 30);  // √(10,000 · 0.1 · 0.9)
}

TEST_CASE("random-k is unscaled with error feedback, and unbiased without: E|C(v) - v|^2 = (d/k - 1) |v|^2") {
  const Floats v = normal_values(300, 1);
  const Floats kept = Compressor("random_k", {{"fraction", 0.2}})(v, 5);
  const Compressor scaled("random_k", {{"fraction", 0.2}, {"error_feedback", false}});
  const Floats larger = scaled(v, 5);
  for (std::size_t i = 0; i < v.size(); ++i) {
    CHECK((kept[i] == 0 || kept[i] == v[i]));
    CHECK(larger[i] == 5 * kept[i]);
  }
  std::vector<Spread> spread;
  for (const float x : v) spread.push_back({4.0 * x * x, 4.0 * std::abs(x)});
  CHECK(std::abs(sum_of(spread) - 4 * square(v)) <= 1e-9 * square(v));
  check_unbiased(scaled, v, {}, spread, false);
}

TEST_CASE("terngrad is unbiased: E|C(v) - v|^2 = s |v|_1 - |v|^2 a tensor, coordinates independent") {
  const std::vector<std::size_t> sizes = {200, 99, 1};
  const Floats v = normal_values(300, 2);
  std::vector<Spread> spread;
  for (std::size_t begin = 0, t = 0; t < sizes.size(); begin += sizes[t++]) {
    double most = 0;
    for (std::size_t i = begin; i < begin + sizes[t]; ++i) most = std::max<double>(most, std::abs(v[i]));
    for (std::size_t i = begin; i < begin + sizes[t]; ++i) spread.push_back({std::abs(v[i]) * (most - std::abs(v[i])), most});
  }
  check_unbiased(Compressor("terngrad"), v, tensors_of_sizes(sizes), spread, true);
}

TEST_CASE("qsgd is unbiased: E|C(v) - v|^2 is at most min(n/s^2, sqrt(n)/s) |v|^2 a bucket, coordinates independent") {
  const Floats v = normal_values(300, 3);
  for (const std::int64_t levels : {1, 3, 15, 127})
    for (const std::int64_t bucket : {64, 512}) {
      CAPTURE(levels);
      CAPTURE(bucket);
      const auto s = static_cast<double>(levels);
      std::vector<Spread> spread;
      for (std::size_t begin = 0; begin < v.size();) {
        const std::size_t end = std::min(v.size(), begin + static_cast<std::size_t>(bucket));
        const Floats part(v.begin() + static_cast<std::ptrdiff_t>(begin), v.begin() + static_cast<std::ptrdiff_t>(end));
        const double unit = std::sqrt(square(part)) / s, n = static_cast<double>(part.size());
        const std::size_t first = spread.size();
        double variance = 0;
        for (const float x : part) {
          const double up = std::abs(x) / unit - std::floor(std::abs(x) / unit);
          spread.push_back({unit * unit * up * (1 - up), unit});
          variance += spread.back().variance;
        }
        CHECK(variance <= std::min(n / (s * s), std::sqrt(n) / s) * square(part));
        CHECK(spread.size() == first + part.size());
        begin = end;
      }
      check_unbiased(Compressor("qsgd", {{"levels", levels}, {"bucket", bucket}}), v, {}, spread, true);
    }
}

TEST_CASE("qsgd with one level is terngrad's law with the norm for the largest; each worker and message draws again") {
  const Floats v = normal_values(300, 4);
  const Compressor one("qsgd", {{"levels", std::int64_t{1}}});
  const double norm = std::sqrt(square(v));
  for (const float x : one(v, 3)) CHECK((x == 0 || std::abs(std::abs(x) / norm - 1) <= 1e-6));
  CHECK(!same_bits(one(v, 3), one(v, 4)));
  CHECK(same_bits(one(v, 3), one(v, 3)));
}

TEST_CASE("biased compressors are no further off than their laws say") {
  std::mt19937 chance(10);
  for (int draw = 0; draw < 30; ++draw) {
    const std::vector<std::size_t> sizes = {1 + chance() % 500, 1 + chance() % 500};
    const std::vector<TensorInfo> tensors = tensors_of_sizes(sizes);
    const Floats v = gradient_like(sizes[0] + sizes[1], chance);
    const Floats half = Compressor("fp16")(v), brain = Compressor("bf16")(v), eight = Compressor("int8")(v, 0, tensors),
                 sign = Compressor("signsgd", {{"error_feedback", true}})(v, 0, tensors), few = Compressor("random_k")(v);
    CHECK(square(difference(half, v)) <= 0x1p-22 * square(v) + 0x1p-50 * static_cast<double>(v.size()));
    CHECK(square(difference(brain, v)) <= 0x1p-16 * square(v));
    CHECK(square(difference(few, v)) <= square(v));
    for (std::size_t begin = 0, t = 0; t < sizes.size(); begin += sizes[t++]) {
      const auto part = [&](const Floats& of) {
        return Floats(of.begin() + static_cast<std::ptrdiff_t>(begin), of.begin() + static_cast<std::ptrdiff_t>(begin + sizes[t]));
      };
      const auto n = static_cast<double>(sizes[t]);
      double most = 0, all = 0, signs = 0;
      for (const float x : part(v)) {
        most = std::max<double>(most, std::abs(x));
        all += std::abs(static_cast<double>(x));
        signs += x != 0 ? 1 : 0;
      }
      const double whole = square(part(v));
      for (const float x : difference(part(eight), part(v))) CHECK(std::abs(x) <= most / 254 * (1 + 1e-4));
      // Each of the values that have a sign arrives as m = |v|_1 / n: Σ (|v_i| - m)².
      const double left = square(difference(part(sign), part(v)));
      CHECK(std::abs(left - (whole - 2 * all * all / n + signs * (all / n) * (all / n))) <= 1e-5 * whole);
      CHECK(left <= whole - all * all / n + 1e-5 * whole);
      CHECK(left <= whole * (1 - 1 / n) + 1e-5 * whole);
    }
  }
}

}  // namespace straggler::test::compression_laws_test
