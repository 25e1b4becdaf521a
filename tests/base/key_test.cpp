#include "sim/base/key.hpp"

#include <doctest/doctest.h>

#include <unordered_set>

using namespace straggler;

TEST_CASE("a key depends on the hashed values and their order") {
  const auto key = [](auto... parts) {
    Hasher hasher;
    (hasher.add(parts), ...);
    return hasher.key();
  };
  using Word = std::uint64_t;
  CHECK(key(Word{1}, Word{2}) == key(Word{1}, Word{2}));
  CHECK(key(Word{1}, Word{2}) != key(Word{2}, Word{1}));
  CHECK(key(Word{1}) != key(Word{1}, Word{0}));
  CHECK(key(std::string_view("ab"), std::string_view("c")) != key(std::string_view("a"), std::string_view("bc")));
  CHECK(key(std::string_view("a")) != key(std::string_view("a\0", 2)));
  CHECK(key(0.0) != key(-0.0));  // bits, not values
}

TEST_CASE("keys of a million small numbers differ") {
  std::unordered_set<Key, KeyHash> seen;
  for (std::uint64_t i = 0; i < 1'000'000; ++i) seen.insert(Hasher().add(i).key());
  CHECK(seen.size() == 1'000'000);
}

TEST_CASE("flipping one bit of memory flips about half of the key") {
  unsigned char data[19] = {};
  const Key before = Hasher().add_bytes(data, sizeof data).key();
  for (std::size_t bit = 0; bit < 8 * sizeof data; ++bit) {
    data[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
    const Key after = Hasher().add_bytes(data, sizeof data).key();
    data[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
    // The last three bytes are one word; the count of differing bits is binomial(128, 1/2): six standard deviations are 34.
    const int differing = __builtin_popcountll(before.high ^ after.high) + __builtin_popcountll(before.low ^ after.low);
    CHECK(differing > 30);
    CHECK(differing < 98);
  }
}

TEST_CASE("a key prints as 32 hexadecimal digits") {
  CHECK(Key{0x0123456789abcdefu, 0xfedcba9876543210u}.text() == "0123456789abcdeffedcba9876543210");
}
