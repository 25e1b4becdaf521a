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
  CHECK(count(picture, "class=\"band\"") == 1);  // zero lies inside of the second alone
  // The highest of 1, 999 and 0 numbers is a thousand with the one that is added: the axis is logarithmic, and ends there.
  CHECK(has(picture, ">numbers, plus one (logarithmic)</text>"));
  CHECK(has(picture, ">1000</text>"));
  CHECK_FALSE(has(picture, ">2000</text>"));
}

TEST_CASE("a histogram without numbers is drawn flat") {
  CHECK(count(histogram_picture("none", {{"empty", {{0, 1}, {0, 0}}}}), "<polygon ") == 1);
}
