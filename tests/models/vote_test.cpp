// The majority's direction, which a server may answer signs with.
#include <doctest/doctest.h>

#include "models/compression_vectors.hpp"

namespace straggler::vote_test {

using namespace straggler::test;

TEST_CASE("a vote is the sign that most of three workers send; a tie is drawn, the same for all") {
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
  // Two who disagree: the bit that a zero gets.
  const Floats tied = vote({a, b}), of_zeros = signs(Floats(6), 4);
  CHECK(tied == Floats{1, 1, of_zeros[2], of_zeros[3], -1, -1});
  CHECK(tied == vote({b, a}));
  // A vote is written as a message is.
  const std::vector<std::byte> message = signs.entry->encode(scalars, {6}, tied);
  CHECK(message.size() == 1);
  Floats read(6);
  signs.entry->decode(scalars, {6}, message, read);
  CHECK(read == tied);
  Parameters feedback;
  feedback.set("error_feedback", true);
  CHECK(!signs.entry->vote(Compressor("signsgd", feedback).scalars_of(4)));
}

}  // namespace straggler::vote_test
