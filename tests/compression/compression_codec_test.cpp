// Messages: every compressor's are read to the bits that were written, whatever was compressed; others are refused.
#include <doctest/doctest.h>

#include <array>

#include "tests/compression/compression_vectors.hpp"

namespace straggler::test::compression_codec_test {
namespace {

const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN(),
            largest = std::numeric_limits<float>::max(), smallest = std::numeric_limits<float>::denorm_min();

void check_round_trip(const Compressor& compressor, const Floats& v, std::span<const TensorInfo> tensors, std::uint64_t draw) {
  const std::vector<double> scalars = compressor.scalars_of(draw);
  const VectorLayout layout{v.size(), tensors};
  const Floats q = compressor(v, draw, tensors);
  const std::vector<std::byte> message = compressor.entry->encode(scalars, layout, q);
  REQUIRE(has_stated_bytes(*compressor.entry, scalars, layout, q, message));
  Floats read(v.size(), 7.0f);
  compressor.entry->decode(scalars, layout, message, read);
  CHECK(same_bits(read, q));
  // q is all that counts: every set of kernels makes the same, in place too.
  for (const std::string_view set : available_kernels()) CHECK(same_bits(compressor(v, draw, tensors, set), q));
}

std::vector<Compressor> compressors() {
  std::vector<Compressor> all = all_compressors();
  for (const std::int64_t levels : {1, 2, 3, 7, 8, 100, 127})
    for (const std::int64_t bucket : {1, 3, 64, 5000}) all.emplace_back("qsgd", Parameters{{"levels", levels}, {"bucket", bucket}});
  all.emplace_back("random_k", Parameters{{"fraction", 1.0}});
  return all;
}

}  // namespace

TEST_CASE("every compressor: a message has its bytes, and is read to the bits that were written") {
  std::mt19937 chance(4);
  for (const Compressor& compressor : compressors()) {
    CAPTURE(compressor.entry->name);
    CHECK(!compressor.entry->message.empty());
    CHECK(!compressor.entry->formula.empty());
    CHECK(!compressor.entry->reference.empty());
    for (const std::size_t d : {1u, 2u, 7u, 8u, 9u, 99u, 1000u, 5003u}) {
      CAPTURE(d);
      Floats v = gradient_like(d, chance);
      check_round_trip(compressor, v, {}, d);
      if (d > 2) v[1] = nan, v[2] = -0.0f;
      check_round_trip(compressor, v, {}, d);
      const std::vector<double> scalars = compressor.scalars_of(d);
      std::vector<std::byte> message = compressor.entry->encode(scalars, {d}, compressor(v, d));
      Floats read(d);
      CHECK_THROWS_AS(compressor.entry->decode(scalars, {d}, std::span(message).first(message.size() - 1), read), std::logic_error);
      message.resize(message.size() + 1);
      CHECK_THROWS_AS(compressor.entry->decode(scalars, {d}, message, read), std::logic_error);
    }
  }
}

TEST_CASE("every compressor: zeros, infinities, the largest and the smallest numbers, in tensors of odd sizes") {
  std::mt19937 chance(7);
  const std::vector<std::size_t> sizes = {5, 1, 0, 17, 2100, 64, 3};
  const std::vector<TensorInfo> tensors = tensors_of_sizes(sizes);
  std::size_t d = 0;
  for (const std::size_t size : sizes) d += size;
  const std::vector<Floats> kinds = {Floats(d),          Floats(d, -0.0f),     Floats(d, nan),   Floats(d, -inf),
                                     Floats(d, largest), Floats(d, -smallest), Floats(d, 1e-42f)};
  for (const Compressor& compressor : compressors()) {
    CAPTURE(compressor.entry->name);
    for (const Floats& v : kinds) check_round_trip(compressor, v, tensors, 1);
    for (int draw = 0; draw < 10; ++draw) {
      Floats v = gradient_like(d, chance);
      const float factor = std::array{1.0f, 1e-30f, 1e-38f, 1e-43f, 1e30f}[chance() % 5];
      for (float& x : v) x *= factor;
      for (int i = 0; i < draw; ++i) v[chance() % d] = std::array{inf, -inf, nan, -nan, largest, smallest, -0.0f}[chance() % 7];
      check_round_trip(compressor, v, tensors, static_cast<std::uint64_t>(draw));
    }
  }
}

TEST_CASE("every compressor: a vector that its rule does not make is refused") {
  std::mt19937 chance(8);
  for (const Compressor& compressor : compressors()) {
    if (compressor.entry->bytes(compressor.scalars, {1000}) >= 4000) continue;  // it makes all
    CAPTURE(compressor.entry->name);
    std::normal_distribution<float> draw(0, 1);
    Floats v(1000);
    for (float& x : v) x = draw(chance);
    CHECK_THROWS_AS(compressor.entry->encode(compressor.scalars_of(0), {1000}, v), std::logic_error);
  }
}

}  // namespace straggler::test::compression_codec_test
