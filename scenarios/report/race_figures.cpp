#include "scenarios/report/race_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "scenarios/report/axis_title.hpp"
#include "scenarios/report/charts.hpp"
#include "scenarios/report/scheme_looks.hpp"
#include "scenarios/report/search_words.hpp"
#include "scenarios/report/sweep_view.hpp"
#include "sim/base/readable.hpp"

namespace straggler {
namespace {

constexpr std::size_t most_entrants = 80;

RepeatStatistics statistics(const RunValues& times) {
  std::vector<double> reached;
  for (const auto& time : times)
    if (time) reached.push_back(*time);
  return statistics_of(reached);
}

std::size_t rows_of(const IntervalChart& chart) {
  std::size_t rows = 0;
  for (const IntervalGroup& group : chart.groups) rows += group.rows.size();
  return rows;
}

class RaceFigures {
 public:
  RaceFigures(const RaceAnswer& answer, const std::vector<Verdict>& verdicts, const RunSheets& sheets)
      : answer_(answer), verdicts_(verdicts), sheets_(sheets), looks_(scheme_looks(answer.entrants)) {}

  std::vector<Figure> all() {
    times();
    if (answer_.finishes.size() > 2 && answer_.finishes.front().accuracy > 0) course();
    ratios();
    for (std::size_t path = 0; path < answer_.tuned.size(); ++path)
      if (answer_.ordered[path]) tuning(path);
    return std::move(figures_);
  }

 private:
  std::string link_of(std::size_t entrant) const { return entrant < answer_.settings.size() ? sheets_.link(entrant) : std::string(); }

  void times() {
    IntervalChart chart;
    chart.title = "simulated time";
    chart.text = readable_seconds;
    for (const RacedFinish& finish : answer_.finishes) {
      chart.groups.push_back({capital(finish_title(finish)), {}});
      const std::vector<RunValues> all = answer_.times(finish);
      for (std::size_t i = 0; i < all.size(); ++i) {
        const RepeatStatistics value = statistics(all[i]);
        const std::string text = race_time_text(all[i]);
        chart.groups.back().rows.push_back({answer_.entrants[i], text, looks_[i], value.count == 0, value.count < all[i].size(),
                                            value.mean - value.half_width, value.mean, value.mean + value.half_width,
                                            answer_.entrants[i] + ", " + finish_title(finish) + ": " + text, link_of(i)});
      }
    }
    if (rows_of(chart) > most_entrants) return;
    chart.label = answer_.finishes.front().accuracy > 0 ? "Time to each threshold" : "Time an epoch";
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
    for (const RacedFinish& finish : answer_.finishes) {
      chart.x.numbers.push_back(finish.accuracy);
      chart.x.labels.push_back(finish.name);
    }
    chart.y_title = "time to reach it";
    chart.y_text = readable_seconds;
    for (std::size_t entrant = 0; entrant < answer_.entrants.size(); ++entrant) {
      Curve curve{answer_.entrants[entrant], looks_[entrant], {}, {}};
      for (const RacedFinish& finish : answer_.finishes) {
        const RunValues times = answer_.times(finish)[entrant];
        const RepeatStatistics value = statistics(times);
        if (value.count == 0)
          curve.missed.push_back(finish.accuracy);
        else
          curve.points.push_back({finish.accuracy, value.mean, value.half_width, value.count < times.size(),
                                  curve.name + ", " + finish_title(finish) + ": " + race_time_text(times), link_of(entrant)});
      }
      chart.curves.push_back(std::move(curve));
    }
    chart.label = "Time to reach a test accuracy";
    figures_.push_back(figure_of(chart.label, {}, chart));
  }

  IntervalRow row_of(const PairVerdict& pair) const {
    IntervalRow row;
    row.name = answer_.entrants[pair.b] + " over " + answer_.entrants[pair.a];
    const auto faster = pair.better();
    const auto by = pair.narrow_lead();
    const std::string verdict =
        faster ? answer_.entrants[*faster] + " is faster" + (by ? ", " + narrow_words(*by) : "") : pair_words(pair, answer_.entrants);
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
    chart.title = "time of one over time of the other";
    chart.text = readable_number;
    chart.reference = 1;
    chart.from_zero = false;
    bool any = false;
    for (std::size_t i = 0; i < answer_.finishes.size(); ++i) {
      chart.groups.push_back({capital(finish_title(answer_.finishes[i])), {}});
      for (const PairVerdict& pair : verdicts_[i].pairs) {
        chart.groups.back().rows.push_back(row_of(pair));
        any = any || !chart.groups.back().rows.back().missed;
      }
    }
    if (!any || rows_of(chart) > most_entrants) return;
    chart.label = "Time ratio of each pair";
    figures_.push_back(figure_of(chart.label,
                                 "The colour is that of the faster one: its bar does not reach the dashed line (equal times), and less "
                                 "than 0.5 % counts as none. The bar beside \u201cno difference\u201d lies within 10 % of the line. The "
                                 "widths of the bars include Holm's correction over the pairs of one threshold.",
                                 chart));
  }

