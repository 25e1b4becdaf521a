#include "scenarios/statistics/pair_test.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "scenarios/statistics/statistics.hpp"

namespace straggler {
namespace {

using boost::math::students_t;

/// Every run has a value, and every value has a logarithm (a target that is reached at the start takes no time; a loss may overflow).
bool have_logarithms(const RunValues& values) {
  return std::all_of(values.begin(), values.end(), [](const auto& value) { return value && *value > 0 && std::isfinite(*value); });
}

/// Every run has a value, and equals the run that it is compared with: a ratio of 1, even where there is no logarithm.
bool are_equal(const RunValues& a, const RunValues& b, bool paired) {
  const auto same = [&](const std::optional<double>& value) { return value && value == a.front(); };
  if (!paired) return std::all_of(a.begin(), a.end(), same) && std::all_of(b.begin(), b.end(), same);
  return a == b && std::all_of(a.begin(), a.end(), [](const auto& value) { return value.has_value(); });
}

bool has_any(const RunValues& values) {
  return std::any_of(values.begin(), values.end(), [](const auto& value) { return value.has_value(); });
}

std::vector<double> logarithms(const RunValues& values) {
  std::vector<double> logs;
  for (const auto& value : values) logs.push_back(std::log(*value));
  return logs;
}

int sign_of(double log_ratio, bool maximize) {
  const int smaller = log_ratio > 0 ? -1 : log_ratio < 0 ? 1 : 0;
  return maximize ? -smaller : smaller;
}

/// Without any spread a difference is certain, or there is none.
PairTest t_test(TestKind kind, std::size_t runs, double log_ratio, double standard_error, double degrees, bool maximize) {
  PairTest test{kind, runs, 1, sign_of(log_ratio, maximize), log_ratio, standard_error, degrees, true};
  if (test.better == 0)
    test.p = 1;
  else if (!(standard_error > 0))
    test.p = 0;
  else
    test.p = 2 * boost::math::cdf(boost::math::complement(students_t(degrees), std::abs(log_ratio) / standard_error));
  return test;
}

/// The logarithm of a ratio of equal numbers is exactly 0.
double log_ratio_of(double a, double b) { return a == b ? 0 : std::log(b / a); }

PairTest paired_t(const RunValues& a, const RunValues& b, bool maximize) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < a.size(); ++i) differences.push_back(log_ratio_of(*a[i], *b[i]));
  const RepeatStatistics seen = statistics_of(differences);
  const auto n = static_cast<double>(a.size());
  return t_test(TestKind::paired_t, a.size(), seen.mean, seen.deviation / std::sqrt(n), n - 1, maximize);
}

PairTest welch_t(const RunValues& a, const RunValues& b, bool maximize) {
  const RepeatStatistics of_a = statistics_of(logarithms(a)), of_b = statistics_of(logarithms(b));
  const auto n = static_cast<double>(a.size());
  const double va = of_a.deviation * of_a.deviation / n, vb = of_b.deviation * of_b.deviation / n, both = va + vb;
  const double degrees = both > 0 ? both * both / ((va * va + vb * vb) / (n - 1)) : n - 1;
  return t_test(TestKind::welch_t, a.size(), of_b.mean - of_a.mean, std::sqrt(both), degrees, maximize);
}

/// Twice the mean rank of each value among all, so that ties keep to whole numbers; the best value is first, missed runs are last.
std::vector<std::size_t> doubled_ranks(const RunValues& values, bool maximize) {
  const auto before = [&](std::size_t i, std::size_t j) {
    return values[i] && (!values[j] || (maximize ? *values[i] > *values[j] : *values[i] < *values[j]));
  };
  std::vector<std::size_t> order(values.size()), ranks(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), before);
  for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
    while (last < order.size() && !before(order[first], order[last])) ++last;
    for (std::size_t i = first; i < last; ++i) ranks[order[i]] = first + 1 + last;  // 2 x the mean of first + 1 … last
  }
  return ranks;
}

/// [s]: in how many ways `chosen` of the ranks sum up to s. Numbers up to 2^53 are exact, and beyond them right to the last digits.
std::vector<double> ways(const std::vector<std::size_t>& ranks, std::size_t chosen) {
  const std::size_t most = std::accumulate(ranks.begin(), ranks.end(), std::size_t{0});
  std::vector<std::vector<double>> of(chosen + 1, std::vector<double>(most + 1, 0));
  of[0][0] = 1;
  for (const std::size_t rank : ranks)
    for (std::size_t taken = chosen; taken >= 1; --taken)
      for (std::size_t sum = most; sum >= rank; --sum) of[taken][sum] += of[taken - 1][sum - rank];
  return of[chosen];
}

/// The share of all ways to choose a's runs whose sum of ranks lies as far from the middle.
double exact_rank_p(const std::vector<std::size_t>& ranks, std::size_t of_a, std::size_t of_b) {
  // Groups are of one size: the other sum is as far from the middle, on the other side.
  const std::size_t low = std::min(of_a, of_b), high = std::max(of_a, of_b);
  const std::vector<double> count = ways(ranks, ranks.size() / 2);
  double extreme = 0, every = 0;
  for (std::size_t sum = 0; sum < count.size(); ++sum) {
    every += count[sum];
    if (sum <= low || sum >= high) extreme += count[sum];
  }
  return extreme / every;
}

