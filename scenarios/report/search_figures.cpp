#include "scenarios/report/search_figures.hpp"

#include <algorithm>

#include "scenarios/report/axis_title.hpp"
#include "scenarios/report/charts.hpp"
#include "scenarios/report/said_words.hpp"
#include "scenarios/report/scheme_looks.hpp"
#include "scenarios/report/search_words.hpp"
#include "scenarios/search/search_said.hpp"

namespace straggler {
namespace {

constexpr std::size_t most_settings = 60;

class SearchFigures {
 public:
  SearchFigures(const SearchOutcome& outcome, const RunSheets& sheets)
      : outcome_(outcome), sheets_(sheets), title_(metric_title(outcome.metric.name)), text_(metric_text(outcome.metric.name)) {}

  std::vector<Figure> all() {
    if (std::max(outcome_.found.size(), outcome_.crossed.size()) > 1) by_group();
    for (std::size_t i = 0; i < std::min(outcome_.found.size(), most_pictures); ++i)
      for (std::size_t setting = 0; setting < outcome_.over.size(); ++setting) tried(outcome_.found[i], setting);
    for (std::size_t i = 0; i < std::min(outcome_.crossed.size(), most_pictures); ++i) crossing(outcome_.crossed[i]);
    return std::move(figures_);
  }

 private:
  /// The number of a point of a group among all.
  template <class Group>
  static std::size_t number_of(const std::vector<Group>& groups, const Group& group, std::size_t point) {
    for (const Group* each = &groups.front(); each != &group; ++each) point += each->points.size();
    return point;
  }
  /// To the sheet of a point.
  std::string link(const FoundGroup& group, std::size_t point) const { return sheets_.link(number_of(outcome_.found, group, point)); }
  std::string link(const CrossoverGroup& group, std::size_t point, bool second) const {
    return sheets_.link(2 * number_of(outcome_.crossed, group, point) + (second ? 1 : 0));
  }

  std::string group_name(const std::vector<std::string>& labels) const { return page_words(group_said(outcome_, labels, "")); }
  std::string titled(const std::string& what, const std::vector<std::string>& labels) const {
    const std::string where = group_name(labels);
    return capital(where.empty() ? what : what + " (" + where + ")");
  }

  std::string value_of(const Measured& measured) const { return mean_text(drawable(measured), measured.values.size(), text_, page_mean); }

  LineChart chart_over(const SearchedSetting& setting, const LabelNumbers& axis) const {
    LineChart chart;
    chart.x = {setting_title(outcome_, setting), {}, {}, axis.text};
    for (const auto& number : axis.numbers)
      if (number) chart.x.numbers.push_back(*number);
    chart.y_title = title_;
    chart.y_text = text_;
    return chart;
  }

  // A find.

  std::vector<std::string> labels_of(const FoundGroup& group, std::size_t setting) const {
    std::vector<std::string> labels;
    for (const FoundPoint& point : group.points) labels.push_back(point.values[setting].label);
    return labels;
  }

  std::string tip(const FoundPoint& point) const { return page_words(settings_said(outcome_, point)) + ": " + value_of(point.measured); }

  void tried(const FoundGroup& group, std::size_t setting) {
    if (group.points.empty()) return;
    if (outcome_.over[setting].ordered)
      tried_numbers(group, setting);
    else
      tried_choices(group, setting);
  }

