#include "scenarios/report/sweep_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "scenarios/report/charts.hpp"
#include "scenarios/report/run_charts.hpp"
#include "scenarios/report/said_words.hpp"
#include "scenarios/report/scheme_looks.hpp"
#include "scenarios/report/sweep_why.hpp"
#include "sim/base/readable.hpp"

namespace straggler {
namespace {

constexpr std::size_t most_bars = 60, most_settings_split = 48, most_numbers = 6;  // curves of an axis of numbers

/// The shown part of a setting.
struct Shown {
  std::string key, title;
  NumberText text;
};

class SweepFigures {
 public:
  SweepFigures(const SweepView& view, const ChartPlan& plan, const RunSheets& sheets) : view_(view), plan_(plan), sheets_(sheets) {}

  std::vector<Figure> all() {
    const std::vector<std::vector<std::size_t>> facets = facets_of(view_, plan_);
    const ReportMetric& metric = view_.metric();
    const Shown by_metric{metric.key, metric.title, metric.text};
    const auto as_menu = [this](const std::string& what, const ChartPlan& of, const auto& chosen, const auto& add) {
      const std::size_t before = figures_.size();
      std::vector<std::string> names;
      each(chosen, [&](const auto& facet) {
        const std::size_t count = figures_.size();
        add(facet);
        if (figures_.size() > count) names.push_back(page_words(facet_said(view_, of, facet)));
      });
      if (figures_.size() - before < 2) return;
      std::vector<std::pair<std::string, Figure>> some;
      for (std::size_t i = 0; i < names.size(); ++i) some.emplace_back(names[i], std::move(figures_[before + i]));
      figures_.resize(before);
      figures_.push_back(menu_of(capital(what), std::move(some)));
    };
    if (plan_.y)
      as_menu(plan_.series ? "who has the best " + metric.title : metric.title, plan_, facets,
              [&](const auto& facet) { add_map(facet, by_metric); });
    for (const ChartPlan& plan : curve_plans(view_, plan_)) {
      const std::vector<std::vector<std::size_t>> chosen = chosen_facets(view_, plan);
      as_menu(metric.title + " over " + axis(*plan.x).title, plan, chosen,
              [&](const auto& facet) { add_curves(plan, facet, by_metric, facet == chosen.front()); });
      if (!axis(*plan.x).workers) continue;
      for (const Shown& shown : {Shown{"speed_up", "scaling speed-up in samples per second", factor_text},
                                 Shown{"speed_up_to_target", "scaling speed-up in time to the target", factor_text}})
        as_menu(shown.title, plan, chosen, [&](const auto& facet) { add_speed_up(plan, facet, shown); });
    }
    if (!plan_.x && (plan_.series || !plan_.facets.empty())) add_bars(facets, by_metric);
    add_time_split();
    if (changes_bytes()) add_bars(facets, {"bytes_per_epoch", "bytes sent per epoch", readable_bytes});
    return std::move(figures_);
  }

 private:
  std::string link_of(std::size_t setting) const {
    const std::string link = sheets_.link(setting);
    return link.empty() ? setting_link(setting) : link;
  }
  const ReportAxis& axis(std::size_t i) const { return view_.axes()[i]; }
  /// Words that change the traffic: precision, compression, schemes; only without an axis of numbers to draw them over.
  bool changes_bytes() const { return !plan_.x && plan_.series && view_.has("bytes_per_epoch"); }

  template <class Act>
  static void each(const std::vector<std::vector<std::size_t>>& facets, const Act& act) {
    for (std::size_t i = 0; i < std::min(facets.size(), most_pictures); ++i) act(facets[i]);
  }

  std::string titled(const std::string& what, const ChartPlan& plan, const std::vector<std::size_t>& facet) const {
    const std::string where = page_words(facet_said(view_, plan, facet));
    return capital(where.empty() ? what : what + " (" + where + ")");
  }

  std::vector<std::string> series_names() const { return plan_.series ? axis(*plan_.series).labels : std::vector<std::string>{""}; }

  std::string tip(const ReportSetting& setting, const Shown& shown) const {
    return view_.name_of(setting) + ": " + view_.text(setting, shown.key, shown.text);
  }

