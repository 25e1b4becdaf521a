#include "scenarios/report/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "scenarios/results/verdict.hpp"
#include "scenarios/sweep/time_of_setting.hpp"
#include "sim/base/readable.hpp"

namespace straggler {
namespace {

const char* settings_word(std::size_t count) { return count == 1 ? "setting" : "settings"; }

class Findings {
 public:
  Findings(const SweepView& view, const ChartPlan& plan) : view_(view), plan_(plan) {}

  std::vector<Said> all() {
    if (view_.settings().empty()) return {};
    if (plan_.series && plan_.x) courses();
    best();
    if (plan_.series) winners();
    speed_ups();
    if (view_.most_repeats() < 2)
      say(view_.exact() ? worded("Every setting ran once, which is enough: every seed has the same timing.")
                        : worded("Every setting ran once: {} (repeats: 5 could).", chance_words()));
    for (const std::string& note : Endings::of(view_.outcome().rows).notes()) say(worded("Warning: {}.", note));
    return std::move(sentences_);
  }

 private:
  void say(Said sentence) { sentences_.push_back(std::move(sentence)); }
  const ReportAxis& axis(std::size_t i) const { return view_.axes()[i]; }
  const std::string& series_name(std::size_t setting) const {
    return axis(*plan_.series).labels[view_.settings()[setting].at[*plan_.series]];
  }
  Said value(std::size_t setting) const { return view_.mean_said(view_.settings()[setting], view_.metric().key, view_.metric().text); }
  Said rival_name(std::size_t setting) const { return view_.rival_said(view_.settings()[setting]); }

  /// What settings without a value failed to do: runs of a metric of speed have one if they finish.
  const char* did() const { return view_.metric().speed ? "finished" : "reached the target"; }
  const char* does() const { return view_.metric().speed ? "finishes" : "reaches the target"; }
  std::size_t unfinished(const std::vector<std::size_t>& settings) const {
    return static_cast<std::size_t>(std::ranges::count_if(settings, [&](std::size_t setting) {
      return std::ranges::none_of(view_.settings()[setting].rows, [](const SweepRow* row) { return is_finished(row->fields); });
    }));
  }

  /// The best setting of each workload: workloads are no rivals of each other.
  void best() {
    const std::vector<std::vector<std::size_t>> workloads = view_.workloads();
    for (std::size_t i = 0; i < std::min(workloads.size(), most_courses); ++i) {
      const Said name = view_.workload_said(view_.settings()[workloads[i].front()]);
      best_of(workloads[i], name.empty() ? name : worded("With {}: ", name));
    }
  }

  Said rival_names(const std::vector<std::size_t>& settings) const {
    std::vector<Said> names;
    for (std::size_t i = 0; i < std::min<std::size_t>(settings.size(), 3); ++i) names.push_back(rival_name(settings[i]));
    if (settings.size() > 3) names.push_back(Said(fmt::format("{} more", settings.size() - 3)));
    return joined(names, "; ", "; ");
  }

  Said narrow_rivals(const std::vector<NarrowLead>& narrow) const {
    std::vector<Said> names;
    for (std::size_t i = 0; i < view_.settings().size(); ++i) names.push_back(rival_name(i));
    return narrow_said(narrow, names);
  }

  void best_of(const std::vector<std::size_t>& whole, const Said& where) {
    const std::vector<std::size_t> reached = view_.rank(whole, TestFamily::with_best).order;
    const std::size_t unfinished = this->unfinished(whole);
    if (reached.empty()) {
      say(worded("{}{} setting {}.", where, where.empty() ? "No" : "no",
                 unfinished == whole.size() ? "has a run that finished"
                                            : "reached its target; a lower target or a later stop would tell them apart"));
      return;
    }
    const std::size_t first = reached.front();
    if (whole.size() == 1) {
      say(worded("{}{} only setting: {}.", where, where.empty() ? "The" : "the", value(first)));
      return;
    }
    // If all settings are rivals of each other, they are compared as in a race.
    const Ranking ranking = view_.rank(reached, only_rivals() ? TestFamily::all_pairs : TestFamily::with_best);
    const std::string of = reached.size() == whole.size()
                               ? fmt::format("{} settings", whole.size())
                               : fmt::format("the {} {} that {}", reached.size(), settings_word(reached.size()), did());
    const std::string word = ranking.winner ? "best" : "ahead", what = where.empty() ? capital(word) : word;
    const Said with = view_.metric().less_is_better ? worded("a {} of {}", view_.metric().title, value(first))
                                                    : worded("{} {}", value(first), view_.metric().title);
    Said sentence = worded("{}{} of {}{}: {}, with {}.", where, what, of, ranking.one_run ? ", one run each" : "", rival_name(first), with);
    if (!ranking.narrow.empty()) sentence.add(worded(" {}.", narrow_rivals(ranking.narrow)));
    if (!ranking.alike.empty()) sentence.add(worded(" No difference from it: {}.", rival_names(ranking.alike)));
    if (!ranking.open.empty() && !ranking.one_run) sentence.add(worded(" Too few seeds to tell it from: {}.", rival_names(ranking.open)));
    say(std::move(sentence));
    reason(whole, ranking.order, ranking.winner.has_value());
    if (const std::size_t missed = whole.size() - reached.size() - unfinished; missed > 0)
      say(worded("{}{} of {} settings never reached the target in time.", where, std::to_string(missed), std::to_string(whole.size())));
  }

