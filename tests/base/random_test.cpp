#include "sim/base/random.hpp"

#include <Random123/philox.h>
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace straggler;

TEST_CASE("a stream follows from seed, name and index alone") {
  RandomStream a(1, "worker/3/compute", 5), b(1, "worker/3/compute", 5);
  RandomStream keyed(RandomStream::stream_key(1, "worker/3/compute"), 5);
  for (int i = 0; i < 100; ++i) {
    const std::uint32_t drawn = a();
    CHECK(drawn == b());
    CHECK(drawn == keyed());
  }
}

TEST_CASE("another seed, name or index is another stream") {
  const auto first = [](RandomStream stream) { return stream.uniform(); };
  const double base = first(RandomStream(1, "worker/3/compute", 5));
  CHECK(base != first(RandomStream(2, "worker/3/compute", 5)));
  CHECK(base != first(RandomStream(1, "worker/4/compute", 5)));
  CHECK(base != first(RandomStream(1, "worker/3/compute", 6)));
}

TEST_CASE("uniform numbers have mean 1/2 and variance 1/12") {
  RandomStream random(3, "tests/base/uniform");
  const int n = 100'000;
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double x = random.uniform();
    REQUIRE(x >= 0);
    REQUIRE(x < 1);
    sum += x;
    squares += (x - 0.5) * (x - 0.5);
  }
  // Five standard errors: of the mean sqrt(1/12 / n), of the variance sqrt((1/80 - 1/144) / n).
  CHECK(std::fabs(sum / n - 0.5) < 5 * std::sqrt(1.0 / 12 / n));
  CHECK(std::fabs(squares / n - 1.0 / 12) < 5 * std::sqrt((1.0 / 80 - 1.0 / 144) / n));
}

TEST_CASE("below is uniform over its range") {
  RandomStream random(3, "tests/base/below");
  const std::uint64_t bound = 10;
  const int n = 100'000;
  std::vector<int> seen(bound);
  for (int i = 0; i < n; ++i) {
    const std::uint64_t drawn = random.below(bound);
    REQUIRE(drawn < bound);
    ++seen[drawn];
  }
  double chi = 0;
  const double expected = static_cast<double>(n) / bound;
  for (const int count : seen) chi += (count - expected) * (count - expected) / expected;
  CHECK(chi < 33.7);  // 99.99 % quantile of chi-squared with 9 degrees of freedom
  CHECK(random.below(1) == 0);
}

TEST_CASE("draws are those of Random123's Philox4x32") {
  RandomStream keys(7, "tests/base/keys");
  for (int stream = 0; stream < 200; ++stream) {
    const auto wide = [&] { return static_cast<std::uint64_t>(keys()) << 32 | keys(); };
    const std::uint64_t key = wide(), index = wide();
    RandomStream ours(key, index);
    for (std::uint32_t block = 0; block < 5; ++block) {
      // The counter: the block's number, then the index; both, and the key, from their low halves on.
      const r123::Philox4x32::ctr_type counter = {{block, 0, static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32)}};
      const r123::Philox4x32::key_type half = {{static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)}};
      const r123::Philox4x32::ctr_type theirs = r123::Philox4x32()(counter, half);
      for (unsigned i = 0; i < 4; ++i) CHECK(ours() == theirs[i]);
    }
  }
}

TEST_CASE("the first block of zeros is the published one") {
  // Random123's known answers (tests/kat_vectors): philox4x32 10, counter and key 0.
  RandomStream zeros(std::uint64_t{0}, 0);
  for (const std::uint32_t known : {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}) CHECK(zeros() == known);
}
