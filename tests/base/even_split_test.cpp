#include "sim/base/even_split.hpp"

#include <doctest/doctest.h>

#include <cstdint>

using straggler::EvenSplit;

TEST_CASE("ten things over four parts: 3, 3, 2, 2") {
  const auto split = EvenSplit<int>::of(10, 4);
  CHECK(split.size(0) == 3);
  CHECK(split.size(1) == 3);
  CHECK(split.size(2) == 2);
  CHECK(split.size(3) == 2);
  CHECK(split.begin(0) == 0);
  CHECK(split.begin(1) == 3);
  CHECK(split.begin(2) == 6);
  CHECK(split.begin(3) == 8);
  CHECK(split.begin(4) == 10);
}

TEST_CASE("parts lie one behind the other, differ by one thing at most, and know their things") {
  for (std::uint64_t total = 0; total <= 30; ++total)
    for (std::uint64_t parts = 1; parts <= 12; ++parts) {
      CAPTURE(total);
      CAPTURE(parts);
      const auto split = EvenSplit<std::uint64_t>::of(total, parts);
      std::uint64_t at = 0;
      for (std::uint64_t part = 0; part < parts; ++part) {
        CHECK(split.begin(part) == at);
        CHECK((split.size(part) == total / parts || split.size(part) == total / parts + 1));
        if (part > 0) CHECK(split.size(part) <= split.size(part - 1));
        for (std::uint64_t i = 0; i < split.size(part); ++i) CHECK(split.part_of(at++) == part);
      }
      CHECK(at == total);
      CHECK(split.begin(parts) == total);
    }
}
