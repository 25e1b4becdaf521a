#include "scenarios/statistics/better.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/readable.hpp"

namespace straggler {
namespace {

/// Smaller is ahead: the share of runs that missed it, then the mean of the others.
std::pair<double, double> standing(const Contender& contender, bool maximize) {
  double missed = 0, sum = 0;
  const auto runs = static_cast<double>(contender.size());
  for (const auto& [number, value] : contender) {
    missed += value ? 0 : 1;
    sum += value.value_or(0);
  }
  if (missed == runs) return {1, 0};
  return {missed / runs, (maximize ? -sum : sum) / (runs - missed)};
}

bool has_value(const Contender& contender) {
  return std::any_of(contender.begin(), contender.end(), [](const auto& run) { return run.second.has_value(); });
}

PairTest compare(const Contender& a, const Contender& b, const RunDesign& design) {
  RunValues of_a, of_b;
  for (const auto& [number, value] : a) {
    const auto other = b.find(number);
    if (other == b.end()) continue;
    of_a.push_back(value);
    of_b.push_back(other->second);
  }
  return compare_runs(of_a, of_b, design);
}

std::string names_of(const std::vector<std::size_t>& contenders, const std::vector<std::string>& labels) {
  std::vector<std::string> names;
  for (const std::size_t contender : contenders) names.push_back(labels[contender]);
  return listed(names);
}

void correct(Verdict& verdict, TestFamily family) {
  std::vector<double> p;
  for (const PairVerdict& pair : verdict.pairs) p.push_back(pair.test.p);
  const std::vector<HolmStep> steps = family == TestFamily::all_pairs ? holm(p, family_wise_error) : bonferroni(p, family_wise_error);
  for (std::size_t i = 0; i < steps.size(); ++i) verdict.pairs[i].step = steps[i];
}

/// Those that tests find better than this one.
std::optional<std::size_t> better_than(std::size_t contender, const std::vector<PairVerdict>& pairs) {
  for (const PairVerdict& pair : pairs)
    if (const auto better = pair.better(); better && better != contender && (pair.a == contender || pair.b == contender)) return better;
  return std::nullopt;
}

}  // namespace

Contender contender_of(const RunValues& values) {
  Contender contender;
  for (std::size_t i = 0; i < values.size(); ++i) contender[static_cast<std::int64_t>(i)] = values[i];
  return contender;
}

bool is_ahead(const Contender& a, const Contender& b, bool maximize) { return standing(a, maximize) < standing(b, maximize); }

std::vector<std::size_t> ranked(const std::vector<Contender>& contenders, bool maximize) {
  std::vector<std::size_t> order;
  std::vector<std::pair<double, double>> standings;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    standings.push_back(standing(contenders[i], maximize));
    if (has_value(contenders[i])) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return standings[i] < standings[j]; });
  return order;
}

Verdict judge(const std::vector<Contender>& contenders, const RunDesign& design, TestFamily family) {
  Verdict verdict;
  const std::vector<std::size_t> order = ranked(contenders, design.maximize);
  verdict.anybody = !order.empty();
  if (verdict.anybody) verdict.ahead = order.front();
  for (std::size_t a = 0; a < contenders.size(); ++a) {
    if (family == TestFamily::with_best && a != verdict.ahead) continue;
    for (std::size_t b = family == TestFamily::with_best ? 0 : a + 1; b < contenders.size(); ++b)
      if (a != b) verdict.pairs.push_back({a, b, compare(contenders[a], contenders[b], design), {}});
  }
  correct(verdict, family);

  // The mean of values and the mean of logarithms may disagree; the tests decide.
  std::vector<std::size_t> wins(contenders.size(), 0);
  for (const PairVerdict& pair : verdict.pairs)
    if (const auto better = pair.better(); better && ++wins[*better] + 1 == contenders.size()) verdict.ahead = *better;
  for (std::size_t i = 0; i < contenders.size() && family == TestFamily::all_pairs; ++i)
    if (const auto better = better_than(verdict.ahead, verdict.pairs)) verdict.ahead = *better;
  bool untested = !verdict.pairs.empty();
  for (const PairVerdict& pair : verdict.pairs) {
    untested = untested && pair.test.kind == TestKind::untested;
    if (pair.a != verdict.ahead && pair.b != verdict.ahead) continue;
    const std::size_t other = pair.a == verdict.ahead ? pair.b : pair.a;
    (pair.better() == verdict.ahead ? verdict.beaten : pair.too_few() ? verdict.open : verdict.alike).push_back(other);
  }
  verdict.one_run = untested;
  if (verdict.anybody && verdict.beaten.size() + 1 == contenders.size()) verdict.winner = verdict.ahead;
  return verdict;
}

Verdict judge(const std::vector<RunValues>& values, const RunDesign& design) {
  std::vector<Contender> contenders;
  for (const RunValues& each : values) contenders.push_back(contender_of(each));
  return judge(contenders, design);
}

std::size_t runs_that_tell(std::size_t rivals) {
  const double pairs = static_cast<double>(rivals) * static_cast<double>(rivals - 1) / 2;
  std::size_t runs = 2;
  while (smallest_rank_p(runs) > family_wise_error / pairs) ++runs;
  return runs;
}

std::string pair_words(const PairVerdict& pair, const std::vector<std::string>& labels) {
  if (const auto better = pair.better()) return labels[*better];
  return pair.too_few() ? too_few_seeds : no_difference;
}

std::string sentence(const Verdict& verdict, const std::vector<std::string>& labels) {
  if (!verdict.anybody) return "nobody reached it";
  if (verdict.winner) return labels[*verdict.winner] + " wins";
  if (verdict.beaten.empty() && verdict.open.empty()) return no_difference;
  if (verdict.beaten.empty() && verdict.alike.empty()) return too_few_seeds;
  const std::string& ahead = labels[verdict.ahead];
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (!verdict.alike.empty()) {
    std::vector<std::size_t> alike = verdict.alike;
    alike.insert(alike.begin(), verdict.ahead);
    add("no difference between " + names_of(alike, labels));
  }
  if (!verdict.open.empty()) add("too few seeds to tell " + ahead + " from " + names_of(verdict.open, labels));
  if (!verdict.beaten.empty()) add(ahead + " is faster than " + names_of(verdict.beaten, labels));
  return text;
}

}  // namespace straggler
