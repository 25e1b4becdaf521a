#include <doctest/doctest.h>

#include <bit>
#include <boost/random/normal_distribution.hpp>
#include <cmath>

#include "scenarios/race/verdict.hpp"
#include "sim/base/random.hpp"

using namespace straggler;

namespace {

constexpr std::optional<double> missed;

FinishTimes exponentials(const std::vector<double>& logs) {
  FinishTimes times;
  for (const double log : logs) times.emplace_back(std::exp(log));
  return times;
}

/// With two degrees of freedom Student's distribution has a closed form: P(|T| > t) = 1 - t / sqrt(2 + t^2).
double p_of_two_degrees(double t) { return 1 - t / std::sqrt(2 + t * t); }

/// The share of all ways to choose a's runs whose sum of ranks is as far from the middle; by trying them all.
double rank_sum_by_trying(const FinishTimes& a, const FinishTimes& b) {
  FinishTimes all = a;
  all.insert(all.end(), b.begin(), b.end());
  const auto value = [&](std::size_t i) { return all[i].value_or(1e300); };
  std::vector<double> ranks;
  for (std::size_t i = 0; i < all.size(); ++i) {
    double below = 0, level = 0;
    for (std::size_t j = 0; j < all.size(); ++j) {
      below += value(j) < value(i);
      level += value(j) == value(i);
    }
    ranks.push_back(below + (level + 1) / 2);
  }
  const double n = static_cast<double>(a.size()), middle = n * (2 * n + 1) / 2;
  const auto distance = [&](unsigned chosen) {
    double sum = 0;
    for (std::size_t i = 0; i < all.size(); ++i) sum += chosen >> i & 1 ? ranks[i] : 0;
    return std::abs(sum - middle);
  };
  const double seen = distance((1u << a.size()) - 1);
  double extreme = 0, every = 0;
  for (unsigned chosen = 0; chosen < 1u << all.size(); ++chosen) {
    if (static_cast<std::size_t>(std::popcount(chosen)) != a.size()) continue;
    every += 1;
    extreme += distance(chosen) >= seen;
  }
  return extreme / every;
}

}  // namespace

TEST_CASE("paired: Student's t on the logarithms of ratios") {
  const FinishTimes a = exponentials({1, 5, 3}), b = exponentials({1.1, 5.2, 3.3});
  const FasterResult result = which_is_faster(a, b, true);
  const double error = 0.1 / std::sqrt(3.0);  // differences 0.1, 0.2, 0.3
  CHECK(result.test == FasterTest::paired_t);
  CHECK(result.faster == -1);
  CHECK(result.p == doctest::Approx(p_of_two_degrees(0.2 / error)));
  const auto interval = result.interval(0.95);
  REQUIRE(interval.has_value());
  CHECK(interval->ratio == doctest::Approx(std::exp(0.2)));
  CHECK(interval->low == doctest::Approx(std::exp(0.2 - 4.302652730 * error)));  // t(0.975; 2), any table
  CHECK(interval->high == doctest::Approx(std::exp(0.2 + 4.302652730 * error)));
  const FasterResult other_way = which_is_faster(b, a, true);
  CHECK(other_way.faster == 1);
  CHECK(other_way.p == doctest::Approx(result.p));
}

TEST_CASE("unpaired: Welch's t") {
  // Means d and m + d, both variances 2 d^2: t = m / (d sqrt 2) with two degrees of freedom.
  const double d = 0.1, m = 0.5;
  const FasterResult result = which_is_faster(exponentials({0, 2 * d}), exponentials({m, m + 2 * d}), false);
  CHECK(result.test == FasterTest::welch_t);
  CHECK(result.degrees == doctest::Approx(2));
  CHECK(result.p == doctest::Approx(p_of_two_degrees(m / (d * std::sqrt(2.0)))));
}

TEST_CASE("no spread: the same is no difference, and what differs alike in every seed is certain") {
  const FinishTimes times{3.0, 7.0, 5.5};
  FinishTimes slower;
  for (const auto& time : times) slower.emplace_back(*time * 2);
  for (const bool paired : {true, false}) {
    const FasterResult same = which_is_faster(times, times, paired);
    CHECK(same.faster == 0);
    CHECK(same.p == 1);
  }
  CHECK(which_is_faster(times, slower, true).p < 1e-12);
  CHECK(which_is_faster({2.0, 2.0}, {3.0, 3.0}, false).p == 0);
}

TEST_CASE("missed runs come last, and ranks decide") {
  const FinishTimes all{10.0, 12.0, 11.0, 10.0, 13.0}, none(5), some{20.0, missed, 15.0, missed, 9.0};
  // Two of the C(10, 5) = 252 ways keep the two apart.
  CHECK(which_is_faster(all, none, true).p == doctest::Approx(2.0 / 252));
  CHECK(which_is_faster(all, none, true).faster == -1);
  CHECK(which_is_faster(none, all, false).faster == 1);
  CHECK_FALSE(which_is_faster(all, none, true).interval(0.95).has_value());
  CHECK(which_is_faster(none, none, true).p == 1);
  for (const FinishTimes* a : {&all, &none, &some})
    for (const FinishTimes* b : {&none, &some}) {
      CAPTURE(a - b);
      CHECK(which_is_faster(*a, *b, true).p == doctest::Approx(rank_sum_by_trying(*a, *b)));
    }
  // An accuracy that is there at the start has no logarithm.
  const FinishTimes at_once{0.0, 0.0, 1.0};
  const FasterResult ranked = which_is_faster(at_once, {2.0, 3.0, 4.0}, true);
  CHECK(ranked.test == FasterTest::rank_sum);
  CHECK(ranked.p == doctest::Approx(2.0 / 20));
  const FinishTimes fifty(50, 1.0), fifty_missed(50);
  const double p = which_is_faster(fifty, fifty_missed, true).p;
  CHECK(p > 0);
  CHECK(p < 1e-28);  // 2 / C(100, 50) = 2e-29
  CHECK_THROWS_AS(which_is_faster({1.0}, {2.0}, true), std::invalid_argument);
}