  /// The setting that the first one is compared with: of another compared value, with everything else equal; else the next one.
  std::optional<std::size_t> rival(const std::vector<std::size_t>& whole, const std::vector<std::size_t>& order) const {
    const auto elsewhere_equal = [&](std::size_t setting) {
      std::vector<std::size_t> at = view_.settings()[setting].at;
      at[*plan_.series] = view_.settings()[order.front()].at[*plan_.series];
      return setting != order.front() && at == view_.settings()[order.front()].at;
    };
    if (plan_.series)
      for (const std::vector<std::size_t>* const among : {&order, &whole})
        if (const auto at = std::find_if(among->begin(), among->end(), elsewhere_equal); at != among->end()) return *at;
    if (order.size() > 1) return order[1];
    const auto other = std::find_if(whole.begin(), whole.end(), [&](std::size_t setting) { return setting != order.front(); });
    return other == whole.end() ? std::nullopt : std::optional(*other);
  }

  /// Why the first is before a rival; `told`: by a test, else in these runs.
  void reason(const std::vector<std::size_t>& whole, const std::vector<std::size_t>& order, bool told) {
    const auto other = rival(whole, order);
    if (!other) return;
    if (const Ranking both = view_.rank({order.front(), *other}); both.level || !both.alike.empty()) return;
    const RunResult a = view_.result(order.front()), b = view_.result(*other);
    const Said first = rival_name(order.front()), second = rival_name(*other);
    const bool missed = std::find(order.begin(), order.end(), *other) == order.end();
    const ThresholdResult* const at = find_threshold(a, a.target_accuracy.value_or(0));
    const char* const begin = told ? "Why: " : "In these runs ";
    if (missed && !view_.metric().speed && at != nullptr && at->seconds)
      say(worded("{}{} gets there in {}, which {} {}.", begin, first, value(order.front()), second, how_missed(a, b, at->threshold)));
    if (missed) return;
    // That more workers handle more samples is no reason.
    const std::string mine = most_time(view_.settings()[order.front()]), theirs = most_time(view_.settings()[*other]);
    if (view_.metric().speed && a.workers != b.workers && !mine.empty() && !theirs.empty()) {
      say(worded("{}the workers of {} are mostly {}; those of {} {}.", begin, first, mine, second, theirs));
      return;
    }
    std::string why;
    if (view_.metric().speed)
      why = why_faster(a, b);
    else if (at != nullptr && at->seconds)
      why = why_sooner(a, b, at->threshold);
    if (!why.empty()) say(worded("{}{} is ahead of {}, {}.", begin, first, second, why));
  }

  bool only_rivals() const {
    return plan_.series && !plan_.x &&
           std::all_of(plan_.facets.begin(), plan_.facets.end(), [&](std::size_t i) { return axis(i).workload; });
  }

