#include "scenarios/search/find.hpp"

#include <algorithm>

namespace straggler {
namespace {

std::vector<Contender> contenders_of(const std::vector<FoundPoint>& points) {
  std::vector<Contender> contenders;
  for (const FoundPoint& point : points) contenders.push_back(point.measured.contender());
  return contenders;
}

std::optional<std::size_t> best_of(const std::vector<FoundPoint>& points, bool maximize) {
  const std::vector<std::size_t> order = ranked(contenders_of(points), maximize);
  return order.empty() ? std::nullopt : std::optional(order.front());
}

/// Among the points that have a value.
void add_as_good(const std::vector<FoundPoint>& points, bool maximize, FoundBest& best) {
  const std::vector<Contender> all = contenders_of(points);
  const std::vector<std::size_t> order = ranked(all, maximize);
  std::vector<Contender> contenders;
  bool exact = true;
  for (const std::size_t point : order) {
    contenders.push_back(all[point]);
    exact = exact && points[point].measured.exact;
  }
  const Verdict verdict = judge(contenders, {.maximize = maximize, .exact = exact}, TestFamily::with_best);
  best.one_run = verdict.one_run;
  best.as_good = {best.point};
  for (const PairVerdict& pair : verdict.pairs)
    if (verdict.one_run ? pair.test.level() : pair.better() != verdict.ahead) {
      best.as_good.push_back(order[pair.b]);
      if (!verdict.one_run && !pair.alike()) best.open.push_back(order[pair.b]);
    } else if (const auto by = pair.narrow_lead()) {
      best.narrow.push_back({order[pair.b], *by});
    }
  std::sort(best.as_good.begin(), best.as_good.end());
}

/// -1: nothing smaller was tried, 1: nothing greater. 0 also where settings all the way to the other end are as good.
int edge_of(const std::vector<FoundPoint>& points, const FoundBest& best, std::size_t setting) {
  const auto share = [&](std::size_t point) { return points[point].shares[setting]; };
  double low = share(0), high = share(0), good_low = share(best.point), good_high = good_low;
  for (std::size_t i = 0; i < points.size(); ++i) {
    low = std::min(low, share(i));
    high = std::max(high, share(i));
  }
  for (const std::size_t point : best.as_good) {
    good_low = std::min(good_low, share(point));
    good_high = std::max(good_high, share(point));
  }
  if (good_low == low && good_high == high) return 0;
  return share(best.point) == low ? -1 : share(best.point) == high ? 1 : 0;
}

FoundBest standing(const std::vector<FoundPoint>& points, std::size_t best, const std::vector<Setting>& over, bool maximize) {
  FoundBest out;
  out.point = best;
  add_as_good(points, maximize, out);
  for (std::size_t s = 0; s < over.size(); ++s) out.edge.push_back(over[s].ordered() ? edge_of(points, out, s) : 0);
  return out;
}

Trial trial_at(std::size_t group, const std::vector<Setting>& over, const std::vector<double>& shares) {
  Trial trial{group, {}};
  for (std::size_t s = 0; s < over.size(); ++s) trial.set.emplace_back(over[s].path(), over[s].value(shares[s]));
  return trial;
}

/// Every group in the middle, and the first one at the ends of each setting.
void check_ends(Trials& trials, const std::vector<Setting>& over) {
  std::vector<Trial> ends;
  const std::vector<double> middle(over.size(), 0.5);
  for (std::size_t group = 0; group < trials.groups().size(); ++group) ends.push_back(trial_at(group, over, middle));
  for (std::size_t s = 0; s < over.size(); ++s)
    for (const double end : {0.0, 1.0}) {
      std::vector<double> shares = middle;
      shares[s] = end;
      ends.push_back(trial_at(0, over, shares));
    }
  trials.check(ends);
}

}  // namespace

bool can_resume_find(const SearchFile& search, const Trials::Options& options, PointPool& pool) {
  const FindSpec& spec = *search.find;
  Trials trials(search.sweep, options, spec.metric, pool);
  check_ends(trials, spec.over);
  std::vector<Trial> first;
  for (std::size_t group = 0; group < trials.groups().size(); ++group)
    for (const std::vector<double>& shares : BoxSearch(spec.over, spec.budget, trials.seed()).next(std::nullopt))
      first.push_back(trial_at(group, spec.over, shares));
  return trials.any_finished(first);
}

SearchOutcome run_find(const SearchFile& search, const Trials::Options& options, PointPool& pool) {
  const FindSpec& spec = *search.find;
  Trials trials(search.sweep, options, spec.metric, pool);
  check_ends(trials, spec.over);
  const bool maximize = trials.metric().maximize;
  std::vector<FoundGroup> groups;
  std::vector<BoxSearch> searches;
  for (const SweepGroup& group : trials.groups()) {
    groups.push_back({group.labels, {}, {}, false});
    searches.emplace_back(spec.over, spec.budget, trials.seed());
  }
  for (std::size_t batch = 0; !trials.interrupted(); ++batch) {
    std::vector<Trial> wanted;
    std::vector<FoundPoint> points;
    for (std::size_t group = 0; group < searches.size(); ++group) {
      const std::vector<FoundPoint>& tried = groups[group].points;
      const auto best = best_of(tried, maximize);
      for (std::vector<double>& shares : searches[group].next(best ? std::optional(tried[*best].shares) : std::nullopt)) {
        wanted.push_back(trial_at(group, spec.over, shares));
        FoundPoint point{{}, std::move(shares), batch, {}};
        for (const auto& [path, value] : wanted.back().set) point.values.push_back(value);
        points.push_back(std::move(point));
      }
    }
    if (wanted.empty()) break;
    std::vector<Measured> measured = trials.run(wanted);
    for (std::size_t i = 0; i < wanted.size() && !trials.interrupted(); ++i) {
      points[i].measured = std::move(measured[i]);
      groups[wanted[i].group].points.push_back(std::move(points[i]));
    }
  }
  for (std::size_t group = 0; group < searches.size(); ++group) {
    FoundGroup& found = groups[group];
    found.exhaustive = searches[group].exhaustive();
    if (const auto best = best_of(found.points, maximize)) found.best = standing(found.points, *best, spec.over, maximize);
  }
  SearchOutcome outcome = SearchOutcome::of(search);
  trials.report_to(outcome);
  outcome.found = std::move(groups);
  return outcome;
}

}  // namespace straggler
