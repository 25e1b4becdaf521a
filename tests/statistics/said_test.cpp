// Sentences of parts, and means, as terminals and files have them.
#include "scenarios/statistics/said.hpp"

#include <doctest/doctest.h>

#include "scenarios/statistics/better.hpp"
#include "sim/base/readable.hpp"

using namespace straggler;

TEST_CASE("a mean never comes without the number of runs that it leaves out") {
  // Of two values the interval of the mean is t(0.975; 1) = 12.7062 times half of their distance.
  const RunValues both{9, 11}, one{9, std::nullopt}, equal{9, 9}, none(2);
  const auto text = [](const RunValues& values, const MeanStyle& style = {}) {
    return mean_text(statistics_of(values), values.size(), readable_seconds, style);
  };
  CHECK(text(both) == "10 s +- 12.7 s");
  CHECK(text(one) == "9 s (1 of 2)");
  CHECK(text(equal) == "9 s");
  CHECK(text(none) == "-");
  CHECK(text(both, {.sign = " ~ ", .count_all = true}) == "10 s ~ 12.7 s (2 of 2)");
  CHECK(text({9}, {.count_all = true}) == "9 s");
  CHECK(text(equal, {.zero_widths = true}) == "9 s +- 0 s");
  CHECK(text(none, {.missed = true}) == "missed (0 of 2)");
  CHECK(text({std::nullopt}, {.missed = true}) == "missed");
}

TEST_CASE("a terminal names settings and metrics as the scenario and its results do") {
  const Said said{SaidName{"asgd"},
                  " needs ",
                  SaidValue{statistics_of(RunValues{9, 11}), 2, readable_seconds},
                  " (",
                  SaidMetric{"time_to_target_s"},
                  ") at ",
                  SaidSetting{"cluster.workers[0].count", "4"},
                  " of ",
                  SaidPath{"a.b"}};
  CHECK(plain(said) == "asgd needs 10 s +- 12.7 s (2 of 2) (time_to_target_s) at cluster.workers[0].count=4 of a.b");
  CHECK(plain(joined({Said("a"), Said("b"), Said("c")}, " and ")) == "a, b and c");
  CHECK(plain(joined({Said("a"), Said("b")})) == "a, b");
  CHECK(joined({}).empty());
  CHECK(plain(narrow_said({{1, 0.05}, {0, 0.061}}, {{SaidSetting{"x", "1"}}, {SaidSetting{"x", "2"}}})) ==
        "x=2 differs by 5 % and x=1 by 6.1 %, less than 10 %");
}

TEST_CASE("the parts of a sentence come where its form has places") {
  const Said who{SaidSetting{"x", "1"}};
  CHECK(plain(worded("{} wins{}; {} {}", who, "", SaidName{"asgd"}, std::string("loses"))) == "x=1 wins; asgd loses");
  CHECK(plain(worded("nobody wins")) == "nobody wins");
  CHECK(plain(worded("{}", "")).empty());
  CHECK(std::holds_alternative<SaidSetting>(worded("{} wins", who).parts().front()));
}