  /// The number of wins of each, with everything else equal.
  void winners() {
    const std::vector<std::vector<std::size_t>> places = all_places();
    if (places.size() < 2) return;
    std::map<std::string, std::size_t> wins, leads, narrow;
    std::size_t ties = 0, open = 0, nobody = 0;
    for (const std::vector<std::size_t>& among : places) {
      const Ranking ranking = view_.rank(among);
      if (ranking.order.empty())
        ++nobody;
      else if (ranking.winner)
        ++wins[series_name(*ranking.winner)];
      else if (ranking.level)
        ++open;
      else if (ranking.one_run)
        ++leads[series_name(ranking.order.front())];
      else
        ++(ranking.open.empty() ? ties : open);
      if (ranking.winner && !ranking.narrow.empty()) ++narrow[series_name(*ranking.winner)];
    }
    std::vector<std::string> parts;
    const auto add = [&](const std::string& what, std::size_t count) {
      if (count == 0) return;
      parts.push_back(fmt::format("{} in {}", what, count));
      if (parts.size() == 1) parts.back() += fmt::format(" of {} {}", places.size(), settings_word(places.size()));
    };
    const auto add_all = [&](const std::map<std::string, std::size_t>& counts, const std::string& verb) {
      std::vector<std::pair<std::string, std::size_t>> order(counts.begin(), counts.end());
      std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
      for (const auto& [name, count] : order) add(fmt::format("{} {}", name, verb), count);
    };
    add_all(wins, view_.metric().speed ? "wins on speed" : "wins");
    add_all(leads, "is fastest");
    add("there is no difference", ties);
    add("there are too few seeds to tell", open);
    add(fmt::format("nobody {}", does()), nobody);
    if (parts.empty()) return;
    std::vector<std::string> leads_below;
    for (const auto& [name, count] : narrow) leads_below.push_back(fmt::format("{} in {}", name, count));
    say(worded("With everything else equal, {}{}.{}", listed(parts),
               leads.empty() ? std::string() : "; of one run each, in which " + chance_words(),
               narrow.empty() ? std::string() : fmt::format(" By less than 10 %: {}.", listed(leads_below))));
  }

  /// Where some are rivals of each other.
  std::vector<std::vector<std::size_t>> all_places() const {
    std::vector<std::vector<std::size_t>> places;
    for (const std::vector<std::size_t>& facet : facets_of(view_, plan_))
      for (const std::optional<std::size_t> y : values_of(plan_.y))
        for (const std::optional<std::size_t> x : values_of(plan_.x))
          if (std::vector<std::size_t> among = rivals(view_, plan_, facet, x, y); among.size() > 1) places.push_back(std::move(among));
    return places;
  }

  std::vector<std::optional<std::size_t>> values_of(std::optional<std::size_t> which) const {
    if (!which) return {std::nullopt};
    const std::vector<std::size_t> order = in_order(axis(*which));
    return {order.begin(), order.end()};
  }

  /// Along x, for each value of y: "workers 4: asgd up to bandwidth 100Mbps, then ssgd".
  void courses() {
    std::size_t told = 0;
    for (const std::vector<std::size_t>& facet : facets_of(view_, plan_))
      for (const std::optional<std::size_t> y : values_of(plan_.y)) {
        if (++told > most_courses) return;
        Said where = facet_said(view_, plan_, facet);
        if (y) where.add(where.empty() ? "" : ", ").add(said_of(axis(*plan_.y), *y));
        if (const Said text = course(facet, y); !text.empty())
          say(where.empty() ? worded("Along {}: {}.", title_of(axis(*plan_.x)), text) : worded("At {}: {}.", where, text));
      }
  }

  std::string winner(const std::vector<std::size_t>& among) const {
    const Ranking ranking = view_.rank(among);
    if (ranking.order.empty()) return fmt::format("nobody {}", does());
    if (ranking.level) return "too few seeds to tell " + series_name(ranking.order[0]) + " from " + series_name(ranking.order[1]);
    if (ranking.winner || ranking.one_run) return series_name(ranking.order.front());
    std::vector<std::string> names;
    for (const std::size_t setting : ranking.open.empty() ? ranking.alike : ranking.open) names.push_back(series_name(setting));
    if (!ranking.open.empty()) return "too few seeds to tell " + series_name(ranking.order.front()) + " from " + listed(names);
    return alike_words(series_name(ranking.order.front()), names, ranking.all_alike);
  }

  Said course(const std::vector<std::size_t>& facet, std::optional<std::size_t> y) const {
    struct Run {
      std::string winner;
      std::size_t first, last;
    };
    std::vector<Run> runs;
    for (const std::size_t x : in_order(axis(*plan_.x))) {
      const std::vector<std::size_t> among = rivals(view_, plan_, facet, x, y);
      if (among.size() < 2) continue;
      const std::string name = winner(among);
      if (runs.empty() || runs.back().winner != name)
        runs.push_back({name, x, x});
      else
        runs.back().last = x;
    }
    const ReportAxis& x = axis(*plan_.x);
    if (runs.size() == 1) return worded("{} at every {}", runs[0].winner, title_of(x));
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const std::string &first = x.labels[runs[i].first], &last = x.labels[runs[i].last];
      if (runs[i].first == runs[i].last)
        parts.push_back(fmt::format("{} at {}", runs[i].winner, first));
      else if (i + 1 == runs.size())
        parts.push_back(fmt::format("{} from {} on", runs[i].winner, first));
      else
        parts.push_back(i == 0 ? fmt::format("{} up to {}", runs[i].winner, last)
                               : fmt::format("{} from {} to {}", runs[i].winner, first, last));
    }
    return parts.empty() ? Said() : Said(fmt::format("{}", fmt::join(parts, "; ")));
  }

