#include "scenarios/race/verdict.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace straggler {
namespace {

/// Smaller is ahead: how many runs missed it, then the mean time of the others.
std::pair<std::size_t, double> standing(const FinishTimes& times) {
  std::size_t missed = 0;
  double sum = 0;
  for (const auto& time : times) {
    missed += !time;
    sum += time.value_or(0);
  }
  return {missed, missed == times.size() ? 0 : sum / static_cast<double>(times.size() - missed)};
}

std::string listed(const std::vector<std::size_t>& entrants, const std::vector<std::string>& labels) {
  std::string text;
  for (std::size_t i = 0; i < entrants.size(); ++i) text += (i == 0 ? "" : i + 1 == entrants.size() ? " and " : ", ") + labels[entrants[i]];
  return text;
}

}  // namespace

FinishVerdict judge(const std::vector<FinishTimes>& times, bool paired) {
  FinishVerdict verdict;
  std::vector<double> p;
  for (std::size_t a = 0; a < times.size(); ++a)
    for (std::size_t b = a + 1; b < times.size(); ++b) {
      verdict.pairs.push_back({a, b, which_is_faster(times[a], times[b], paired), {}});
      p.push_back(verdict.pairs.back().result.p);
    }
  const std::vector<HolmStep> steps = holm(p, verdict_level);
  for (std::size_t i = 0; i < steps.size(); ++i) verdict.pairs[i].holm = steps[i];

  for (std::size_t entrant = 0; entrant < times.size(); ++entrant) {
    verdict.anybody = verdict.anybody || standing(times[entrant]).first < times[entrant].size();
    if (standing(times[entrant]) < standing(times[verdict.ahead])) verdict.ahead = entrant;
  }
  std::vector<std::size_t> wins(times.size(), 0);
  for (const PairVerdict& pair : verdict.pairs)
    if (const auto faster = pair.faster(); faster && ++wins[*faster] + 1 == times.size()) verdict.ahead = *faster;
  for (const PairVerdict& pair : verdict.pairs) {
    if (pair.a != verdict.ahead && pair.b != verdict.ahead) continue;
    const std::size_t other = pair.a == verdict.ahead ? pair.b : pair.a;
    (pair.faster() == verdict.ahead ? verdict.beaten : verdict.not_told).push_back(other);
  }
  if (verdict.not_told.empty()) verdict.winner = verdict.ahead;
  return verdict;
}

std::string sentence(const FinishVerdict& verdict, const std::vector<std::string>& labels) {
  if (!verdict.anybody) return "nobody reached it";
  if (verdict.winner) return labels[*verdict.winner] + " wins";
  if (verdict.beaten.empty()) return "no difference";
  std::vector<std::size_t> alike = verdict.not_told;
  alike.insert(alike.begin(), verdict.ahead);
  return "no difference between " + listed(alike, labels) + "; " + labels[verdict.ahead] + " is faster than " +
         listed(verdict.beaten, labels);
}

}  // namespace straggler
