#include "scenarios/report/race_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "scenarios/race/race_tables.hpp"
#include "scenarios/report/axis_title.hpp"
#include "scenarios/report/charts.hpp"
#include "scenarios/report/pareto.hpp"
#include "scenarios/report/said_words.hpp"
#include "scenarios/report/scheme_looks.hpp"
#include "scenarios/report/search_words.hpp"
#include "sim/base/readable.hpp"

namespace straggler {
namespace {

constexpr std::size_t most_entrants = 80;

std::size_t rows_of(const IntervalChart& chart) {
  std::size_t rows = 0;
  for (const IntervalGroup& group : chart.groups) rows += group.rows.size();
  return rows;
}

class RaceFigures {
 public:
  RaceFigures(const RaceOutcome& outcome, const RunSheets& sheets)
      : outcome_(outcome), sheets_(sheets), labels_(outcome.labels()), looks_(scheme_looks(labels_)) {}

  std::vector<Figure> all() {
    times();
    if (outcome_.finishes.size() > 2 && outcome_.finishes.front().accuracy > 0) course();
    ratios();
    against_costs();
    if (outcome_.tuning)
      for (std::size_t path = 0; path < outcome_.tuning->paths.size(); ++path)
        if (outcome_.tuning->shares.front()[path] >= 0) tuning(path);
    return std::move(figures_);
  }

