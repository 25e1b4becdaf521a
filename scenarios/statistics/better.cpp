#include "scenarios/statistics/better.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

std::vector<std::string> names_of(const std::vector<std::size_t>& contenders, const std::vector<std::string>& labels) {
  std::vector<std::string> names;
  for (const std::size_t contender : contenders) names.push_back(labels[contender]);
  return names;
}

void correct(Verdict& verdict, TestFamily family) {
  std::vector<double> p, p_notable;
  for (const PairVerdict& pair : verdict.pairs) {
    p.push_back(pair.test.p);
    p_notable.push_back(pair.test.p_notable());
  }
  const auto correction = family == TestFamily::all_pairs ? holm : bonferroni;
  const std::vector<HolmStep> steps = correction(p, family_wise_error), near_steps = correction(p_notable, family_wise_error);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    verdict.pairs[i].step = steps[i];
    verdict.pairs[i].near_step = near_steps[i];
  }
}

/// "6.1 %"; "almost 10 %" where two digits would round it up to that.
std::string readable_lead(double by) {
  const auto percent = [](double share) { return fmt::format("{:.2g} %", 100 * share); };
  return (percent(by) == percent(notable_ratio - 1) ? "almost " : "") + percent(by);
}

const std::string& less_than_notable() {
  static const std::string text = fmt::format(", less than {:.0f} %", 100 * (notable_ratio - 1));
  return text;
}

/// Without a winner: whom tests find slower than the one ahead and each one that may be level with it. "a and b are faster than c; d is
/// faster than e".
std::string faster_words(const Verdict& verdict, const std::vector<std::string>& labels, const BetterWords& words) {
  std::vector<std::size_t> front{verdict.ahead};
  front.insert(front.end(), verdict.alike.begin(), verdict.alike.end());
  front.insert(front.end(), verdict.open.begin(), verdict.open.end());
  std::vector<std::pair<std::vector<std::size_t>, std::vector<std::size_t>>> groups;  // the slower ones, and who is faster than they
  for (const std::size_t each : front) {
    std::vector<std::size_t> slower;
    for (const PairVerdict& pair : verdict.pairs)
      if (pair.better() == each) slower.push_back(pair.a == each ? pair.b : pair.a);
    if (slower.empty()) continue;
    const auto same = std::ranges::find(groups, slower, &decltype(groups)::value_type::first);
    if (same == groups.end())
      groups.push_back({slower, {each}});
    else
      same->second.push_back(each);
  }
  std::string text;
  for (const auto& [slower, who] : groups)
    text += fmt::format("{}{} {} than {}", text.empty() ? "" : "; ", listed(names_of(who, labels)), who.size() == 1 ? words.is : words.are,
                        listed(names_of(slower, labels)));
  return text;
}

/// Those that tests find better than this one.
std::optional<std::size_t> better_than(std::size_t contender, const std::vector<PairVerdict>& pairs) {
  for (const PairVerdict& pair : pairs)
    if (const auto better = pair.better(); better && better != contender && (pair.a == contender || pair.b == contender)) return better;
  return std::nullopt;
}

}  // namespace

std::optional<double> PairVerdict::narrow_lead() const {
  return better() && near_step.rejected ? std::optional(std::exp(std::abs(test.log_ratio)) - 1) : std::nullopt;
}

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
      if (a != b) verdict.pairs.push_back({a, b, compare(contenders[a], contenders[b], design), {}, {}});
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
    (pair.better() == verdict.ahead ? verdict.beaten : pair.alike() ? verdict.alike : verdict.open).push_back(other);
    if (const auto by = pair.narrow_lead(); by && pair.better() == verdict.ahead) verdict.narrow.push_back({other, *by});
  }
  const auto is_alike = [&](std::size_t contender) { return std::ranges::find(verdict.alike, contender) != verdict.alike.end(); };
  for (const PairVerdict& pair : verdict.pairs)
    if (is_alike(pair.a) && is_alike(pair.b)) verdict.all_alike = verdict.all_alike && pair.alike();
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
  const auto better = pair.better();
  if (!better) return !pair.test.anybody ? nobody_reached : pair.alike() ? no_difference : too_few_seeds;
  const auto by = pair.narrow_lead();
  return labels[*better] + (by ? " (" + narrow_words(*by) + ")" : "");
}

std::string alike_words(const std::string& ahead, const std::vector<std::string>& alike, bool all_alike) {
  std::vector<std::string> all = alike;
  all.insert(all.begin(), ahead);
  return std::string(no_difference) + " between " + (all_alike ? listed(all) : ahead + " and each of " + listed(alike));
}

std::string narrow_words(double by) { return "differs by " + readable_lead(by) + less_than_notable(); }

Said narrow_said(const std::vector<NarrowLead>& narrow, const std::vector<Said>& names) {
  constexpr std::size_t most = 3;
  std::vector<Said> parts;
  for (std::size_t i = 0; i < std::min(narrow.size(), most); ++i)
    parts.push_back(Said(names[narrow[i].contender]).add((i == 0 ? " differs by " : " by ") + readable_lead(narrow[i].by)));
  if (narrow.size() > most) parts.push_back({fmt::format("{} more", narrow.size() - most)});
  return parts.empty() ? Said() : joined(parts, " and ").add(less_than_notable());
}

std::string narrow_words(const std::vector<NarrowLead>& narrow, const std::vector<std::string>& names) {
  return plain(narrow_said(narrow, {names.begin(), names.end()}));
}

std::string chance_words(const char* of, const char* from) { return fmt::format("one seed{} cannot tell chance from {}", of, from); }

std::string readable_p(double p) {
  if (p < 1e-4) return "< 0.0001";
  const auto text = [](double each) { return fmt::format("{:.3g}", each); };
  const bool exact = p == family_wise_error || text(p) != text(family_wise_error);
  return exact ? text(p) : (p < family_wise_error ? "< " : "> ") + text(family_wise_error);
}

std::string sentence(const Verdict& verdict, const std::vector<std::string>& labels, const BetterWords& words) {
  if (!verdict.anybody) return nobody_reached;
  const std::string narrow = verdict.narrow.empty() ? "" : "; " + narrow_words(verdict.narrow, labels);
  if (verdict.winner) return labels[*verdict.winner] + " wins" + narrow;
  if (verdict.beaten.empty() && verdict.open.empty() && verdict.all_alike) return no_difference;
  const std::string faster = faster_words(verdict, labels, words);
  if (faster.empty() && verdict.alike.empty()) return too_few_seeds;
  const std::string& ahead = labels[verdict.ahead];
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (!verdict.alike.empty()) add(alike_words(ahead, names_of(verdict.alike, labels), verdict.all_alike));
  if (!verdict.open.empty()) add("too few seeds to tell " + ahead + " from " + listed(names_of(verdict.open, labels)));
  if (!faster.empty()) add(faster);
  return text + narrow;
}

}  // namespace straggler
