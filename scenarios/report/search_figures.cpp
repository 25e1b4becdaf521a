#include "scenarios/report/search_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "scenarios/report/axis_title.hpp"
#include "scenarios/report/charts.hpp"
#include "scenarios/report/scheme_looks.hpp"
#include "scenarios/report/search_words.hpp"
#include "scenarios/report/sweep_view.hpp"

namespace straggler {
namespace {

constexpr std::size_t most_settings = 60;

RepeatStatistics statistics(const AnswerValue& value) { return {value.count, value.mean, 0, value.half_width}; }

class SearchFigures {
 public:
  SearchFigures(const SearchAnswer& answer, const RunSheets& sheets)
      : answer_(answer), sheets_(sheets), title_(metric_title(answer.metric)), text_(metric_number_text(answer.metric)) {}

  std::vector<Figure> all() {
    if (std::max(answer_.found.size(), answer_.crossed.size()) > 1) answers();
    for (std::size_t i = 0; i < std::min(answer_.found.size(), most_pictures); ++i)
      for (std::size_t setting = 0; setting < answer_.over.size(); ++setting) tried(answer_.found[i], setting);
    for (std::size_t i = 0; i < std::min(answer_.crossed.size(), most_pictures); ++i) crossing(answer_.crossed[i]);
    return std::move(figures_);
  }

 private:
  /// To the sheet of a point of a group.
  std::string link(const TriedGroup& group, std::size_t point) const {
    for (const TriedGroup& each : answer_.found) {
      if (&each == &group) break;
      point += each.points.size();
    }
    return sheets_.link(point);
  }
  std::string link(const ComparedGroup& group, std::size_t point, bool second) const {
    for (const ComparedGroup& each : answer_.crossed) {
      if (&each == &group) break;
      point += each.points.size();
    }
    return sheets_.link(2 * point + (second ? 1 : 0));
  }

  std::string titled(const std::string& what, const std::vector<std::string>& labels) const {
    const std::string where = group_title(answer_.axes, labels);
    return capital(where.empty() ? what : what + " (" + where + ")");
  }

  std::string value_of(const AnswerValue& value) const { return value_text(statistics(value), value.repeats, text_); }

  LineChart chart_over(const SearchedSetting& setting, const LabelNumbers& axis) const {
    LineChart chart;
    chart.x = {axis_title(setting.path), {}, {}, axis.text};
    for (const auto& number : axis.numbers)
      if (number) chart.x.numbers.push_back(*number);
    chart.y_title = title_;
    chart.y_text = text_;
    return chart;
  }

  // A find.

  std::vector<std::string> labels_of(const TriedGroup& group, std::size_t setting) const {
    std::vector<std::string> labels;
    for (const TriedSetting& point : group.points) labels.push_back(point.labels[setting]);
    return labels;
  }

  std::string tip(const TriedSetting& point) const {
    std::string tip;
    for (std::size_t i = 0; i < answer_.over.size(); ++i) tip += axis_title(answer_.over[i].path) + " " + point.labels[i] + ", ";
    return tip.substr(0, tip.empty() ? 0 : tip.size() - 2) + ": " + value_of(point.value);
  }

  void tried(const TriedGroup& group, std::size_t setting) {
    if (group.points.empty()) return;
    if (answer_.over[setting].numbers)
      tried_numbers(group, setting);
    else
      tried_choices(group, setting);
  }

  void tried_numbers(const TriedGroup& group, std::size_t setting) {
    const LabelNumbers axis = numbers_of_labels(labels_of(group, setting));
    LineChart chart = chart_over(answer_.over[setting], axis);
    if (chart.x.numbers.empty()) return;
    const bool alone = answer_.over.size() == 1;
    Curve all{"tried", 0, {}, {}, alone}, best{"the best", 1, {}, {}, false}, good{"not told apart", 2, {}, {}, false};
    for (std::size_t i = 0; i < group.points.size(); ++i) {
      const TriedSetting& point = group.points[i];
      if (!axis.numbers[i]) continue;
      if (point.value.count == 0) {
        all.missed.push_back(*axis.numbers[i]);
        continue;
      }
      Curve& curve = i == group.best ? best : point.as_good ? good : all;
      const ChartPoint drawn{*axis.numbers[i], point.value.mean, point.value.half_width, point.value.count < point.value.repeats,
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
        chart.label, "Not told apart: not significantly worse than the best; with one run each, within 0.5 % of it." + others, chart));
  }