  /// How many times as fast the most, and the best, number of workers is; on a map at some values of the other axes.
  void speed_ups() {
    if (!view_.has("speed_up")) return;
    for (const ChartPlan& plan : curve_plans(view_, plan_)) {
      if (!axis(*plan.x).workers) continue;
      std::size_t told = 0;
      for (const std::vector<std::size_t>& facet : chosen_facets(view_, plan))
        if (plan_.y && ++told <= most_told)
          speed_ups_together(plan, facet);
        else if (!plan_.y)
          for (const std::optional<std::size_t> series : values_of(plan.series)) speed_up(plan, facet, series);
    }
  }

  struct SpeedUp {
    double factor = 0;
    std::size_t x = 0;
  };
  std::optional<SpeedUp> largest(const ChartPlan& plan, const std::vector<std::size_t>& facet, std::optional<std::size_t> series) const {
    std::optional<SpeedUp> best;
    for (const std::size_t x : in_order(axis(*plan.x)))
      if (const auto at = setting_of(view_, plan, facet, x, {}, series))
        if (const RepeatStatistics factor = view_.scalars().statistics(view_.settings()[*at], speed_up_key());
            factor.count > 0 && factor.mean > (best ? best->factor : 0))
          best = SpeedUp{factor.mean, x};
    return best;
  }
  bool some_reach_the_target() const { return view_.has("speed_up_to_target"); }
  std::string speed_up_key() const { return some_reach_the_target() ? "speed_up_to_target" : "speed_up"; }
  std::string speed_up_words() const {
    return some_reach_the_target() ? "largest scaling speed-up in time to the target" : "largest scaling speed-up in samples per second";
  }

  void speed_up(const ChartPlan& plan, const std::vector<std::size_t>& facet, std::optional<std::size_t> series) {
    const auto best = largest(plan, facet, series);
    if (!best) return;
    Said who = facet_said(view_, plan, facet);
    if (series) who = worded("{}{}{}", axis(*plan.series).labels[*series], who.empty() ? "" : ", ", who);
    const bool alone = who.empty();
    if (!alone) who.add(": ");
    const std::vector<std::size_t> counts = in_order(axis(*plan.x));
    const Said with = counted(axis(*plan.x), best->x);
    if (best->x != counts.front())
      say(worded("{}{} {} is {} with {}{}.", who, alone ? "The" : "the", speed_up_words(), fmt::format("{:.3g}", best->factor), with,
                 best->x != counts.back() ? "; more do not help" : " (the largest count tried)"));
    else if (counts.size() > 1)
      say(worded("{}{} number of workers is faster than {}.", who, alone ? "No" : "no", with));
  }

  /// "1 worker", "8 workers".
  static Said counted(const ReportAxis& axis, std::size_t value) {
    if (axis.title == "workers" && axis.labels[value] == "1") return Said("1 worker");
    return worded("{} {}", axis.labels[value], title_of(axis));
  }

  /// Of all that are compared: "At bandwidth 1Gbps: the largest scaling speed-up … is 12 with 16 workers for ssgd, 4 with 8 for asgd".
  void speed_ups_together(const ChartPlan& plan, const std::vector<std::size_t>& facet) {
    std::vector<Said> parts;
    for (const std::optional<std::size_t> series : values_of(plan.series))
      if (const auto best = largest(plan, facet, series)) {
        Said of;
        if (series) {
          const ReportAxis& compared = axis(*plan.series);
          of = worded(" for {}", compared.numbers.empty() ? Said(compared.labels[*series]) : said_of(compared, *series));
        }
        const Said with = parts.empty() ? counted(axis(*plan.x), best->x) : Said(axis(*plan.x).labels[best->x]);
        parts.push_back(best->x == in_order(axis(*plan.x)).front() ? worded("none with more than {}{}", counted(axis(*plan.x), best->x), of)
                                                                   : worded("{} with {}{}", fmt::format("{:.3g}", best->factor), with, of));
      }
    if (parts.empty() || parts.size() > most_parts) return;
    const Said where = facet_said(view_, plan, facet);
    say(worded("{} {} is {}.", where.empty() ? worded("The") : worded("At {}: the", where), speed_up_words(), joined(parts)));
  }

  static constexpr std::size_t most_courses = 24, most_told = 3, most_parts = 8;
  const SweepView& view_;
  const ChartPlan& plan_;
  std::vector<Said> sentences_;
};

}  // namespace

std::vector<Said> findings(const SweepView& view, const ChartPlan& plan) { return Findings(view, plan).all(); }

}  // namespace straggler
