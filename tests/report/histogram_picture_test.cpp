#include "scenarios/report/histogram_picture.hpp"

#include <doctest/doctest.h>

#include "scenarios/report/picture.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using straggler::test::count;
using straggler::test::has;

TEST_CASE("histograms are drawn in panels, each from its lowest to its highest number") {
  const NamedHistogram positive{"a < b", {{0, 2}, {1, 999, 0}}}, around{"weights", {{-1, 3}, {9, 0, 0, 0}}};
  const std::string picture = histogram_picture("a < b & c", {positive, around});
  CHECK(SvgPicture::is_standalone(picture));
  CHECK(has(picture, "a &lt; b &amp; c"));
  CHECK(has(picture, ">a &lt; b</text>"));
  CHECK(count(picture, "<polygon ") == 2);
  CHECK(count(picture, "class=\"ideal\"") == 1);  // zero lies inside of the second alone
  CHECK(has(picture, ">highest bar 999</text>"));
  // The first panel has bars from 28 to 240, a third each, above 156. The highest takes 94; log10(1 + 1) / log10(1 + 999) is 0.1003 of it.
  CHECK(has(picture, "\"28.00,156.00 28.00,146.57 98.67,146.57 98.67,62.00 169.33,62.00 169.33,156.00 240.00,156.00 240.00,156.00\""));
}

TEST_CASE("a histogram without numbers is drawn flat") {
  CHECK(count(histogram_picture("none", {{"empty", {{0, 1}, {0, 0}}}}), "<polygon ") == 1);
}
