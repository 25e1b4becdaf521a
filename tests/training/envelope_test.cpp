// What each payload moves: its parts, their order, and their bytes.
#include "sim/training/envelope.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace straggler;

namespace envelope_test {

namespace {

using Kind = Part::Kind;
constexpr std::uint64_t model = 400, state = 800, statistics = 40;
constexpr WireBytes plain{model, state, 0}, with_statistics{model, state, statistics};

Handle vector(std::uint64_t number) { return Handle(Key{number, 1}); }

struct Expected {
  std::uint64_t main, right_factors, statistics;
  bool operator==(const Expected&) const = default;
};

/// A part of no bytes is left out, except the main one, which is the first.
Expected parts_of(const WireBytes& bytes, const Payload& payload) {
  Expected found{};
  std::vector<Kind> order;
  for (const Part& part : bytes.parts_of(payload)) {
    order.push_back(part.kind);
    (part.kind == Kind::main ? found.main : part.kind == Kind::right_factors ? found.right_factors : found.statistics) = part.bytes;
    CHECK((part.bytes > 0 || part.kind == Kind::main));
  }
  REQUIRE(!order.empty());
  CHECK(order.front() == Kind::main);
  CHECK(std::ranges::is_sorted(order));
  CHECK(bytes.all_of(payload) == found.main + found.right_factors + found.statistics);
  return found;
}

Gradient gradient_of(std::uint32_t steps) {
  Gradient gradient;
  if (steps > 0) gradient.edit().take(vector(1), Batch{0, 0, 8});
  return gradient;
}

Weights weights_with(std::size_t attached) {
  Weights weights;
  weights.edit().value = vector(2);
  for (std::size_t k = 0; k < attached; ++k) weights.edit().more.edit().attached.push_back({"state", vector(3 + k)});
  return weights;
}

}  // namespace

TEST_CASE("vectors, and the statistics in which each of them ends; what has no vector costs nothing") {
  CHECK(parts_of(plain, gradient_of(1)) == Expected{model, 0, 0});
  CHECK(parts_of(with_statistics, gradient_of(1)) == Expected{model, 0, statistics});
  CHECK(parts_of(with_statistics, gradient_of(0)) == Expected{0, 0, 0});
  CHECK(parts_of(with_statistics, weights_with(0)) == Expected{model, 0, statistics});
  CHECK(parts_of(with_statistics, weights_with(2)) == Expected{model + 2 * state, 0, 3 * statistics});
  CHECK(parts_of(with_statistics, Token{7, 24}) == Expected{24, 0, 0});
  CHECK(parts_of(with_statistics, MembershipNotice()) == Expected{0, 0, 0});
  Samples samples;
  samples.edit().bytes = 77;
  CHECK(parts_of(with_statistics, samples) == Expected{77, 0, 0});
}

TEST_CASE("a weight of push-sum is 8 bytes; a client that leaves sends one of the two vectors that it has kept") {
  Weights weights = weights_with(1);
  weights.edit().more.edit().push_weight = std::make_shared<PushWeight>(0.5);
  CHECK(parts_of(with_statistics, weights) == Expected{model + state + 8, 0, 2 * statistics});
  Weights kept;
  kept.edit().more.edit().about_kept.edit().kept = std::make_shared<const KeptVector>();
  CHECK(parts_of(with_statistics, kept) == Expected{state, 0, statistics});
}

TEST_CASE("the fragments of a payload add up to it, and are cut at multiples of a grain") {
  for (const std::uint64_t grain : {1, 4}) {
    const WireBytes bytes{model + 8, state, 0, grain};
    std::uint64_t all = 0;
    for (std::uint32_t index = 0; index < 3; ++index) {
      Gradient gradient = gradient_of(1);
      gradient.edit().more.edit().fragment = {index, 3};
      const Expected parts = parts_of(bytes, gradient);
      CHECK(parts.main % grain == 0);
      CHECK(parts.main == (model + 8) / grain * (index + 1) / 3 * grain - (model + 8) / grain * index / 3 * grain);
      all += parts.main;
    }
    CHECK(all == model + 8);
  }
}

TEST_CASE("a compressed vector has the bytes of its form; right factors are a part of their own") {
  Gradient gradient = gradient_of(1);
  gradient.edit().more.edit().compressed = CompressedForm{.bytes = 100, .scalars = {}, .factors = nullptr, .right_bytes = 30};
  CHECK(parts_of(with_statistics, gradient) == Expected{70, 30, statistics});
  CHECK(with_statistics.spared_of(gradient) == model - 100.0);
  Weights weights = weights_with(1);
  weights.edit().more.edit().difference = std::make_shared<const WeightsDifference>(
      WeightsDifference{vector(8), vector(9), CompressedForm{.bytes = 500, .scalars = {}}, weights->value.key()});
  CHECK(parts_of(with_statistics, weights) == Expected{500 + state, 0, 2 * statistics});
  CHECK(with_statistics.spared_of(weights) == model - 500.0);  // it has grown
  CHECK(with_statistics.spared_of(weights_with(1)) == 0);
}

TEST_CASE("compression spares what an uncompressed ring all-reduce would have sent in addition") {
  Gradient gradient = gradient_of(1);
  gradient.edit().more.edit().compressed = CompressedForm{.bytes = 100, .scalars = {}};
  for (const std::size_t members : {2u, 5u}) {
    const double p = static_cast<double>(members), ring = 2 * (p - 1) / p * model;
    // Summed: 2 (p - 1) / p of 100 bytes; gathered: p - 1 messages of 100 bytes.
    const double summed = 2 * (p - 1) / p * 100, gathered = (p - 1) * 100;
    CHECK(with_statistics.spared_per_byte(gradient, members, false) * summed == doctest::Approx(ring - summed));
    CHECK(with_statistics.spared_per_byte(gradient, members, true) * gathered == doctest::Approx(ring - gathered));
    CHECK(with_statistics.spared_per_byte(gradient_of(1), members, true) == 0);
  }
}

}  // namespace envelope_test
