#include "scenarios/search/search_said.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/readable.hpp"

namespace straggler {
namespace {

/// "PATH from 3 to 12", or the choices that occur.
Said spread(const SearchOutcome& outcome, const FoundGroup& group, std::size_t s) {
  const SearchedSetting& setting = outcome.over[s];
  const std::vector<std::size_t>& points = group.best->as_good;
  const auto less = [&](std::size_t a, std::size_t b) { return group.points[a].shares[s] < group.points[b].shares[s]; };
  const auto [low, high] = std::minmax_element(points.begin(), points.end(), less);
  const std::string &from = group.points[*low].values[s].label, &to = group.points[*high].values[s].label;
  if (from == to) return {SaidPath{setting.path}, " " + from};
  if (setting.ordered) return {SaidPath{setting.path}, " from " + from + " to " + to};
  std::string choices;
  for (const std::string& label : setting.labels)
    if (std::ranges::any_of(points, [&](std::size_t point) { return group.points[point].values[s].label == label; }))
      choices += " " + label;
  return {SaidPath{setting.path}, choices};
}

Said flatness(const SearchOutcome& outcome, const FoundGroup& group) {
  const FoundBest& best = *group.best;
  const std::size_t others = best.as_good.size() - 1, open = best.open.size();
  const std::string before = best.one_run ? fmt::format("one run of each: {}; ", chance_words()) : "";
  if (others == 0)
    return {before + (best.one_run ? "no other setting is within 0.5 % of it" : "every other setting that was tried is worse")};
  std::string what = best.one_run ? "within 0.5 % of it" : "not significantly different from it";
  if (!best.one_run)
    what += open == 0        ? std::string(" (no difference)")
            : open == others ? std::string(" (too few seeds for any)")
                             : fmt::format(" (no difference for {}, too few seeds for {})", others - open, open);
  Said said{fmt::format("{}{} other{} of {} tried {} {}: ", before, others, others == 1 ? "" : "s", group.points.size(),
                        others == 1 ? "is" : "are", what)};
  std::vector<Said> spreads;
  for (std::size_t s = 0; s < outcome.over.size(); ++s) spreads.push_back(spread(outcome, group, s));
  return said.add(joined(spreads));
}

std::vector<Said> said_of(const SearchOutcome& outcome, const FoundGroup& group) {
  Said first = group_said(outcome, group.labels);
  const SaidMetric metric{outcome.metric.name};
  const std::string most = outcome.metric.maximize ? "most" : "least";
  if (!group.best)
    return {first.add(fmt::format("none of {} settings has a ", group.points.size()))
                .add(metric)
                .add("; widen the ranges, or let the runs be longer")};
  const FoundPoint& best = group.points[group.best->point];
  std::vector<Said> all{
      first.add(most + " ").add(metric).add(" at ").add(settings_said(outcome, best)),
      {SaidValue{best.measured.statistics, best.measured.values.size(), metric_text(outcome.metric.name)},
       fmt::format(", the {} of {} settings{}", most, group.points.size(), group.exhaustive ? ", which are all settings" : "")},
      flatness(outcome, group)};
  std::vector<Said> names;
  for (const FoundPoint& point : group.points) names.push_back(settings_said(outcome, point));
  if (Said narrow = narrow_said(group.best->narrow, names); !narrow.empty()) all.push_back(std::move(narrow));
  for (std::size_t s = 0; s < outcome.over.size(); ++s)
    if (const int edge = group.best->edge[s]; edge != 0)
      all.push_back({"warning: ", SaidSetting{outcome.over[s].path, best.values[s].label},
                     fmt::format(" lies on the edge of its range; widen the range {}", edge < 0 ? "downwards" : "upwards")});
  return all;
}

/// By how much, relative to the better mean; nothing where one of them has no value.
std::optional<double> lead(const ComparedPoint& point) {
  const auto& [first, second] = point.measured;
  if (first.reached == 0 || second.reached == 0 || point.winner == Winner::neither) return std::nullopt;
  const double better = point.of_winner().statistics.mean;
  if (better == 0) return std::nullopt;
  return std::abs(first.statistics.mean - second.statistics.mean) / std::abs(better);
}

/// "no difference", or "too few seeds to tell" if that holds anywhere.
std::string uncertain_words(const CrossoverGroup& group) {
  const auto open = [](const ComparedPoint& point) { return point.verdict.anybody && !point.verdict.open.empty(); };
  return std::ranges::any_of(group.points, open) ? too_few_seeds : no_difference;
}

/// "; at 2 of 9 values they differ by less than 10 %"
std::string narrow_text(const CrossoverGroup& group) {
  const auto narrow = std::ranges::count_if(group.points, [](const ComparedPoint& point) { return !point.verdict.narrow.empty(); });
  if (narrow == 0) return {};
  return fmt::format("; at {} of {} values they differ by less than 10 %", narrow, group.points.size());
}

/// By how much, and in how many of the values a test says so.
std::string how_certain(const SearchOutcome& outcome, const CrossoverGroup& group, std::size_t certain) {
  const Winner winner = group.points.front().winner;
  const ComparedPoint *least = nullptr, *most = nullptr;
  bool missed = false;
  for (const ComparedPoint& point : group.points) {
    const auto by = lead(point);
    missed = missed || point.measured.first.reached != point.measured.second.reached;
    if (by && (!least || *by < *lead(*least))) least = &point;
    if (by && (!most || *by > *lead(*most))) most = &point;
  }
  std::string text;
  if (least && most)
    text += fmt::format(", by {} (at {}) to {} (at {})", readable_share(*lead(*least)), least->at.label, readable_share(*lead(*most)),
                        most->at.label);
  if (certain < group.points.size() && group.points.front().verdict.one_run)
    text += "; one run of each: " + chance_words();
  else if (certain == 0)
    text += fmt::format("; {} at every value", uncertain_words(group));
  else if (certain < group.points.size())
    text += fmt::format("; it is better at {} of {} values, elsewhere: {}", certain, group.points.size(), uncertain_words(group));
  text += narrow_text(group);
  if (missed)
    text += fmt::format("; {} has none in some repeats", outcome.name_of(winner == Winner::first ? Winner::second : Winner::first));
  return text;
}

Said one_winner(const SearchOutcome& outcome, const CrossoverGroup& group) {
  const SaidMetric metric{outcome.metric.name};
  const SaidPath along{outcome.along.path};
  const std::string where = fmt::format("from {} to {} of ", group.points.front().at.label, group.points.back().at.label);
  const Winner winner = group.points.front().winner;
  if (winner == Winner::neither)
    return {fmt::format("neither {} nor {} is better in ", outcome.between[0], outcome.between[1]), metric, " anywhere " + where, along};
  const auto certain = static_cast<std::size_t>(
      std::ranges::count_if(group.points, [](const ComparedPoint& point) { return point.better() == point.winner; }));
  return {SaidName{outcome.name_of(winner)},
          certain == group.points.size() ? " has the better " : " is ahead in ",
          metric,
          " everywhere " + where,
          along,
          how_certain(outcome, group, certain)};
}

Said winners(const SearchOutcome& outcome, const CrossoverGroup& group) {
  const Winner first = group.points.front().winner;
  Said said;
  if (first == Winner::neither)
    said.add(outcome.name_of(first));
  else
    said.add(SaidName{outcome.name_of(first)});
  said.add(std::ranges::all_of(group.crossings, &Crossing::supported) ? " has the better " : " is ahead in ")
      .add(SaidMetric{outcome.metric.name});
  for (const Crossing& crossing : group.crossings) {
    const ComparedPoint &below = group.points[crossing.below], &above = group.points[crossing.above];
    if (&crossing == &group.crossings.front())
      said.add(" below ").add(SaidSetting{outcome.along.path, crossing.between.label});
    else
      said.add(" up to " + crossing.between.label);
    said.add(fmt::format(", {} above (they cross between {} and {})", outcome.name_of(above.winner), below.at.label, above.at.label));
  }
  return said.add(narrow_text(group));
}

void say_noise(const SearchOutcome& outcome, const CrossoverGroup& group, std::vector<Said>& all) {
  const bool one_run = std::ranges::any_of(group.points, [](const ComparedPoint& point) { return point.verdict.one_run; });
  if (one_run && !group.crossings.empty()) {
    all.push_back({fmt::format("one run of each: {}, and chance may move it", chance_words())});
    return;
  }
  for (const Crossing& crossing : group.crossings)
    if (crossing.noisy)
      all.push_back({fmt::format(
          "from {} to {} {} repeats cannot tell the two apart (95 %), which is wider than the tolerance of {}: repeat more often",
          group.points[crossing.unclear_from].at.label, group.points[crossing.unclear_to].at.label, outcome.repeats,
          readable_share(outcome.tolerance))});
  if (!std::ranges::all_of(group.crossings, &Crossing::supported))
    all.push_back({"on one side of a crossing at least there are too few seeds to tell who is better: repeat more often"});
}

std::vector<Said> said_of(const SearchOutcome& outcome, const CrossoverGroup& group) {
  std::vector<Said> all{group_said(outcome, group.labels)};
  all.front().add(group.crossings.empty() ? one_winner(outcome, group) : winners(outcome, group));
  say_noise(outcome, group, all);
  return all;
}

}  // namespace

Said group_said(const SearchOutcome& outcome, const std::vector<std::string>& labels, const char* end) {
  std::vector<Said> settings;
  for (std::size_t i = 0; i < std::min(outcome.axes.size(), labels.size()); ++i)
    settings.push_back({SaidSetting{outcome.axes[i], labels[i]}});
  return settings.empty() ? Said() : joined(settings).add(end);
}

Said settings_said(const SearchOutcome& outcome, const FoundPoint& point) {
  std::vector<Said> settings;
  for (std::size_t s = 0; s < outcome.over.size(); ++s) settings.push_back({SaidSetting{outcome.over[s].path, point.values[s].label}});
  return joined(settings);
}

std::vector<std::vector<Said>> search_said(const SearchOutcome& outcome) {
  std::vector<std::vector<Said>> all;
  for (const FoundGroup& group : outcome.found) all.push_back(said_of(outcome, group));
  for (const CrossoverGroup& group : outcome.crossed)
    if (!group.points.empty()) all.push_back(said_of(outcome, group));
  return all;
}

std::string compared_words(const SearchOutcome& outcome, const ComparedPoint& point) {
  return pair_words(point.verdict.pairs.front(), outcome.between);
}

std::string standing_words(const FoundGroup& group, std::size_t point) {
  if (!group.best) return {};
  const FoundBest& best = *group.best;
  if (best.point == point) return "the best";
  const auto narrow = std::ranges::find(best.narrow, point, &NarrowLead::contender);
  if (narrow != best.narrow.end()) return narrow_words(narrow->by);
  if (std::ranges::find(best.open, point) != best.open.end()) return too_few_seeds;
  return !group.as_good(point) ? "" : best.one_run ? "within 0.5 %" : no_difference;
}

std::string timing_alone_words(const SearchOutcome& outcome) {
  return outcome.timing_runs == 0              ? ""
         : outcome.timing_runs == outcome.runs ? ", all of timing alone"
                                               : fmt::format(", {} of timing alone", outcome.timing_runs);
}

std::string search_text(const SearchOutcome& outcome) {
  std::string text;
  for (const std::vector<Said>& group : search_said(outcome))
    for (const Said& sentence : group) text += (&sentence == &group.front() ? "" : "  ") + plain(sentence) + "\n";
  for (const std::string& note : outcome.endings().notes()) text += "warning: " + note + "\n";
  return text + fmt::format("{} point{}{}\n", outcome.runs, outcome.runs == 1 ? "" : "s", timing_alone_words(outcome));
}

bool says_intervals(const SearchOutcome& outcome) {
  return std::ranges::any_of(outcome.found, [](const FoundGroup& group) {
    return group.best && group.points[group.best->point].measured.statistics.half_width > 0;
  });
}

}  // namespace straggler