  void tried_numbers(const FoundGroup& group, std::size_t setting) {
    const LabelNumbers axis = numbers_of_labels(labels_of(group, setting));
    LineChart chart = chart_over(outcome_.over[setting], axis);
    if (chart.x.numbers.empty()) return;
    const bool alone = outcome_.over.size() == 1;
    Curve all{"tried", 0, {}, {}, alone}, best{"the best", 1, {}, {}, false}, good{"not significantly worse", 2, {}, {}, false};
    for (std::size_t i = 0; i < group.points.size(); ++i) {
      const FoundPoint& point = group.points[i];
      const RepeatStatistics value = drawable(point.measured);
      if (!axis.numbers[i]) continue;
      if (value.count == 0) {
        all.missed.push_back(*axis.numbers[i]);
        continue;
      }
      Curve& curve = group.is_best(i) ? best : group.as_good(i) ? good : all;
      const ChartPoint drawn{*axis.numbers[i], value.mean,    value.half_width, value.count < point.measured.values.size(),
                             tip(point),       link(group, i)};
      curve.points.push_back(drawn);
      if (alone && &curve != &all) all.points.push_back(drawn);  // the line goes through these points, too
    }
    for (Curve* const curve : {&all, &best, &good})
      std::stable_sort(curve->points.begin(), curve->points.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
    chart.curves = {std::move(all), std::move(best), std::move(good)};
    chart.label = titled(title_ + " over " + chart.x.title, group.labels);
    const std::string others = alone ? "" : " Each mark is a setting that was tried; neighbouring marks also differ in the other settings.";
    figures_.push_back(figure_of(
        chart.label, "Not significantly worse: no test finds the best better; with one run each, within 0.5 % of it." + others, chart));
  }

  /// The best that was tried of each choice.
  void tried_choices(const FoundGroup& group, std::size_t setting) {
    IntervalChart chart;
    std::vector<std::string> names;
    std::vector<std::size_t> best;  // [names]
    for (std::size_t i = 0; i < group.points.size(); ++i) {
      const std::string& name = group.points[i].values[setting].label;
      const auto place = static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
      if (place == names.size()) {
        names.push_back(name);
        best.push_back(i);
      } else if (group.is_best(i) || (!group.is_best(best[place]) && ahead(group.points[i].measured, group.points[best[place]].measured))) {
        best[place] = i;
      }
    }
    chart.groups.emplace_back();
    for (std::size_t i = 0; i < std::min(names.size(), most_settings); ++i) {
      const FoundPoint& point = group.points[best[i]];
      chart.groups[0].rows.push_back(row(names[i], point.measured,
                                         group.is_best(best[i])   ? 1
                                         : group.as_good(best[i]) ? 2
                                                                  : 0,
                                         tip(point), link(group, best[i])));
    }
    chart.title = title_;
    chart.text = text_;
    const std::string path = setting_title(outcome_, outcome_.over[setting]);
    chart.label = titled(title_ + " by " + path, group.labels);
    const bool alone = outcome_.over.size() == 1;
    figures_.push_back(figure_of(chart.label, alone ? "" : "The best setting that was tried with each " + path + ".", chart));
  }

  bool ahead(const Measured& first, const Measured& second) const {
    const RepeatStatistics a = drawable(first), b = drawable(second);
    if (a.count != b.count) return a.count > b.count;
    return outcome_.metric.maximize ? a.mean > b.mean : a.mean < b.mean;
  }

  IntervalRow row(const std::string& name, const Measured& measured, std::size_t colour, const std::string& tip,
                  const std::string& link) const {
    const RepeatStatistics value = drawable(measured);
    return {name,
            value_of(measured),
            colour,
            value.count == 0,
            value.count < measured.values.size(),
            value.mean - value.half_width,
            value.mean,
            value.mean + value.half_width,
            tip,
            link};
  }

  // A crossover.

  void crossing(const CrossoverGroup& group) {
    if (group.points.empty()) return;
    std::vector<std::string> labels;
    for (const ComparedPoint& point : group.points) labels.push_back(point.at.label);
    const LabelNumbers axis = numbers_of_labels(labels);
    LineChart chart = chart_over(outcome_.along, axis);
    if (chart.x.numbers.empty()) return;
    for (const bool second : {false, true}) {
      Curve curve{outcome_.between[second ? 1 : 0], scheme_looks(outcome_.between)[second ? 1 : 0], {}, {}};
      for (std::size_t i = 0; i < group.points.size(); ++i) {
        const Measured& measured = second ? group.points[i].measured.second : group.points[i].measured.first;
        const RepeatStatistics value = drawable(measured);
        if (!axis.numbers[i]) continue;
        if (value.count == 0)
          curve.missed.push_back(*axis.numbers[i]);
        else
          curve.points.push_back({*axis.numbers[i], value.mean, value.half_width, value.count < measured.values.size(),
                                  curve.name + " at " + labels[i] + ": " + value_of(measured), link(group, i, second)});
      }
      chart.curves.push_back(std::move(curve));
    }
    for (const Crossing& crossing : group.crossings)
      if (crossing.noisy) add_band(chart, axis, crossing.unclear_from, crossing.unclear_to, "");
    for (const Crossing& crossing : group.crossings) add_band(chart, axis, crossing.below, crossing.above, crossing.between.label);
    chart.label = titled(title_ + " over " + chart.x.title, group.labels);
    std::string words = "The two do not cross.";
    if (!group.crossings.empty()) words = "The grey interval contains the crossing.";
    if (std::ranges::any_of(group.crossings, &Crossing::noisy))
      words = "The grey interval contains the crossing; in the wide pale interval the repeats cannot tell the two apart.";
    figures_.push_back(figure_of(chart.label, words, chart));
  }

  static void add_band(LineChart& chart, const LabelNumbers& axis, std::size_t from, std::size_t to, const std::string& name) {
    const auto low = axis.numbers[from], high = axis.numbers[to];
    if (!low || !high) return;
    // Crossings close to each other may share the uncertain region around them.
    if (name.empty() && !chart.bands.empty() && *low <= chart.bands.back().to)
      chart.bands.back().to = std::max(chart.bands.back().to, *high);
    else
      chart.bands.push_back({*low, *high, name});
  }

  // Several groups.

  /// The result at every setting of the axes: the best value, or where the winner changes.
  void by_group() {
    const bool find = outcome_.is_find();
    for (std::size_t setting = 0; setting < (find ? outcome_.over.size() : 1); ++setting) {
      const SearchedSetting& searched = find ? outcome_.over[setting] : outcome_.along;
      if (!searched.ordered) continue;
      IntervalChart chart;
      chart.title = setting_title(outcome_, searched);
      chart.groups.emplace_back();
      for (const FoundGroup& group : outcome_.found) add_best(chart, group, setting);
      for (const CrossoverGroup& group : outcome_.crossed) add_crossings(chart, group);
      std::vector<IntervalRow>& rows = chart.groups[0].rows;
      if (rows.size() > most_settings || chart.text == nullptr) continue;
      chart.label = capital(find ? "best " + chart.title : "where the winner changes");
      figures_.push_back(figure_of(
          chart.label, find ? "Bars cover the settings that are not significantly worse than the best." : "Bars contain the crossing.",
          chart));
    }
  }

  void add_best(IntervalChart& chart, const FoundGroup& group, std::size_t setting) const {
    IntervalRow row{group_name(group.labels), "none has a value", 0, true};
    const LabelNumbers axis = numbers_of_labels(labels_of(group, setting));
    if (group.best && axis.numbers[group.best->point]) {
      row.missed = false;
      row.text = group.points[group.best->point].values[setting].label;
      row.low = row.value = row.high = *axis.numbers[group.best->point];
      for (std::size_t i = 0; i < group.points.size(); ++i)
        if (group.as_good(i) && axis.numbers[i]) {
          row.low = std::min(row.low, *axis.numbers[i]);
          row.high = std::max(row.high, *axis.numbers[i]);
        }
      chart.text = axis.text;
    }
    chart.groups[0].rows.push_back(std::move(row));
  }

  void add_crossings(IntervalChart& chart, const CrossoverGroup& group) const {
    std::string name = group_name(group.labels);
    if (group.crossings.empty()) {
      const Winner winner = group.points.empty() ? Winner::neither : group.points.front().winner;
      chart.groups[0].rows.push_back(
          {name, outcome_.name_of(winner) + (winner == Winner::neither ? " anywhere" : " everywhere"), {}, true});
    }
    for (const Crossing& crossing : group.crossings) {
      const auto label = [&](std::size_t clear, std::size_t unclear) { return group.points[crossing.noisy ? unclear : clear].at.label; };
      const LabelNumbers axis = numbers_of_labels(
          {label(crossing.below, crossing.unclear_from), crossing.between.label, label(crossing.above, crossing.unclear_to)});
      if (!axis.numbers[0] || !axis.numbers[1] || !axis.numbers[2]) continue;
      chart.groups[0].rows.push_back(
          {name, crossing.between.label, std::size_t{0}, false, false, *axis.numbers[0], *axis.numbers[1], *axis.numbers[2]});
      chart.text = axis.text;
      name.clear();
    }
  }

  const SearchOutcome& outcome_;
  const RunSheets& sheets_;
  const std::string title_;
  const NumberText text_;
  std::vector<Figure> figures_;
};

}  // namespace

std::vector<ShownSetting> searched_settings(const SearchOutcome& outcome) {
  std::vector<ShownSetting> all;
  const auto paths_of = [&](const std::vector<std::string>& labels) {
    std::vector<std::pair<std::string, std::string>> paths;
    for (std::size_t i = 0; i < std::min(outcome.axes.size(), labels.size()); ++i) paths.emplace_back(outcome.axes[i], labels[i]);
    return paths;
  };
  const auto name_of = [](const std::vector<std::pair<std::string, std::string>>& paths) {
    std::string name;
    for (const auto& [path, value] : paths) {
      const std::string title = axis_title(path);
      if (!name.empty()) name += ", ";
      if (title != "scheme") name.append(title).append(" ");
      name += value;
    }
    return name;
  };
  for (const FoundGroup& group : outcome.found)
    for (const FoundPoint& point : group.points) {
      ShownSetting setting{{}, paths_of(group.labels), shown_runs(point.measured.runs)};
      for (std::size_t i = 0; i < outcome.over.size(); ++i) setting.paths.emplace_back(outcome.over[i].path, point.values[i].label);
      setting.name = name_of(setting.paths);
      all.push_back(std::move(setting));
    }
  for (const CrossoverGroup& group : outcome.crossed)
    for (const ComparedPoint& point : group.points)
      for (const bool second : {false, true}) {
        ShownSetting setting{{},
                             {{outcome.compared, outcome.between[second ? 1 : 0]}},
                             shown_runs(second ? point.measured.second.runs : point.measured.first.runs)};
        for (auto& path : paths_of(group.labels)) setting.paths.push_back(std::move(path));
        setting.paths.emplace_back(outcome.along.path, point.at.label);
        setting.name = name_of(setting.paths);
        all.push_back(std::move(setting));
      }
  return all;
}

std::vector<Figure> search_figures(const SearchOutcome& outcome, const RunSheets& sheets) { return SearchFigures(outcome, sheets).all(); }

}  // namespace straggler