  Curve curve(const ChartPlan& plan, const std::vector<std::size_t>& facet, const Shown& shown, std::optional<std::size_t> series) const {
    Curve curve;
    for (const std::size_t x : in_order(axis(*plan.x))) {
      const auto at = setting_of(view_, plan, facet, x, {}, series);
      if (!at) continue;
      const ReportSetting& setting = view_.settings()[*at];
      const RepeatStatistics value = view_.scalars().statistics(setting, shown.key);
      const double number = axis(*plan.x).numbers[x];
      if (value.count == 0)
        curve.missed.push_back(number);
      else
        curve.points.push_back(
            {number, value.mean, value.half_width, value.count < setting.rows.size(), tip(setting, shown), link_of(*at)});
    }
    return curve;
  }

  /// One for each compared value: all words, or some of many numbers.
  std::vector<Curve> curves(const ChartPlan& plan, const std::vector<std::size_t>& facet, const Shown& shown) const {
    if (!plan.series) return {curve(plan, facet, shown, {})};
    const ReportAxis& compared = axis(*plan.series);
    std::vector<Curve> all;
    const std::vector<std::size_t> looks = scheme_looks(compared.labels);
    for (const std::size_t series : chosen_values(compared, most_numbers)) {
      all.push_back(curve(plan, facet, shown, series));
      all.back().name = compared.numbers.empty() ? compared.labels[series] : compared.title + " " + compared.labels[series];
      all.back().colour = compared.numbers.empty() ? looks[series] : all.size() - 1;
    }
    return all;
  }

  LineChart line_chart(const ChartPlan& plan, const std::vector<std::size_t>& facet, const Shown& shown) const {
    const ReportAxis& x = axis(*plan.x);
    LineChart chart;
    chart.label = titled(shown.title, plan, facet) + " over " + x.title;
    chart.x = {x.title, x.numbers, x.labels, nullptr};
    chart.y_title = shown.title;
    chart.y_text = shown.text;
    chart.curves = curves(plan, facet, shown);
    const bool less = view_.metric().key == shown.key && view_.metric().less_is_better;
    if (chart.curves.size() <= 3)
      for (Curve& curve : chart.curves) mark_peak(curve, chart.x, shown.text, less);
    return chart;
  }

  /// Which values of other axes have pictures, where not all of them have.
  void add_chosen(const ChartPlan& plan, std::vector<std::string>& sentences) const {
    for (const std::size_t facet : plan.facets)
      if (const std::size_t count = axis(facet).labels.size(); chosen_values(axis(facet)).size() < count)
        sentences.push_back(
            fmt::format("Of the {} values of {} the smallest, the middle and the largest are drawn.", count, axis(facet).title));
  }

  /// `first`: of several pictures.
  void add_curves(const ChartPlan& plan, const std::vector<std::size_t>& facet, const Shown& shown, bool first) {
    LineChart chart = line_chart(plan, facet, shown);
    const auto some_missed = [](const Curve& curve) { return std::ranges::any_of(curve.points, &ChartPoint::some_missed); };
    std::vector<std::string> notes;
    if (view_.most_repeats() > 1) notes.emplace_back("Bars are 95 % intervals of the mean.");
    if (std::ranges::any_of(chart.curves, some_missed)) notes.emplace_back("Hollow marks: some repeats missed the target.");
    if (std::ranges::any_of(chart.curves, [](const Curve& curve) { return !curve.notes.empty(); }))
      notes.emplace_back("Peak: the best value; knee: the first with 90 % of what is gained by then.");
    if (first) add_chosen(plan, notes);
    figures_.push_back(figure_of(titled(shown.title + " over " + axis(*plan.x).title, plan, facet),
                                 fmt::format("{}", fmt::join(notes, " ")), std::move(chart)));
  }

  void add_speed_up(const ChartPlan& plan, const std::vector<std::size_t>& facet, const Shown& shown) {
    LineChart chart = line_chart(plan, facet, shown);
    if (std::all_of(chart.curves.begin(), chart.curves.end(), [](const Curve& curve) { return curve.points.empty(); })) return;
    const ReportAxis& x = axis(*plan.x);
    const std::vector<std::size_t> order = in_order(x);
    const double first = x.numbers[order.front()];
    if (first > 0)
      for (const std::size_t i : order) chart.ideal.emplace_back(x.numbers[i], x.numbers[i] / first);
    chart.ideal_name = "ideal";
    figures_.push_back(figure_of(
        titled(shown.title, plan, facet),
        fmt::format("Against the fewest workers ({}) of the same {}, seed by seed. On the dashed line twice the workers are twice as fast. "
                    "Knee: 90 % of the gain of the peak.",
                    x.labels[order.front()], plan.series ? axis(*plan.series).title : std::string("setting")),
        chart));
  }

