// The majority's direction, which a server may answer signs with.
#include <doctest/doctest.h>

#include "tests/compression/compression_vectors.hpp"

namespace straggler::vote_test {

using namespace straggler::test;

TEST_CASE("a vote is the sign that most workers send; a tie is drawn, the same for all") {
  const Compressor signs("signsgd");
  const std::vector<double> scalars = signs.scalars_of(4);
  const bool votes = signs.entry->vote != nullptr;
  REQUIRE(votes);
  const Rule* const rule = signs.entry->vote(scalars);
  REQUIRE(rule);
  const auto vote = [&](const std::vector<Floats>& parts) { return apply("auto", rule->name, parts, scalars); };
  const Floats a = {1, 1, 1, -1, -1, -1}, b = {1, 1, -1, 1, -1, -1}, c = {1, -1, -1, -1, 1, -1};
  CHECK(vote({a, b, c}) == Floats{1, 1, -1, -1, -1, -1});
  CHECK(vote({b}) == b);
  const Floats tied = vote({a, b});
  for (const std::size_t i : {2u, 3u}) CHECK(std::abs(tied[i]) == 1);
  CHECK(tied == Floats{1, 1, tied[2], tied[3], -1, -1});
  CHECK(tied == vote({b, a}));
  // Zeros abstain; where all do, nothing is decided.
  CHECK(vote({{0, 0, 1, -1, 0, 0}, {0, 1, 0, 0, -1, 0}, {0, 0, 0, -1, 0, 0}}) == Floats{0, 1, 1, -1, -1, 0});
  CHECK(vote({a, b, Floats(6)}) == tied);
  // A vote is written as a message is, with a second row of bits where there are zeros.
  for (const Floats& decided : {tied, Floats{1, 0, -1, 0, 1, 1}}) {
    const std::vector<std::byte> message = signs.entry->encode(scalars, {6}, decided);
    CHECK(message.size() == (decided == tied ? 1 : 3));
    Floats read(6);
    signs.entry->decode(scalars, {6}, message, read);
    CHECK(read == decided);
  }
  Parameters feedback;
  feedback.set("error_feedback", true);
  CHECK(!signs.entry->vote(Compressor("signsgd", feedback).scalars_of(4)));
}

TEST_CASE("ties are decided either way, half of them each, by the draw and the coordinate alone") {
  const std::size_t d = 10'000;
  const Compressor signs("signsgd");
  const auto tied = [&](std::uint64_t draw) {
    const std::vector<double> scalars = signs.scalars_of(draw);
    return apply("auto", signs.entry->vote(scalars)->name, {Floats(d, 1.0f), Floats(d, -1.0f)}, scalars);
  };
  double positive = 0, agree = 0, neighbours = 0;
  const Floats one = tied(1), other = tied(2);
  for (std::size_t i = 0; i < d; ++i) {
    positive += one[i] > 0 ? 1 : 0;
    agree += one[i] == other[i] ? 1 : 0;
    neighbours += one[i] == one[(i + 1) % d] ? 1 : 0;
  }
  const double five_errors = 5 * std::sqrt(static_cast<double>(d)) / 2;
  for (const double count : {positive, agree, neighbours}) CHECK(std::abs(count - static_cast<double>(d) / 2) <= five_errors);
}

}  // namespace straggler::vote_test