TEST_CASE("Holm's steps") {
  // Adjusted, ascending: 4 x 0.005, 3 x 0.01, 2 x 0.03, and 0.04 which is not below the one before.
  const std::vector<HolmStep> steps = holm({0.01, 0.04, 0.03, 0.005}, 0.05);
  const std::vector<double> adjusted{0.03, 0.06, 0.06, 0.02}, levels{0.05 / 3, 0.05 / 2, 0.05 / 2, 0.05 / 4};
  const std::vector<bool> rejected{true, false, false, true};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(steps[i].adjusted == doctest::Approx(adjusted[i]));
    CHECK(steps[i].level == doctest::Approx(levels[i]));
    CHECK(steps[i].rejected == rejected[i]);
  }
  CHECK(holm({}, 0.05).empty());
}

namespace {

/// Times of one finish: what seed and entrant bring, and 3 % of noise of each run's own.
struct Noise {
  RandomStream random;
  boost::random::normal_distribution<double> normal{};
  std::vector<FinishTimes> times(const std::vector<double>& factors, double miss_beyond) {
    std::vector<FinishTimes> all(factors.size());
    for (int seed = 0; seed < 5; ++seed) {
      const double common = 0.2 * normal(random);
      for (std::size_t i = 0; i < factors.size(); ++i) {
        const double time = factors[i] * std::exp(common + 0.03 * normal(random));
        all[i].push_back(time > miss_beyond ? missed : std::optional(time));
      }
    }
    return all;
  }
};

bool anything_told(const FinishVerdict& verdict) {
  for (const PairVerdict& pair : verdict.pairs)
    if (pair.faster()) return true;
  return false;
}

}  // namespace

TEST_CASE("of races without a difference at most a twentieth tells one; a planted tenth is found") {
  const int races = 2000;
  for (const double miss_beyond : {1e9, 1.1}) {  // all reach it; of a third of the races' runs it is missed
    for (const std::size_t entrants : {2, 4}) {
      Noise noise{RandomStream(7, "races", entrants)};
      int told = 0;
      for (int race = 0; race < races; ++race)
        told += anything_told(judge(noise.times(std::vector<double>(entrants, 1.0), miss_beyond), true));
      CAPTURE(miss_beyond);
      CAPTURE(entrants);
      // Three standard deviations of a binomial count above its mean.
      CHECK(told <= 0.05 * races + 3 * std::sqrt(races * 0.05 * 0.95));
      if (miss_beyond > 2 && entrants == 2) CHECK(told >= 0.05 * races - 3 * std::sqrt(races * 0.05 * 0.95));
    }
  }
  // log 1.1 = 0.095 is 2.2 deviations of a difference (0.03 times the root of 2), of which 5 are averaged.
  Noise noise{RandomStream(8, "races")};
  int found = 0;
  for (int race = 0; race < 200; ++race) {
    const FinishVerdict verdict = judge(noise.times({1.1, 1.0}, 1e9), true);
    found += verdict.winner == std::size_t{1};
    CHECK(verdict.winner != std::size_t{0});
  }
  CHECK(found >= 180);
}

TEST_CASE("a difference is told exactly where the interval holds no 1") {
  Noise noise{RandomStream(9, "races")};
  int told = 0;
  for (int race = 0; race < 200; ++race) {
    const FinishVerdict verdict = judge(noise.times({1.0, 1.02, 1.05, 1.1}, 1e9), true);
    for (const PairVerdict& pair : verdict.pairs) {
      const auto interval = pair.interval();
      REQUIRE(interval.has_value());
      CHECK((interval->low > 1 || interval->high < 1) == pair.faster().has_value());
      if (pair.faster()) CHECK((interval->ratio > 1) == (*pair.faster() == pair.a));
      told += pair.faster().has_value();
    }
  }
  CHECK(told > 0);
  CHECK(told < 200 * 6);
}

TEST_CASE("verdicts in words") {
  const std::vector<std::string> labels{"a", "b", "c"};
  const FinishTimes quick{10.0, 11.0, 10.5, 10.2, 10.8}, alike{10.1, 10.8, 10.6, 10.1, 10.9}, slow{20.0, 22.5, 21.0, 20.2, 21.8}, never(5);
  const auto told = [&](const FinishTimes& a, const FinishTimes& b, const FinishTimes& c) {
    return sentence(judge({a, b, c}, true), labels);
  };
  CHECK(told(quick, slow, slow) == "a wins");
  CHECK(told(slow, quick, never) == "b wins");
  CHECK(told(quick, alike, slow).ends_with(" is faster than c"));
  CHECK(told(quick, alike, slow).starts_with("no difference between "));
  CHECK(told(quick, quick, quick) == "no difference");
  CHECK(told(never, never, never) == "nobody reached it");
  CHECK(judge({never, quick}, true).winner == std::size_t{1});
  CHECK(judge({quick, quick}, true).pairs[0].interval()->ratio == 1);
}