  /// The best that was tried of each choice.
  void tried_choices(const TriedGroup& group, std::size_t setting) {
    IntervalChart chart;
    std::vector<std::string> names;
    std::vector<std::size_t> best;  // [names]
    for (std::size_t i = 0; i < group.points.size(); ++i) {
      const std::string& name = group.points[i].labels[setting];
      const auto place = static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
      if (place == names.size()) {
        names.push_back(name);
        best.push_back(i);
      } else if (i == group.best || (best[place] != group.best && ahead(group.points[i], group.points[best[place]]))) {
        best[place] = i;
      }
    }
    chart.groups.emplace_back();
    for (std::size_t i = 0; i < std::min(names.size(), most_settings); ++i) {
      const TriedSetting& point = group.points[best[i]];
      chart.groups[0].rows.push_back(row(names[i], point.value,
                                         best[i] == group.best ? 1
                                         : point.as_good       ? 2
                                                               : 0,
                                         tip(point), link(group, best[i])));
    }
    chart.title = title_;
    chart.text = text_;
    const std::string path = axis_title(answer_.over[setting].path);
    chart.label = titled(title_ + " by " + path, group.labels);
    const bool alone = answer_.over.size() == 1;
    figures_.push_back(figure_of(chart.label, alone ? "" : "The best setting that was tried with each " + path + ".", chart));
  }

  bool ahead(const TriedSetting& a, const TriedSetting& b) const {
    if (a.value.count != b.value.count) return a.value.count > b.value.count;
    return answer_.maximize ? a.value.mean > b.value.mean : a.value.mean < b.value.mean;
  }

  IntervalRow row(const std::string& name, const AnswerValue& value, std::size_t colour, const std::string& tip,
                  const std::string& link) const {
    return {name,
            value_of(value),
            colour,
            value.count == 0,
            value.count < value.repeats,
            value.mean - value.half_width,
            value.mean,
            value.mean + value.half_width,
            tip,
            link};
  }

  // A crossover.

  void crossing(const ComparedGroup& group) {
    if (group.points.empty()) return;
    std::vector<std::string> labels;
    for (const ComparedSetting& point : group.points) labels.push_back(point.label);
    const LabelNumbers axis = numbers_of_labels(labels);
    LineChart chart = chart_over(answer_.along, axis);
    if (chart.x.numbers.empty()) return;
    for (const bool second : {false, true}) {
      Curve curve{answer_.between[second ? 1 : 0], scheme_looks(answer_.between)[second ? 1 : 0], {}, {}};
      for (std::size_t i = 0; i < group.points.size(); ++i) {
        const AnswerValue& value = second ? group.points[i].second : group.points[i].first;
        if (!axis.numbers[i]) continue;
        if (value.count == 0)
          curve.missed.push_back(*axis.numbers[i]);
        else
          curve.points.push_back({*axis.numbers[i], value.mean, value.half_width, value.count < value.repeats,
                                  curve.name + " at " + labels[i] + ": " + value_of(value), link(group, i, second)});
      }
      chart.curves.push_back(std::move(curve));
    }
    for (const FoundCrossing& crossing : group.crossings) add_band(chart, labels, axis, crossing.unclear_from, crossing.unclear_to, "");
    for (const FoundCrossing& crossing : group.crossings) add_band(chart, labels, axis, crossing.below, crossing.above, crossing.between);
    chart.label = titled(title_ + " over " + chart.x.title, group.labels);
    std::string words = "The two do not cross.";
    if (!group.crossings.empty()) words = "The grey interval contains the crossing.";
    if (std::ranges::any_of(group.crossings, [](const FoundCrossing& crossing) { return !crossing.unclear_from.empty(); }))
      words = "The grey interval contains the crossing; in the wide pale interval the repeats cannot tell the two apart.";
    figures_.push_back(figure_of(chart.label, words, chart));
  }

  static void add_band(LineChart& chart, const std::vector<std::string>& labels, const LabelNumbers& axis, const std::string& from,
                       const std::string& to, const std::string& name) {
    const auto at = [&](const std::string& label) {
      const auto place = std::find(labels.begin(), labels.end(), label);
      return place == labels.end() ? std::nullopt : axis.numbers[static_cast<std::size_t>(place - labels.begin())];
    };
    const auto low = at(from), high = at(to);
    if (!low || !high) return;
    // Crossings close to each other may share the uncertain region around them.
    if (name.empty() && !chart.bands.empty() && *low <= chart.bands.back().to)
      chart.bands.back().to = std::max(chart.bands.back().to, *high);
    else
      chart.bands.push_back({*low, *high, name});
  }

  // Several groups.

