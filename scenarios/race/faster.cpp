#include "scenarios/race/faster.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "scenarios/sweep/statistics.hpp"

namespace straggler {
namespace {

using boost::math::students_t;

/// Every run has a time whose logarithm can be taken (an accuracy that is there at the start takes no time at all).
bool have_logarithms(const FinishTimes& times) {
  return std::all_of(times.begin(), times.end(), [](const auto& time) { return time && *time > 0; });
}

std::vector<double> logarithms(const FinishTimes& times) {
  std::vector<double> logs;
  for (const auto& time : times) logs.push_back(std::log(*time));
  return logs;
}

/// Fills in p and the sign from mean, error and degrees of freedom. Without any spread a difference is certain, or there is none.
FasterResult judged(FasterResult result) {
  result.faster = result.log_ratio > 0 ? -1 : result.log_ratio < 0 ? 1 : 0;
  if (result.faster == 0)
    result.p = 1;
  else if (!(result.standard_error > 0))
    result.p = 0;
  else
    result.p =
        2 * boost::math::cdf(boost::math::complement(students_t(result.degrees), std::abs(result.log_ratio) / result.standard_error));
  return result;
}

FasterResult paired_t(const FinishTimes& a, const FinishTimes& b) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < a.size(); ++i) differences.push_back(*a[i] == *b[i] ? 0 : std::log(*b[i] / *a[i]));
  const RepeatStatistics seen = statistics_of(differences);
  const auto n = static_cast<double>(a.size());
  return judged({FasterTest::paired_t, 1, 0, seen.mean, seen.deviation / std::sqrt(n), n - 1});
}

FasterResult welch_t(const FinishTimes& a, const FinishTimes& b) {
  const RepeatStatistics of_a = statistics_of(logarithms(a)), of_b = statistics_of(logarithms(b));
  const auto n = static_cast<double>(a.size());
  const double va = of_a.deviation * of_a.deviation / n, vb = of_b.deviation * of_b.deviation / n, both = va + vb;
  const double degrees = both > 0 ? both * both / ((va * va + vb * vb) / (n - 1)) : n - 1;
  return judged({FasterTest::welch_t, 1, 0, of_b.mean - of_a.mean, std::sqrt(both), degrees});
}

/// Twice the mean rank of each time among all, so that ties keep to whole numbers; missed ones come last.
std::vector<std::size_t> doubled_ranks(const FinishTimes& times) {
  const auto before = [&](std::size_t i, std::size_t j) { return times[i] && (!times[j] || *times[i] < *times[j]); };
  std::vector<std::size_t> order(times.size()), ranks(times.size());
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

FasterResult rank_sum(const FinishTimes& a, const FinishTimes& b) {
  FinishTimes all = a;
  all.insert(all.end(), b.begin(), b.end());
  const std::vector<std::size_t> ranks = doubled_ranks(all);
  const auto half = ranks.begin() + static_cast<std::ptrdiff_t>(a.size());
  const std::size_t of_a = std::accumulate(ranks.begin(), half, std::size_t{0}), of_b = std::accumulate(half, ranks.end(), std::size_t{0});
  FasterResult result;
  result.test = FasterTest::rank_sum;
  result.faster = of_a < of_b ? -1 : of_a > of_b ? 1 : 0;
  // Groups are of one size: the other sum is as far from the middle, on the other side.
  const std::size_t low = std::min(of_a, of_b), high = std::max(of_a, of_b);
  const std::vector<double> count = ways(ranks, a.size());
  double extreme = 0, every = 0;
  for (std::size_t sum = 0; sum < count.size(); ++sum) {
    every += count[sum];
    if (sum <= low || sum >= high) extreme += count[sum];
  }
  result.p = extreme / every;
  return result;
}

}  // namespace

const char* name_of(FasterTest test) {
  switch (test) {
    case FasterTest::paired_t:
      return "paired t";
    case FasterTest::welch_t:
      return "Welch t";
    case FasterTest::rank_sum:
      return "rank sum";
  }
  throw std::logic_error("no such test");
}

std::optional<FasterResult::Interval> FasterResult::interval(double confidence) const {
  if (test == FasterTest::rank_sum) return std::nullopt;
  const double half =
      standard_error > 0 ? boost::math::quantile(boost::math::complement(students_t(degrees), (1 - confidence) / 2)) * standard_error : 0;
  return Interval{std::exp(log_ratio - half), std::exp(log_ratio), std::exp(log_ratio + half)};
}

FasterResult which_is_faster(const FinishTimes& a, const FinishTimes& b, bool paired) {
  if (a.size() != b.size() || a.size() < 2 || a.size() > most_ranked)
    throw std::invalid_argument("as many runs of one as of the other are compared, from 2 to most_ranked");
  if (!have_logarithms(a) || !have_logarithms(b)) return rank_sum(a, b);
  return paired ? paired_t(a, b) : welch_t(a, b);
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

}  // namespace straggler
