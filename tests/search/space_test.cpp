#include "scenarios/search/space.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "sim/base/quantity.hpp"

namespace space_test {

using namespace straggler;

namespace {

std::string wrong(const SettingRange& range) {
  try {
    Setting::range("x", range);
  } catch (const SettingError& error) {
    return error.key + ": " + error.what();
  }
  return {};
}

std::set<std::string> values_of(const Setting& setting, int shares) {
  std::set<std::string> all;
  for (int i = 0; i <= shares; ++i) all.insert(setting.value(static_cast<double>(i) / shares).yaml);
  return all;
}

}  // namespace

TEST_CASE("a share of a range names a value, rounded; the ends are the range's own") {
  const Setting rate = Setting::range("training.optimizer.learning_rate", {"0.001", "1", true, false});
  CHECK(rate.value(0).yaml == "0.001");
  CHECK(rate.value(1).yaml == "1");
  CHECK(std::stod(rate.value(0.5).yaml) == doctest::Approx(std::sqrt(0.001 * 1)).epsilon(0.001));
  CHECK(rate.value(0.5).yaml == "0.03162");
  CHECK(rate.count() == 0);
  const Setting linear = Setting::range("x", {"0", "2", false, false});
  CHECK(linear.value(0.25).yaml == "0.5");
  CHECK(linear.value(1.0 / 3).yaml == "0.667");
  const Setting link = Setting::range("x", {"100Mbps", "100Gbps", true, false});
  CHECK(link.value(1.0 / 3).yaml == "1Gbps");
  CHECK(link.value(0.1).yaml == "199.5Mbps");  // 100 x 1000^0.1
  const Setting share = Setting::range("x", {"10%", "50%", false, false});
  CHECK(share.value(0.5).yaml == "30%");
}

TEST_CASE("whole numbers: all of them, alike often where the range is linear, never with an exponent") {
  const Setting workers = Setting::range("cluster.workers[0].count", {"1", "64", false, true});
  CHECK(workers.count() == 64);
  CHECK(values_of(workers, 6400).size() == 64);
  CHECK(workers.value(0).yaml == "1");
  CHECK(workers.value(1).yaml == "64");
  CHECK(workers.value(0.5).yaml == "33");  // the halves are 1 to 32 and 33 to 64
  const Setting logarithmic = Setting::range("x", {"1", "1000000", true, true});
  CHECK(logarithmic.value(1).yaml == "1000000");
  CHECK(logarithmic.value(0).yaml == "1");
  CHECK(Setting::range("x", {"1ms", "2s", false, true}).count() == 2000);
}

TEST_CASE("a value leads back to its share") {
  const std::vector<Setting> settings = {
      Setting::range("x", {"0.001", "1", true, false}),
      Setting::range("x", {"1", "64", false, true}),
      Setting::range("x", {"8", "4096", true, true}),
      Setting::range("x", {"10ms", "2s", false, false}),
      Setting::range("x", {"100Mbps", "100Gbps", true, false}),
      Setting::range("x", {"-3", "5", false, false}),
      Setting::choices("x", {{"ring", "{kind: ring}", {}}, {"tree", "{kind: tree}", {}}, {"star", "{kind: star}", {}}})};
  for (const Setting& setting : settings) {
    for (int i = 0; i <= 2000; ++i) {
      const std::string text = setting.value(i / 2000.0).yaml;
      REQUIRE(setting.value(setting.share(text)).yaml == text);
      if (setting.count() == 0) REQUIRE(std::abs(setting.share(text) - i / 2000.0) < 2e-3);
    }
  }
  CHECK_THROWS_AS(settings[1].share("65"), std::invalid_argument);
  CHECK_THROWS_AS(settings[6].share("{kind: mesh}"), std::invalid_argument);
  CHECK(settings[6].value(0.34).label == "tree");
}

TEST_CASE("errors of a range name their key") {
  CHECK(wrong({"64", "1", false, true}).starts_with("from: is above `to`"));
  CHECK(wrong({"1", "1", false, false}).starts_with("to: is the same"));
  CHECK(wrong({"0", "1", true, false}).starts_with("scale: log needs a range above 0"));
  CHECK(wrong({"one", "2", false, false}).starts_with("from: is 'one'"));
  CHECK(wrong({"1ms", "2", false, false}).starts_with("to: has another unit"));
  CHECK(wrong({"0.5", "2", false, true}).starts_with("from: is not a whole number"));
  CHECK(wrong({"1s", "1500ms", false, true}).starts_with("to: is not a whole number of s"));
}

TEST_CASE("the draw covers the space evenly, follows from its seed alone, and shifts with it") {
  // Of the first 2^k points of Sobol's sequence every interval of width 2^-k has exactly one, in each coordinate; shifted, the circle's
  // intervals that begin at the shift have.
  EvenDraw draw(3, 7), same(3, 7), other(3, 8);
  std::array<std::vector<double>, 3> coordinates;
  bool differs = false;
  for (int i = 0; i < 64; ++i) {
    const std::vector<double> point = draw.next();
    CHECK(point == same.next());
    differs = differs || point != other.next();
    for (std::size_t d = 0; d < 3; ++d) {
      REQUIRE(point[d] >= 0);
      REQUIRE(point[d] < 1);
      coordinates[d].push_back(point[d]);
    }
  }
  CHECK(differs);
  for (std::vector<double>& values : coordinates) {
    std::sort(values.begin(), values.end());
    for (std::size_t i = 1; i < values.size(); ++i) CHECK(values[i] - values[i - 1] < 2.0 / 64 + 1e-12);
  }
}

}  // namespace space_test