  /// One picture of all facets.
  void add_bars(const std::vector<std::vector<std::size_t>>& facets, const Shown& shown) {
    BarChart chart{shown.title, shown.title, shown.text, {}};
    const std::vector<std::string> names = series_names();
    const std::vector<std::size_t> looks = scheme_looks(names);
    for (const std::vector<std::size_t>& facet : facets)
      for (std::size_t series = 0; series < names.size() && chart.rows.size() < most_bars; ++series) {
        const auto at = setting_of(view_, plan_, facet, {}, {}, series);
        if (!at) continue;
        const ReportSetting& setting = view_.settings()[*at];
        const RepeatStatistics value = view_.scalars().statistics(setting, shown.key);
        std::string name = names[series];
        for (std::size_t i = 0; i < facet.size(); ++i) name += (name.empty() ? "" : ", ") + axis(plan_.facets[i]).labels[facet[i]];
        chart.rows.push_back({name, looks[series], value.count == 0, value.mean, value.half_width,
                              view_.text(setting, shown.key, shown.text), link_of(*at)});
      }
    chart.label = titled(shown.title, plan_, {});
    figures_.push_back(figure_of(titled(shown.title, plan_, {}), {}, chart));
  }

  /// Why settings differ: where the workers' time went.
  void add_time_split() {
    if (view_.settings().size() > most_settings_split || !view_.has("compute_fraction")) return;
    std::vector<std::string> names;
    std::vector<ByPhase<double>> rows;
    std::vector<std::string> links;
    for (std::size_t i = 0; i < view_.settings().size(); ++i) {
      const ReportSetting& setting = view_.settings()[i];
      if (view_.scalars().values(setting, "compute_fraction").empty()) continue;
      names.push_back(view_.name_of(setting));
      links.push_back(link_of(i));
      rows.emplace_back();
      for (const PhaseRow& row : phase_rows) rows.back()[row.phase] = view_.scalars().statistics(setting, share_key(row.phase)).mean;
    }
    StackChart chart = time_split(names, rows);
    if (chart.parts.empty()) return;
    chart.links = std::move(links);
    figures_.push_back(figure_of(chart.label, "Means over the runs of a setting.", chart));
  }

  MapCell winner_cell(const std::vector<std::size_t>& among) const {
    MapCell cell;
    cell.lines = {"not run"};
    if (among.empty()) return cell;
    for (const std::size_t setting : among) {
      const ReportSetting& each = view_.settings()[setting];
      cell.tip += (cell.tip.empty() ? "" : "; ") + axis(*plan_.series).labels[each.at[*plan_.series]] + " " +
                  view_.text(each, view_.metric().key, view_.metric().text);
    }
    const Ranking ranking = view_.rank(among);
    if (ranking.order.empty()) {
      cell.kind = MapCell::Kind::nobody;
      cell.lines = {"nobody"};
      return cell;
    }
    const ReportSetting& first = view_.settings()[ranking.order.front()];
    cell.link = link_of(ranking.order.front());
    const RepeatStatistics best = view_.metric_of(ranking.order.front());
    cell.series = first.at[*plan_.series];
    const std::string time = view_.metric().text(best.mean);
    if (ranking.winner || ranking.one_run) {
      cell.kind = MapCell::Kind::winner;
      cell.lines = {axis(*plan_.series).labels[cell.series], time};
      std::vector<NarrowLead> narrow = ranking.narrow;
      for (NarrowLead& each : narrow) each.contender = view_.settings()[each.contender].at[*plan_.series];
      if (!narrow.empty()) cell.tip += "; " + narrow_words(narrow, series_names());
    } else {
      cell.kind = MapCell::Kind::tie;
      cell.lines = {ranking.open.empty() ? no_difference : "too few seeds", time};
    }
    if (best.count < first.rows.size()) cell.lines.back() += fmt::format(" ({} of {})", best.count, first.rows.size());
    return cell;
  }