  /// The highest level that any candidate reached; none: answer_.levels.size().
  std::size_t tuning_level() const {
    for (std::size_t level = answer_.levels.size(); level-- > 0;)
      for (const auto& candidates : answer_.tuning)
        for (const TriedCandidate& tried : candidates)
          if (tried.reached[level] > 0) return level;
    return answer_.levels.size();
  }

  /// The candidates' results over one of the tuned settings.
  void tuning(std::size_t path) {
    std::vector<std::string> labels;
    for (const auto& candidate : answer_.candidates) labels.push_back(candidate[path]);
    const LabelNumbers axis = numbers_of_labels(labels);
    const std::size_t level = tuning_level();
    const bool by_loss = level == answer_.levels.size();
    LineChart chart;
    chart.x = {axis_title(answer_.tuned[path]), {}, {}, axis.text};
    for (const auto& number : axis.numbers)
      if (number) chart.x.numbers.push_back(*number);
    if (chart.x.numbers.empty()) return;
    chart.y_title = by_loss ? std::string("validation loss") : "time to " + answer_.levels[level] + ", held-out samples";
    chart.y_text = by_loss ? readable_number : readable_seconds;
    for (std::size_t entrant = 0; entrant < answer_.tuning.size(); ++entrant)
      chart.curves.push_back(tuning_curve(entrant, level, axis, chart.y_text));
    chart.label = "Tuning: " + chart.y_title + " over " + chart.x.title;
    figures_.push_back(
        figure_of(chart.label,
                  answer_.tuned.size() > 1
                      ? "Each mark is a candidate; all entrants have the same ones. Neighbouring marks also differ in the other settings."
                      : "Each mark is a candidate; all entrants have the same ones.",
                  chart));
  }

  Curve tuning_curve(std::size_t entrant, std::size_t level, const LabelNumbers& axis, NumberText text) const {
    Curve curve{answer_.entrants[entrant], looks_[entrant], {}, {}, answer_.tuned.size() == 1};
    const bool by_loss = level == answer_.levels.size();
    for (std::size_t i = 0; i < answer_.candidates.size(); ++i) {
      const TriedCandidate& tried = answer_.tuning[entrant][i];
      if (!axis.numbers[i]) continue;
      if (by_loss ? tried.loss.empty() : tried.reached[level] == 0) {
        curve.missed.push_back(*axis.numbers[i]);
        continue;
      }
      std::string tip = curve.name + (answer_.candidates[i] == answer_.chosen[entrant] ? ", chosen" : "");
      for (std::size_t path = 0; path < answer_.tuned.size(); ++path)
        tip += ", " + axis_title(answer_.tuned[path]) + " " + answer_.candidates[i][path];
      const double value = by_loss ? tried.loss.front() : tried.seconds[level];
      curve.points.push_back(
          {*axis.numbers[i], value, 0, !by_loss && tried.reached[level] < answer_.tuning_seeds, tip + ": " + text(value)});
    }
    std::stable_sort(curve.points.begin(), curve.points.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
    return curve;
  }

  const RaceAnswer& answer_;
  const std::vector<Verdict>& verdicts_;
  const RunSheets& sheets_;
  std::vector<std::size_t> looks_;  // [entrants]
  std::vector<Figure> figures_;
};

}  // namespace

std::string finish_title(const RacedFinish& finish) {
  if (finish.accuracy == 0) return "time an epoch";
  return "time to " + finish.name + (finish.is_target ? " (target)" : "");
}

std::string race_time_text(const RunValues& times) { return value_text(statistics(times), times.size(), readable_seconds); }

std::vector<Figure> race_figures(const RaceAnswer& answer, const std::vector<Verdict>& verdicts, const RunSheets& sheets) {
  return RaceFigures(answer, verdicts, sheets).all();
}

}  // namespace straggler
