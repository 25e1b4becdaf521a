// Neighbours of words whose vectors are known.
#include <doctest/doctest.h>

#include <cmath>

#include "models/data/dataset.hpp"
#include "scenarios/results/word_vectors.hpp"

using namespace straggler;

TEST_CASE("nearest words: by the cosine, for any lengths; equals by frequency; a vector of zeros is no word's neighbour") {
  const WordVectors vectors{
      {{"east", "north", "far_north_east", "west", "zero", "east_too"}, {9, 8, 7, 6, 5, 4}}, 2, {1, 0, 0, 2, 30, 30, -1, 0, 0, 0, 5, 0}};
  const std::vector<Neighbour> near = nearest_words(vectors, 0, 10);
  REQUIRE(near.size() == 4);
  CHECK(near[0].word == 5);
  CHECK(near[0].cosine == doctest::Approx(1));
  CHECK(near[1].word == 2);
  CHECK(near[1].cosine == doctest::Approx(std::sqrt(0.5)));
  CHECK(near[2].word == 1);
  CHECK(near[2].cosine == doctest::Approx(0));
  CHECK(near[3].word == 3);
  CHECK(near[3].cosine == doctest::Approx(-1));
  // From north: far_north_east, then east and east_too, equal at 0, and west at 0 too.
  const std::vector<Neighbour> three = nearest_words(vectors, 1, 3);
  REQUIRE(three.size() == 3);
  CHECK(three[0].word == 2);
  CHECK(three[1].word == 0);
  CHECK(three[2].word == 3);
  CHECK(nearest_words(vectors, 4, 3).empty());
  CHECK(word_number(vectors, "west") == 3);
  CHECK_THROWS_WITH_AS(word_number(vectors, "wets"), doctest::Contains("did you mean 'west'?"), DataError);
}