 private:
  void times() {
    IntervalChart chart;
    chart.title = outcome_.by().chart;
    chart.text = outcome_.by().text;
    for (const Finish& finish : outcome_.finishes) {
      chart.groups.push_back({capital(finish_title(finish)), {}});
      const std::vector<RunValues> all = outcome_.times(finish);
      std::vector<std::size_t> order(all.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::stable_sort(order, {}, [&](std::size_t i) {
        const RepeatStatistics time = statistics_of(all[i]);
        return std::pair(all[i].size() - time.count, time.mean);
      });
      for (const std::size_t i : order) {
        const RepeatStatistics value = statistics_of(all[i]);
        const std::string text = race_value_text(outcome_, all[i]);
        chart.groups.back().rows.push_back({labels_[i], text, looks_[i], value.count == 0, value.count < all[i].size(),
                                            value.mean - value.half_width, value.mean, value.mean + value.half_width,
                                            labels_[i] + ", " + finish_title(finish) + ": " + text, sheets_.link(i)});
      }
    }
    if (rows_of(chart) > most_entrants) return;
    chart.label = capital(outcome_.by().name) + (outcome_.finishes.front().accuracy > 0 ? " to each threshold" : " an epoch");
    figures_.push_back(
        figure_of(chart.label,
                  "Marks are means over the runs that reached it, bars their 95 % intervals; hollow marks: some runs missed it.", chart));
  }

  /// Times over thresholds, which show early and late leaders.
  void course() {
    LineChart chart;
    chart.x.title = "test accuracy";
    chart.linear_x = true;
    chart.x_from_zero = false;
    for (const Finish& finish : outcome_.finishes) {
      chart.x.numbers.push_back(finish.accuracy);
      chart.x.labels.push_back(finish.name);
    }
    chart.y_title = fmt::format("{} to reach it", outcome_.by().name);
    chart.y_text = outcome_.by().text;
    for (std::size_t entrant = 0; entrant < labels_.size(); ++entrant) {
      Curve curve{labels_[entrant], looks_[entrant], {}, {}};
      for (const Finish& finish : outcome_.finishes) {
        const RunValues times = outcome_.times(finish)[entrant];
        const RepeatStatistics value = statistics_of(times);
        if (value.count == 0)
          curve.missed.push_back(finish.accuracy);
        else
          curve.points.push_back({finish.accuracy, value.mean, value.half_width, value.count < times.size(),
                                  curve.name + ", " + finish_title(finish) + ": " + race_value_text(outcome_, times),
                                  sheets_.link(entrant)});
      }
      chart.curves.push_back(std::move(curve));
    }
    chart.label = capital(outcome_.by().name) + " to reach a test accuracy";
    figures_.push_back(figure_of(chart.label, {}, chart));
  }

  IntervalRow row_of(const PairVerdict& pair) const {
    IntervalRow row;
    row.name = labels_[pair.b] + " over " + labels_[pair.a];
    const auto faster = pair.better();
    const auto by = pair.narrow_lead();
    const std::string verdict =
        faster ? labels_[*faster] + " " + outcome_.by().is + (by ? ", " + narrow_words(*by) : "") : pair_words(pair, labels_);
    if (faster) row.colour = looks_[*faster];
    const auto interval = pair.interval();
    if (!interval) {
      row.missed = true;
      row.text = pair.test.anybody ? "by ranks, since some missed it: " + verdict : "missed by all";
      return row;
    }
    row.low = interval->low;
    row.value = interval->ratio;
    row.high = interval->high;
    row.text = readable_number(interval->ratio) + ", " + verdict;
    row.tip =
        fmt::format("{}: {} to {} ({:.4g} %)", row.name, readable_number(row.low), readable_number(row.high), 100 * pair.confidence());
    return row;
  }

  void ratios() {
    IntervalChart chart;
    chart.title = fmt::format("{0} of one over {0} of the other", outcome_.by().name);
    chart.text = readable_number;
    chart.reference = 1;
    chart.from_zero = false;
    bool any = false;
    for (std::size_t i = 0; i < outcome_.finishes.size(); ++i) {
      chart.groups.push_back({capital(finish_title(outcome_.finishes[i])), {}});
      for (const PairVerdict& pair : outcome_.verdicts[i].pairs) {
        chart.groups.back().rows.push_back(row_of(pair));
        any = any || !chart.groups.back().rows.back().missed;
      }
    }
    if (!any || rows_of(chart) > most_entrants) return;
    chart.label = fmt::format("{} ratio of each pair", capital(outcome_.by().name));
    figures_.push_back(figure_of(chart.label,
                                 "The colour is that of the better one: its bar does not reach the dashed line (both are equal), and less "
                                 "than 0.5 % counts as none. The bar beside \u201cno difference\u201d lies within 10 % of the line. The "
                                 "widths of the bars include Holm's correction over the pairs of one threshold.",
                                 chart));
  }

  /// Time against price and energy, until the finish that counts most: the target, else the last one.
  void against_costs() {
    const Finish* finish = &outcome_.finishes.back();
    for (const Finish& each : outcome_.finishes)
      if (each.is_target) finish = &each;
    for (const Measure measure : {Measure::price, Measure::energy}) {
      const MeasureRow& row = straggler::row_of(measure);
      std::vector<ParetoPoint> points;
      for (std::size_t entrant = 0; entrant < labels_.size(); ++entrant) {
        std::vector<double> seconds, costs;
        for (const StudyRun& run : outcome_.runs[entrant]) {
          const auto time = value_by(straggler::row_of(Measure::time), *finish, run), cost = value_by(row, *finish, run);
          if (!time || !cost) continue;
          seconds.push_back(*time);
          costs.push_back(*cost);
        }
        if (!seconds.empty())
          points.push_back(
              {labels_[entrant], looks_[entrant], statistics_of(seconds).mean, statistics_of(costs).mean, sheets_.link(entrant)});
      }
      const auto title = [finish](const MeasureRow& of) { return title_to(of, finish->accuracy, finish->is_target); };
      if (auto figure = pareto_figure(points, row, title(straggler::row_of(Measure::time)), title(row)))
        figures_.push_back(std::move(*figure));
    }
  }

  /// Of one run, whatever the race is by.
  static std::optional<double> value_by(const MeasureRow& row, const Finish& finish, const StudyRun& run) {
    Finish own = finish;
    own.field = finish.accuracy == 0 ? row.whole : finish.is_target ? row.to_target : key_to(row, finish.name);
    return run.fields.empty() ? std::nullopt : value_to(own, run.fields, run.sketch);
  }

  /// The highest level that any candidate reached; none: outcome_.levels.size().
  std::size_t tuning_level() const {
    for (std::size_t level = outcome_.levels.size(); level-- > 0;)
      for (const Tuned& tuned : outcome_.tuned)
        for (const Criterion& tried : tuned.criteria)
          if (tried.levels[level].reached > 0) return level;
    return outcome_.levels.size();
  }

  /// The candidates' results over one of the tuned settings.
  void tuning(std::size_t path) {
    std::vector<std::string> labels;
    for (const auto& candidate : outcome_.tuning->candidates) labels.push_back(candidate[path]);
    const LabelNumbers axis = numbers_of_labels(labels);
    const std::size_t level = tuning_level();
    const bool by_loss = level == outcome_.levels.size();
    LineChart chart;
    chart.x = {axis_title(outcome_.tuning->paths[path]), {}, {}, axis.text};
    for (const auto& number : axis.numbers)
      if (number) chart.x.numbers.push_back(*number);
    if (chart.x.numbers.empty()) return;
    chart.y_title = by_loss ? std::string("validation loss")
                            : fmt::format("{} to {}, held-out samples", outcome_.by().name, outcome_.levels[level].name);
    chart.y_text = by_loss ? readable_number : outcome_.by().text;
    for (std::size_t entrant = 0; entrant < outcome_.tuned.size(); ++entrant)
      chart.curves.push_back(tuning_curve(entrant, level, axis, chart.y_text));
    chart.label = "Tuning: " + chart.y_title + " over " + chart.x.title;
    figures_.push_back(
        figure_of(chart.label,
                  outcome_.tuning->paths.size() > 1
                      ? "Each mark is a candidate; all entrants have the same ones. Neighbouring marks also differ in the other settings."
                      : "Each mark is a candidate; all entrants have the same ones.",
                  chart));
  }

  Curve tuning_curve(std::size_t entrant, std::size_t level, const LabelNumbers& axis, NumberText text) const {
    const Tuning& tuning = *outcome_.tuning;
    const Tuned& tuned = outcome_.tuned[entrant];
    Curve curve{labels_[entrant], looks_[entrant], {}, {}, tuning.paths.size() == 1};
    const bool by_loss = level == outcome_.levels.size();
    for (std::size_t i = 0; i < tuning.candidates.size(); ++i) {
      const Criterion& tried = tuned.criteria[i];
      if (!axis.numbers[i]) continue;
      if (by_loss ? tried.failed || !std::isfinite(tried.loss) : tried.levels[level].reached == 0) {
        curve.missed.push_back(*axis.numbers[i]);
        continue;
      }
      std::string tip = curve.name + (tuning.candidates[i] == tuning.candidates[tuned.best] ? ", chosen" : "");
      for (std::size_t path = 0; path < tuning.paths.size(); ++path)
        tip += ", " + axis_title(tuning.paths[path]) + " " + tuning.candidates[i][path];
      const double value = by_loss ? tried.loss : tried.levels[level].seconds;
      curve.points.push_back(
          {*axis.numbers[i], value, 0, !by_loss && tried.levels[level].reached < tuning.seeds, tip + ": " + text(value)});
    }
    std::stable_sort(curve.points.begin(), curve.points.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
    return curve;
  }

  const RaceOutcome& outcome_;
  const RunSheets& sheets_;
  const std::vector<std::string> labels_;
  std::vector<std::size_t> looks_;  // [entrants]
  std::vector<Figure> figures_;
};

}  // namespace

std::string race_value_text(const RaceOutcome& outcome, const RunValues& values) {
  return mean_text(statistics_of(values), values.size(), outcome.by().text, page_mean);
}

std::vector<Figure> race_figures(const RaceOutcome& outcome, const RunSheets& sheets) { return RaceFigures(outcome, sheets).all(); }

}  // namespace straggler