/// The sum of n of 2n ranks drawn without replacement has the variance n / 2 · Σ (r - mean)² / (2n - 1).
double approximate_rank_p(const std::vector<std::size_t>& ranks, std::size_t of_a, std::size_t of_b) {
  const auto all = static_cast<double>(ranks.size()), mean = static_cast<double>(of_a + of_b) / all;
  double squares = 0;
  for (const std::size_t rank : ranks) squares += (static_cast<double>(rank) - mean) * (static_cast<double>(rank) - mean);
  if (squares == 0) return 1;
  const double apart = std::abs(static_cast<double>(of_a) - static_cast<double>(of_b)) / 2;
  return 2 * boost::math::cdf(boost::math::complement(boost::math::normal(), apart / std::sqrt(all / 4 * squares / (all - 1))));
}

PairTest rank_sum(const RunValues& a, const RunValues& b, bool maximize) {
  RunValues all = a;
  all.insert(all.end(), b.begin(), b.end());
  const std::vector<std::size_t> ranks = doubled_ranks(all, maximize);
  const auto half = ranks.begin() + static_cast<std::ptrdiff_t>(a.size());
  const std::size_t of_a = std::accumulate(ranks.begin(), half, std::size_t{0}), of_b = std::accumulate(half, ranks.end(), std::size_t{0});
  PairTest test{TestKind::rank_sum, a.size()};
  test.anybody = has_any(all);
  test.better = of_a < of_b ? -1 : of_a > of_b ? 1 : 0;
  test.p = a.size() <= most_ranked ? exact_rank_p(ranks, of_a, of_b) : approximate_rank_p(ranks, of_a, of_b);
  return test;
}

/// The first run of each: the observed values, which are certain only if the seed changes nothing.
PairTest single(const RunValues& a, const RunValues& b, const RunDesign& design) {
  PairTest test{TestKind::untested, a.size()};
  if (a.empty()) return test;
  const std::optional<double>&x = a.front(), &y = b.front();
  test.anybody = x || y;
  test.has_ratio = are_equal({x}, {y}, true) || (have_logarithms({x}) && have_logarithms({y}));
  if (test.has_ratio) test.log_ratio = log_ratio_of(*x, *y);
  if (x && y)
    test.better = *x == *y ? 0 : (*x < *y) != design.maximize ? -1 : 1;
  else
    test.better = x ? -1 : y ? 1 : 0;
  if (!design.exact) return test;
  test.kind = TestKind::exact;
  test.p = test.better == 0 ? 1 : 0;
  return test;
}

}  // namespace

const char* name_of(TestKind test) {
  switch (test) {
    case TestKind::paired_t:
      return "paired t";
    case TestKind::welch_t:
      return "Welch t";
    case TestKind::rank_sum:
      return "rank sum";
    case TestKind::exact:
      return "exact";
    case TestKind::untested:
      return "none";
  }
  throw std::logic_error("no such test");
}

std::optional<PairTest::Interval> PairTest::interval(double confidence) const {
  if (kind != TestKind::paired_t && kind != TestKind::welch_t) return std::nullopt;
  const double half =
      standard_error > 0 ? boost::math::quantile(boost::math::complement(students_t(degrees), (1 - confidence) / 2)) * standard_error : 0;
  return Interval{std::exp(log_ratio - half), std::exp(log_ratio), std::exp(log_ratio + half)};
}

bool PairTest::level() const { return has_ratio && std::abs(log_ratio) < std::log(level_ratio); }

double PairTest::p_notable() const {
  if (kind == TestKind::untested || !has_ratio) return 1;
  // The larger p of the two tests is that of the nearer bound.
  const double room = std::log(notable_ratio) - std::abs(log_ratio);
  if (!(standard_error > 0)) return room > 0 ? 0 : 1;
  return boost::math::cdf(boost::math::complement(students_t(degrees), room / standard_error));
}

PairTest compare_runs(const RunValues& a, const RunValues& b, const RunDesign& design) {
  if (a.size() != b.size()) throw std::invalid_argument("compare_runs takes as many runs of one as of the other");
  if (a.size() < 2 || design.exact) return single(a, b, design);
  const auto runs = static_cast<double>(a.size());
  if (are_equal(a, b, design.paired))
    return t_test(design.paired ? TestKind::paired_t : TestKind::welch_t, a.size(), 0, 0, runs - 1, design.maximize);
  if (!have_logarithms(a) || !have_logarithms(b)) return rank_sum(a, b, design.maximize);
  return design.paired ? paired_t(a, b, design.maximize) : welch_t(a, b, design.maximize);
}

double smallest_rank_p(std::size_t runs) {
  double p = 2;  // 2 / C(2n, n): a product of i / (n + i)
  for (std::size_t i = 1; i <= runs; ++i) p *= static_cast<double>(i) / static_cast<double>(runs + i);
  return std::min(p, 1.0);
}

std::vector<HolmStep> holm(const std::vector<double>& p, double level) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return p[i] < p[j]; });
  std::vector<HolmStep> steps(p.size());
  double adjusted = 0;
  std::optional<double> stopped;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const auto left = static_cast<double>(order.size() - k);
    adjusted = std::max(adjusted, std::min(1.0, left * p[order[k]]));
    HolmStep& step = steps[order[k]];
    step.adjusted = adjusted;
    step.level = stopped.value_or(level / left);
    step.rejected = !stopped && p[order[k]] <= step.level;
    if (!step.rejected && !stopped) stopped = step.level;
  }
  return steps;
}

std::vector<HolmStep> bonferroni(const std::vector<double>& p, double level) {
  std::vector<HolmStep> steps;
  const auto count = static_cast<double>(p.size());
  for (const double each : p) steps.push_back({std::min(1.0, count * each), level / count, each <= level / count});
  return steps;
}

}  // namespace straggler