  /// The answer of every setting of the axes: the best value, or where the winner changes.
  void answers() {
    const bool find = answer_.between.empty();
    for (std::size_t setting = 0; setting < (find ? answer_.over.size() : 1); ++setting) {
      const SearchedSetting& searched = find ? answer_.over[setting] : answer_.along;
      if (!searched.numbers) continue;
      IntervalChart chart;
      chart.title = axis_title(searched.path);
      chart.groups.emplace_back();
      for (const TriedGroup& group : answer_.found) add_best(chart, group, setting);
      for (const ComparedGroup& group : answer_.crossed) add_crossings(chart, group);
      std::vector<IntervalRow>& rows = chart.groups[0].rows;
      if (rows.size() > most_settings || chart.text == nullptr) continue;
      chart.label = capital(find ? "best " + chart.title : "where the winner changes");
      figures_.push_back(figure_of(
          chart.label, find ? "Bars cover the settings that are not told apart from the best." : "Bars contain the crossing.", chart));
    }
  }

  void add_best(IntervalChart& chart, const TriedGroup& group, std::size_t setting) const {
    IntervalRow row{group_title(answer_.axes, group.labels), "none has a value", 0, true};
    const LabelNumbers axis = numbers_of_labels(labels_of(group, setting));
    if (group.best < group.points.size() && axis.numbers[group.best]) {
      row.missed = false;
      row.text = group.points[group.best].labels[setting];
      row.low = row.value = row.high = *axis.numbers[group.best];
      for (std::size_t i = 0; i < group.points.size(); ++i)
        if (group.points[i].as_good && axis.numbers[i]) {
          row.low = std::min(row.low, *axis.numbers[i]);
          row.high = std::max(row.high, *axis.numbers[i]);
        }
      chart.text = axis.text;
    }
    chart.groups[0].rows.push_back(std::move(row));
  }

  void add_crossings(IntervalChart& chart, const ComparedGroup& group) const {
    std::string name = group_title(answer_.axes, group.labels);
    if (group.crossings.empty()) {
      const std::size_t winner = group.points.empty() ? 2 : group.points.front().winner;
      chart.groups[0].rows.push_back({name, winner < 2 ? answer_.between[winner] + " everywhere" : "neither anywhere", {}, true});
    }
    for (const FoundCrossing& crossing : group.crossings) {
      const bool noisy = !crossing.unclear_from.empty();
      const LabelNumbers axis = numbers_of_labels(
          {noisy ? crossing.unclear_from : crossing.below, crossing.between, noisy ? crossing.unclear_to : crossing.above});
      if (!axis.numbers[0] || !axis.numbers[1] || !axis.numbers[2]) continue;
      chart.groups[0].rows.push_back(
          {name, crossing.between, std::size_t{0}, false, false, *axis.numbers[0], *axis.numbers[1], *axis.numbers[2]});
      chart.text = axis.text;
      name.clear();
    }
  }

  const SearchAnswer& answer_;
  const RunSheets& sheets_;
  const std::string title_;
  const NumberText text_;
  std::vector<Figure> figures_;
};

}  // namespace

std::vector<ShownSetting> searched_settings(const SearchAnswer& answer) {
  std::vector<ShownSetting> all;
  const auto paths_of = [&](const std::vector<std::string>& labels) {
    std::vector<std::pair<std::string, std::string>> paths;
    for (std::size_t i = 0; i < std::min(answer.axes.size(), labels.size()); ++i) paths.emplace_back(answer.axes[i], labels[i]);
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
  for (const TriedGroup& group : answer.found)
    for (const TriedSetting& point : group.points) {
      ShownSetting setting{{}, paths_of(group.labels), point.runs};
      for (std::size_t i = 0; i < answer.over.size(); ++i) setting.paths.emplace_back(answer.over[i].path, point.labels[i]);
      setting.name = name_of(setting.paths);
      all.push_back(std::move(setting));
    }
  for (const ComparedGroup& group : answer.crossed)
    for (const ComparedSetting& point : group.points)
      for (const bool second : {false, true}) {
        ShownSetting setting{{}, {{answer.compared, answer.between[second ? 1 : 0]}}, second ? point.second_runs : point.first_runs};
        for (auto& path : paths_of(group.labels)) setting.paths.push_back(std::move(path));
        setting.paths.emplace_back(answer.along.path, point.label);
        setting.name = name_of(setting.paths);
        all.push_back(std::move(setting));
      }
  return all;
}

std::vector<Figure> search_figures(const SearchAnswer& answer, const RunSheets& sheets) { return SearchFigures(answer, sheets).all(); }

}  // namespace straggler