  MapCell level_cell(const std::vector<std::size_t>& at, double low, double high, std::size_t best) const {
    MapCell cell;
    cell.lines = {"not run"};
    if (at.empty()) return cell;
    const ReportSetting& setting = view_.settings()[at.front()];
    const RepeatStatistics value = view_.metric_of(at.front());
    cell.link = link_of(at.front());
    const std::string text = view_.text(setting, view_.metric().key, view_.metric().text);
    cell.tip = view_.name_of(setting) + ": " + text;
    if (value.count == 0) {
      cell.kind = MapCell::Kind::nobody;
      cell.lines = {setting.endings().all_finished() ? "missed" : text};
      return cell;
    }
    cell.kind = MapCell::Kind::level;
    const bool logs = low > 0 && high >= 10 * low;
    const double place = logs ? std::log(value.mean / low) / std::log(high / low) : (value.mean - low) / (high - low);
    cell.level = high > low ? place : 0.5;
    cell.best = best == at.front();
    cell.lines = {view_.metric().text(value.mean)};
    if (value.count < setting.rows.size()) cell.lines.push_back(fmt::format("{} of {}", value.count, setting.rows.size()));
    return cell;
  }

  void add_map(const std::vector<std::size_t>& facet, const Shown& shown) {
    MapChart chart;
    const ReportAxis &x_axis = axis(*plan_.x), &y_axis = axis(*plan_.y);
    chart.x_title = x_axis.title;
    chart.y_title = y_axis.title;
    const std::vector<std::size_t> xs = in_order(x_axis), ys = in_order(y_axis);
    for (const std::size_t x : xs) chart.x_labels.push_back(x_axis.labels[x]);
    double low = std::numeric_limits<double>::infinity(), high = 0;
    std::vector<std::size_t> whole;
    for (const std::size_t y : ys)
      for (const std::size_t x : xs)
        for (const std::size_t setting : rivals(view_, plan_, facet, x, y)) {
          whole.push_back(setting);
          const RepeatStatistics value = view_.metric_of(setting);
          if (value.count == 0) continue;
          low = std::min(low, value.mean);
          high = std::max(high, value.mean);
        }
    const Ranking ranking = plan_.series || x_axis.workload || y_axis.workload ? Ranking() : view_.rank(whole, TestFamily::with_best);
    const std::size_t best = ranking.order.empty() ? view_.settings().size() : ranking.order.front();
    for (const std::size_t y : ys) {
      chart.y_labels.push_back(y_axis.labels[y]);
      chart.cells.emplace_back();
      for (const std::size_t x : xs) {
        const std::vector<std::size_t> among = rivals(view_, plan_, facet, x, y);
        chart.cells.back().push_back(plan_.series ? winner_cell(among) : level_cell(among, low, high, best));
      }
    }
    if (!plan_.series && low < high) chart.scale = ColourScale{low, high, shown.text, shown.title, view_.metric().less_is_better};
    if (plan_.series) {
      chart.series = axis(*plan_.series).labels;
      chart.looks = scheme_looks(chart.series);
    }
    const std::string what = plan_.series ? "Who has the best " + shown.title : shown.title;
    chart.label = titled(what, plan_, facet) + ", by " + x_axis.title + " and " + y_axis.title;
    const std::string named = view_.most_repeats() < 2 && !view_.exact()
                                  ? "Each cell names the fastest of one run each, which may be chance, and its " + shown.title
                                  : "Each cell names the winner and its " + shown.title;
    const std::string caption =
        plan_.series ? named +
                           "; point at a cell for the others. Dashed cells have no winner: there is no difference, or there are too few "
                           "seeds to tell."
        : ranking.order.empty() ? std::string()
        : ranking.winner        ? "The framed cell is the best one."
                                : "The framed cell is ahead.";
    std::size_t maps = 0;
    for (const Figure& figure : figures_) maps += figure.files.size();
    figures_.push_back(figure_of(titled(what, plan_, facet), caption, chart, map_file(maps + 1)));
  }

  const SweepView& view_;
  const ChartPlan& plan_;
  const RunSheets& sheets_;
  std::vector<Figure> figures_;
};

}  // namespace

std::string setting_link(std::size_t setting) { return fmt::format("#setting-{}", setting); }

std::string map_file(std::size_t number) { return number == 1 ? std::string("map.svg") : fmt::format("map-{}.svg", number); }

std::vector<Figure> sweep_figures(const SweepView& view, const ChartPlan& plan, const RunSheets& sheets) {
  return SweepFigures(view, plan, sheets).all();
}

}  // namespace straggler
