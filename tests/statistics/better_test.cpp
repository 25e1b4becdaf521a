#include <doctest/doctest.h>

#include <bit>
#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <limits>

#include "scenarios/statistics/better.hpp"
#include "sim/base/random.hpp"

using namespace straggler;

namespace {

constexpr std::optional<double> missed;

RunValues exponentials(const std::vector<double>& logs) {
  RunValues times;
  for (const double log : logs) times.emplace_back(std::exp(log));
  return times;
}

/// With two degrees of freedom Student's distribution has a closed form: P(|T| > t) = 1 - t / sqrt(2 + t^2).
double p_of_two_degrees(double t) { return 1 - t / std::sqrt(2 + t * t); }

/// The share of all ways to choose a's runs whose sum of ranks is as far from the middle; by trying them all.
double rank_sum_by_trying(const RunValues& a, const RunValues& b) {
  RunValues all = a;
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
  const RunValues a = exponentials({1, 5, 3}), b = exponentials({1.1, 5.2, 3.3});
  const PairTest result = compare_runs(a, b, {.paired = true});
  const double error = 0.1 / std::sqrt(3.0);  // differences 0.1, 0.2, 0.3
  CHECK(result.kind == TestKind::paired_t);
  CHECK(result.better == -1);
  CHECK(result.p == doctest::Approx(p_of_two_degrees(0.2 / error)));
  const auto interval = result.interval(0.95);
  REQUIRE(interval.has_value());
  CHECK(interval->ratio == doctest::Approx(std::exp(0.2)));
  CHECK(interval->low == doctest::Approx(std::exp(0.2 - 4.302652730 * error)));  // t(0.975; 2), any table
  CHECK(interval->high == doctest::Approx(std::exp(0.2 + 4.302652730 * error)));
  const PairTest other_way = compare_runs(b, a, {.paired = true});
  CHECK(other_way.better == 1);
  CHECK(other_way.p == doctest::Approx(result.p));
}

TEST_CASE("unpaired: Welch's t") {
  // Means d and m + d, both variances 2 d^2: t = m / (d sqrt 2) with two degrees of freedom.
  const double d = 0.1, m = 0.5;
  const PairTest result = compare_runs(exponentials({0, 2 * d}), exponentials({m, m + 2 * d}), {.paired = false});
  CHECK(result.kind == TestKind::welch_t);
  CHECK(result.degrees == doctest::Approx(2));
  CHECK(result.p == doctest::Approx(p_of_two_degrees(m / (d * std::sqrt(2.0)))));
}

TEST_CASE("no spread: equal values are no difference, and a difference that is equal in every seed is certain") {
  const RunValues times{3.0, 7.0, 5.5};
  RunValues slower;
  for (const auto& time : times) slower.emplace_back(*time * 2);
  for (const bool paired : {true, false}) {
    const PairTest same = compare_runs(times, times, {.paired = paired});
    CHECK(same.better == 0);
    CHECK(same.p == 1);
  }
  CHECK(compare_runs(times, slower, {.paired = true}).p < 1e-12);
  CHECK(compare_runs({2.0, 2.0}, {3.0, 3.0}, {.paired = false}).p == 0);
}

TEST_CASE("missed runs rank last, and the rank test decides") {
  const RunValues all{10.0, 12.0, 11.0, 10.0, 13.0}, none(5), some{20.0, missed, 15.0, missed, 9.0};
  // Two of the C(10, 5) = 252 ways keep the two apart.
  CHECK(compare_runs(all, none, {.paired = true}).p == doctest::Approx(2.0 / 252));
  CHECK(compare_runs(all, none, {.paired = true}).better == -1);
  CHECK(compare_runs(none, all, {.paired = false}).better == 1);
  CHECK_FALSE(compare_runs(all, none, {.paired = true}).interval(0.95).has_value());
  CHECK(compare_runs(none, none, {.paired = true}).p == 1);
  for (const RunValues* a : {&all, &none, &some})
    for (const RunValues* b : {&none, &some}) {
      CAPTURE(a - b);
      CHECK(compare_runs(*a, *b, {.paired = true}).p == doctest::Approx(rank_sum_by_trying(*a, *b)));
    }
  // An accuracy that is there at the start has no logarithm.
  const RunValues at_once{0.0, 0.0, 1.0};
  const PairTest ranked = compare_runs(at_once, {2.0, 3.0, 4.0}, {.paired = true});
  CHECK(ranked.kind == TestKind::rank_sum);
  CHECK(ranked.p == doctest::Approx(2.0 / 20));
  const RunValues fifty(50, 1.0), fifty_missed(50);
  const double p = compare_runs(fifty, fifty_missed, {.paired = true}).p;
  CHECK(p > 0);
  CHECK(p < 1e-28);  // 2 / C(100, 50) = 2e-29
  CHECK_THROWS_AS(compare_runs({1.0}, {2.0, 3.0}, {}), std::invalid_argument);
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
  std::vector<RunValues> times(const std::vector<double>& factors, double miss_beyond) {
    std::vector<RunValues> all(factors.size());
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

bool anything_told(const Verdict& verdict) {
  for (const PairVerdict& pair : verdict.pairs)
    if (pair.better()) return true;
  return false;
}

}  // namespace

TEST_CASE("of races without a difference at most 5 % find one; a planted difference of 10 % is found") {
  const int races = 2000;
  for (const double miss_beyond : {1e9, 1.1}) {  // all reach it; of a third of the races' runs it is missed
    for (const std::size_t entrants : {2, 4}) {
      Noise noise{RandomStream(7, "races", entrants)};
      int told = 0;
      for (int race = 0; race < races; ++race)
        told += anything_told(judge(noise.times(std::vector<double>(entrants, 1.0), miss_beyond), RunDesign{}));
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
    const Verdict verdict = judge(noise.times({1.1, 1.0}, 1e9), RunDesign{});
    found += verdict.winner == std::size_t{1};
    CHECK(verdict.winner != std::size_t{0});
  }
  CHECK(found >= 180);
}

TEST_CASE("a difference is significant exactly where the interval holds no 1 and the ratio is off by half a per cent") {
  Noise noise{RandomStream(9, "races")};
  int told = 0, alike = 0;
  for (int race = 0; race < 200; ++race) {
    const Verdict verdict = judge(noise.times({1.0, 1.02, 1.05, 1.1}, 1e9), RunDesign{});
    for (const PairVerdict& pair : verdict.pairs) {
      const auto interval = pair.interval();
      REQUIRE(interval.has_value());
      const bool apart = interval->ratio > 1.005 || interval->ratio < 1 / 1.005;
      const bool within = interval->low > 1 / 1.1 && interval->high < 1.1;
      if (pair.alike()) CHECK(within);
      if (!pair.alike()) CHECK(((interval->low > 1 || interval->high < 1) && apart) == pair.better().has_value());
      alike += pair.alike();
      if (pair.better()) CHECK((interval->ratio > 1) == (*pair.better() == pair.a));
      told += pair.better().has_value();
    }
  }
  CHECK(told > 0);
  CHECK(alike > 0);
  CHECK(told + alike < 200 * 6);
}

TEST_CASE("of races with a difference of 10 % or more at most 5 % say that it is less; of equal entrants nearly all do") {
  const int races = 2000;
  for (const bool paired : {true, false})
    for (const std::vector<double>& factors : {std::vector{1.0, 1.1}, std::vector{1.1, 1.0, 1.1, 1.21}}) {
      Noise noise{RandomStream(10, "races", factors.size())};
      int wrong = 0, wrong_of_one = 0;
      for (int race = 0; race < races; ++race) {
        const Verdict verdict = judge(noise.times(factors, 1e9), {.paired = paired});
        int of_this = 0;
        for (const PairVerdict& pair : verdict.pairs) of_this += pair.near_step.rejected && factors[pair.a] != factors[pair.b];
        wrong += of_this > 0;
        wrong_of_one += verdict.pairs[0].near_step.rejected;
      }
      CAPTURE(paired);
      CAPTURE(factors.size());
      // Three standard deviations of a binomial count above its mean. The noise of unpaired runs includes that of the seeds.
      CHECK(wrong <= 0.05 * races + 3 * std::sqrt(races * 0.05 * 0.95));
      if (paired && factors.size() == 2) CHECK(wrong_of_one >= 0.05 * races - 3 * std::sqrt(races * 0.05 * 0.95));
    }
  Noise noise{RandomStream(11, "races")};
  int alike = 0;
  for (int race = 0; race < 200; ++race) alike += judge(noise.times({1.0, 1.0}, 1e9), RunDesign{}).pairs[0].near_step.rejected;
  CHECK(alike >= 180);
}

TEST_CASE("verdicts in words") {
  const std::vector<std::string> labels{"a", "b", "c"};
  const RunValues quick{10.0, 11.0, 10.5, 10.2, 10.8}, alike{10.1, 10.8, 10.6, 10.1, 10.9}, slow{20.0, 22.5, 21.0, 20.2, 21.8}, never(5);
  const auto told = [&](const RunValues& a, const RunValues& b, const RunValues& c) {
    return sentence(judge({a, b, c}, RunDesign{}), labels);
  };
  CHECK(told(quick, slow, slow) == "a wins");
  CHECK(told(slow, quick, never) == "b wins");
  CHECK(told(quick, alike, slow) == "no difference between a and b; a and b are faster than c");
  // Nobody can tell a from b, and tests find that b, not a, is faster than c, and that both are faster than d.
  const RunValues wide{9.0, 12.0, 8.0, 13.0, 9.5}, narrow{10.9, 11.0, 11.1, 11.0, 10.95}, third{13.0, 13.2, 12.9, 13.1, 13.05};
  const Verdict open = judge({wide, narrow, third, slow}, RunDesign{});
  CHECK(open.ahead == 0);
  CHECK(sentence(open, {"a", "b", "c", "d"}) ==
        "too few seeds to tell a from b and c; a and c are faster than d; b is faster than c and d");
  CHECK(sentence(judge({wide, narrow, third}, RunDesign{}), labels) == "too few seeds to tell a from b and c; b is faster than c");
  CHECK(told(quick, alike, slow).starts_with("no difference between "));
  CHECK(told(quick, quick, quick) == "no difference");
  CHECK(told(never, never, never) == "nobody reached it");
  CHECK(judge({never, quick}, RunDesign{}).winner == std::size_t{1});
  CHECK(judge({quick, quick}, RunDesign{}).pairs[0].interval()->ratio == 1);
}

TEST_CASE("five of five against four of five is no winner") {
  const RunValues all{10.0, 11.0, 12.0, 13.0, 14.0}, four{10.5, 11.5, 12.5, 13.5, missed};
  const Verdict verdict = judge({all, four}, RunDesign{});
  CHECK(verdict.ahead == 0);
  CHECK_FALSE(verdict.winner.has_value());
  CHECK(verdict.pairs[0].test.p == doctest::Approx(rank_sum_by_trying(all, four)));
  CHECK(verdict.pairs[0].test.p > 0.5);
  CHECK(sentence(verdict, {"all", "four"}) == "too few seeds to tell");  // a run that missed it has no ratio
}

TEST_CASE("the smallest p of the rank test, and how many runs could tell") {
  // Two of the C(2n, n) orders keep two contenders apart: C(6, 3) = 20, C(8, 4) = 70, C(10, 5) = 252, C(12, 6) = 924.
  CHECK(smallest_rank_p(3) == doctest::Approx(2.0 / 20));
  CHECK(smallest_rank_p(4) == doctest::Approx(2.0 / 70));
  CHECK(smallest_rank_p(5) == doctest::Approx(2.0 / 252));
  // Holm's first level is 0.05 over the pairs: 1, 3, 6, 10, 21 and 28 of them.
  CHECK(runs_that_tell(2) == 4);  // 2 / 70 <= 0.05 < 2 / 20
  CHECK(runs_that_tell(3) == 5);  // 2 / 252 <= 0.05 / 3 < 2 / 70
  CHECK(runs_that_tell(4) == 5);  // 2 / 252 = 0.0079 <= 0.05 / 6 = 0.0083
  CHECK(runs_that_tell(5) == 6);  // 0.05 / 10 < 2 / 252; 2 / 924 = 0.0022
  CHECK(runs_that_tell(7) == 6);  // 0.05 / 21 = 0.0024
  CHECK(runs_that_tell(8) == 7);  // 0.05 / 28 = 0.0018
  for (const std::size_t runs : {3, 4}) {
    const RunValues here(runs, 10.0), never(runs);
    CHECK(sentence(judge({here, never}, RunDesign{}), {"here", "never"}) == (runs == 3 ? "too few seeds to tell" : "here wins"));
  }
}

TEST_CASE("\"no difference\" is claimed only where the 90 % interval lies within 10 %") {
  // Logarithms of the ratios are m - s, m, m + s: half of a 90 % interval is t(0.95; 2) s / sqrt(3), of 95 % t(0.975; 2).
  const double t95 = 2.919985580, t975 = 4.302652730, root = std::sqrt(3.0);
  const auto judged = [](double m, double s) {
    return judge({exponentials({1, 2, 3}), exponentials({1 + m - s, 2 + m, 3 + m + s})}, RunDesign{});
  };
  for (const double m : {0.0, 0.01, 0.04, -0.04}) {
    const double widest = (std::log(1.1) - std::abs(m)) * root / t95;
    CAPTURE(m);
    REQUIRE(std::abs(m) < t975 * 0.99 * widest / root);  // not significant
    CHECK(sentence(judged(m, 0.99 * widest), {"a", "b"}) == "no difference");
    CHECK(sentence(judged(m, 1.01 * widest), {"a", "b"}) == "too few seeds to tell");
    const auto interval = judged(m, 0.99 * widest).pairs[0].interval();
    CHECK(interval->high == doctest::Approx(std::exp(m + 0.99 * t95 * widest / root)));
    CHECK(judged(m, 0.99 * widest).pairs[0].confidence() == doctest::Approx(0.9));
  }
  // Significant, and within 10 % or not.
  const double widest = (std::log(1.1) - 0.05) * root / t95;
  REQUIRE(t975 * 0.99 * widest / root > 0.05);
  REQUIRE(t975 * 0.7 * widest / root < 0.05);
  CHECK(sentence(judged(0.05, 0.99 * widest), {"a", "b"}) == "no difference");
  CHECK(sentence(judged(0.05, 0.7 * widest), {"a", "b"}) == "a wins; b differs by 5.1 %, less than 10 %");  // exp 0.05 = 1.0513
  CHECK(pair_words(judged(-0.05, 0.7 * widest).pairs[0], {"a", "b"}) == "b (differs by 5.1 %, less than 10 %)");
  CHECK(sentence(judged(0.09, 0.01), {"a", "b"}) == "a wins");  // 0.09 + t(0.95; 2) 0.01 / root 3 = 0.107
  CHECK(sentence(judged(0.096, 0.0001), {"a", "b"}) == "a wins");
}

TEST_CASE("Welch's test decides on 10 %, too: as many degrees, and the error of both") {
  // Both have deviations d of two runs: the error is d root 2 of sqrt(2) d, with two degrees of freedom.
  const double d = 0.01, error = std::sqrt(2.0) * d;
  const PairTest test = compare_runs(exponentials({1, 1 + 2 * d}), exponentials({1.02, 1.02 + 2 * d}), {.paired = false});
  CHECK(test.standard_error == doctest::Approx(error));
  CHECK(test.p_notable() == doctest::Approx(p_of_two_degrees((std::log(1.1) - 0.02) / error) / 2));
}

TEST_CASE("\"less than 10 %\" is corrected over pairs as a difference is") {
  // Three entrants, two of them level: three p of two one-sided tests, of which Holm judges the smallest at 5 % / 3.
  Noise noise{RandomStream(12, "races")};
  int stricter = 0;
  for (int race = 0; race < 300; ++race) {
    const Verdict verdict = judge(noise.times({1.0, 1.0, 1.5}, 1e9), RunDesign{});
    std::vector<double> p;
    for (const PairVerdict& pair : verdict.pairs) p.push_back(pair.test.p_notable());
    CHECK(p[1] > 0.5);
    CHECK(p[2] > 0.5);
    CHECK(verdict.pairs[0].near_step.rejected == (p[0] <= 0.05 / 3));
    stricter += p[0] > 0.05 / 3 && p[0] <= 0.05;
  }
  CHECK(stricter > 0);
}

TEST_CASE("two that are level with the one ahead need not be level with each other") {
  // What b and c do beside a is opposite: logarithms s, -s, s, -s, 0 and their negatives. The error of either is s / root 5, between them
  // twice that. Holm's levels are 5 % / 3, 5 % / 2 and 5 %: t(1 - 0.05 / 3; 4) = 3.19 and t(0.95; 4) = 2.13; log 1.1 is 0.0953.
  const auto said = [](double s) {
    const RunValues a(5, 10.0);
    RunValues b, c;
    for (const double each : {s, -s, s, -s, 0.0}) {
      b.emplace_back(10 * std::exp(each));
      c.emplace_back(10 * std::exp(-each));
    }
    return sentence(judge({a, b, c}, RunDesign{}), {"a", "b", "c"});
  };
  CHECK(said(0.055) == "no difference between a and each of b and c");  // 3.19 x 0.0246 = 0.078; 2.13 x 0.0492 = 0.105
  CHECK(said(0.045) == "no difference");                                // 2.13 x 0.0402 = 0.086
}

TEST_CASE("a pair in which somebody missed it is never called level, however many runs there are") {
  for (const std::size_t runs : {5, 12, 40}) {
    RunValues a(runs, 10.0), b(runs, 10.0);
    a.back() = b.front() = missed;
    CHECK(sentence(judge({a, b}, RunDesign{}), {"a", "b"}) == "too few seeds to tell");
    const RunValues never(runs);
    CHECK(pair_words(judge({a, never, never}, RunDesign{}).pairs[2], {"a", "b", "c"}) == "nobody reached it");
  }
}

TEST_CASE("equal values without a logarithm are level; infinite ones are ranked") {
  const RunValues zero(5, 0.0), some{0.0, 0.0, 1.0, 0.0, 0.0};
  for (const bool paired : {true, false}) {
    CHECK(sentence(judge({zero, zero}, {.paired = paired}), {"a", "b"}) == "no difference");
    CHECK(sentence(judge({some, zero}, {.paired = paired}), {"a", "b"}) == "too few seeds to tell");
  }
  CHECK(sentence(judge({some, some}, {.paired = true}), {"a", "b"}) == "no difference");
  CHECK(sentence(judge({some, some}, {.paired = false}), {"a", "b"}) == "too few seeds to tell");
  CHECK(sentence(judge({{0.0}, {0.0}}, {.exact = true}), {"a", "b"}) == "no difference");
  RunValues overflowed(5, 2.0);
  overflowed.front() = std::numeric_limits<double>::infinity();
  const RunValues finite{2.0, 3.0, 2.5, 2.0, 3.0};
  CHECK(compare_runs(finite, overflowed, {}).kind == TestKind::rank_sum);
}

TEST_CASE("how far the loser is behind, in words") {
  CHECK(narrow_words(0.0612) == "differs by 6.1 %, less than 10 %");
  CHECK(narrow_words(0.0996) == "differs by almost 10 %, less than 10 %");
  CHECK(narrow_words(0.099996) == "differs by almost 10 %, less than 10 %");
  const std::vector<std::string> labels{"a", "b", "c", "d", "e"};
  CHECK(narrow_words(std::vector<NarrowLead>{}, labels).empty());
  CHECK(narrow_words({{1, 0.02}, {3, 0.05}}, labels) == "b differs by 2 % and d by 5 %, less than 10 %");
  CHECK(narrow_words({{1, 0.02}, {2, 0.03}, {3, 0.05}, {4, 0.06}}, labels) ==
        "b differs by 2 %, c by 3 %, d by 5 % and 1 more, less than 10 %");
}

TEST_CASE("less than half a per cent is level, however sure it is") {
  const RunValues one{10.0, 20.0, 30.0};
  const auto times = [&](double factor) {
    RunValues other;
    for (const auto& value : one) other.emplace_back(factor * *value);
    return other;
  };
  CHECK(sentence(judge({one, times(1.003)}, RunDesign{}), {"a", "b"}) == "no difference");
  CHECK(sentence(judge({one, times(1.006)}, RunDesign{}), {"a", "b"}) == "a wins; b differs by 0.6 %, less than 10 %");
  CHECK(sentence(judge({one, times(1.006)}, {.maximize = true}), {"a", "b"}) == "b wins; a differs by 0.6 %, less than 10 %");
}

TEST_CASE("one run each: no winner, unless the seed changes nothing") {
  const std::vector<RunValues> runs{{12.0}, {10.0}, {missed}};
  const Verdict chance = judge(runs, RunDesign{});
  CHECK(chance.one_run);
  CHECK(chance.ahead == 1);
  CHECK_FALSE(chance.winner.has_value());
  CHECK(chance.open == std::vector<std::size_t>{0, 2});
  const Verdict certain = judge(runs, {.exact = true});
  CHECK_FALSE(certain.one_run);
  CHECK(certain.winner == std::size_t{1});
  CHECK(sentence(judge({{10.0}, {10.03}}, {.exact = true}), {"a", "b"}) == "no difference");
  CHECK(judge(runs, {.maximize = true, .exact = true}).winner == std::size_t{0});
}

TEST_CASE("runs count where both contenders have them; larger values may be better; zeros are ranked") {
  Contender five = contender_of({10.0, 20.0, 30.0, 40.0, 50.0}), three = contender_of({11.0, 22.1, 33.0});
  const Verdict verdict = judge({five, three}, RunDesign{}, TestFamily::all_pairs);
  CHECK(verdict.pairs[0].test.runs == 3);
  CHECK(verdict.winner == std::size_t{0});  // though the mean of its five is the larger one
  three.clear();
  CHECK(judge({five, three}, RunDesign{}, TestFamily::all_pairs).open == std::vector<std::size_t>{1});
  const RunValues none(4, 0.0), some{0.1, 0.2, 0.3, 0.4};
  CHECK(judge({none, some}, {.maximize = true}).winner == std::size_t{1});
  CHECK(judge({none, some}, {.maximize = true}).pairs[0].test.p == doctest::Approx(2.0 / 70));
}

TEST_CASE("the test's verdict precedes the count of missed runs") {
  // Nine runs at 1 s and one that missed, against ten at 10 s: ranks 1 … 9 and 20 against 10 … 19.
  RunValues quick(10, 1.0), slow(10, 10.0);
  quick.back() = missed;
  CHECK(judge({slow, quick}, RunDesign{}).winner == std::size_t{1});
}

TEST_CASE("the best of many settings: the one ahead against each other one, at 5 % over their number") {
  std::vector<Contender> settings;
  for (int i = 0; i < 11; ++i) settings.push_back(contender_of({10.0 + i, 20.1 + 2 * i, 30.0 + 3 * i, 40.2 + 4 * i}));
  std::swap(settings[0], settings[7]);
  const Verdict verdict = judge(settings, RunDesign{}, TestFamily::with_best);
  CHECK(verdict.ahead == 7);
  CHECK(verdict.winner == std::size_t{7});
  REQUIRE(verdict.pairs.size() == 10);
  for (const PairVerdict& pair : verdict.pairs) {
    CHECK(pair.a == 7);
    CHECK(pair.step.level == doctest::Approx(0.05 / 10));
    CHECK(pair.step.adjusted == doctest::Approx(std::min(1.0, 10 * pair.test.p)));
  }
}

TEST_CASE("many runs are ranked by the normal approximation") {
  // Without ties the sum of n ranks among 2n has the mean n (2n + 1) / 2 and the variance n^2 (2n + 1) / 12. a takes every other rank but
  // for the first run, which is at 0: ranks 1, 3, 5 … give n^2.
  const std::size_t n = most_ranked + 10;
  RunValues a, b;
  for (std::size_t i = 0; i < n; ++i) {
    a.emplace_back(2.0 * static_cast<double>(i));
    b.emplace_back(2.0 * static_cast<double>(i) + 1);
  }
  const double count = static_cast<double>(n), apart = count * (2 * count + 1) / 2 - count * count;
  const PairTest test = compare_runs(a, b, {});
  CHECK(test.kind == TestKind::rank_sum);
  CHECK(test.p == doctest::Approx(std::erfc(apart / std::sqrt(count * count * (2 * count + 1) / 12) / std::sqrt(2.0))));
}
