#include "scenarios/report/search_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "scenarios/report/axis_title.hpp"
#include "scenarios/report/page.hpp"
#include "scenarios/report/run_sheets.hpp"
#include "scenarios/report/said_words.hpp"
#include "scenarios/report/search_figures.hpp"
#include "scenarios/report/search_words.hpp"
#include "scenarios/report/sweep_view.hpp"
#include "scenarios/report/units.hpp"
#include "scenarios/search/search_said.hpp"
#include "scenarios/search/search_tables.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/xml_text.hpp"

namespace straggler {
namespace {

class SearchPage {
 public:
  explicit SearchPage(const SearchOutcome& outcome)
      : outcome_(outcome),
        settings_(searched_settings(outcome)),
        sheets_(settings_, setting_looks(settings_)),
        text_(metric_text(outcome.metric.name)) {}

  std::string html(const Description& description, std::string_view folder) const {
    const std::string name = description.has(Described::sweep) ? description.one(Described::sweep) : "Search";
    std::string body = fmt::format("<h1>{}</h1>\n", xml_text(name)) + html_paragraph(asked(description.one(Described::scenario)));
    if (outcome_.interrupted)
      body += html_paragraph("The search was interrupted: these are its results so far. The same command continues it.", "warning");
    body += html_numbers(numbers()) + html_list(said(), "findings") + html_paragraph(interval_words, "dim");
    const std::vector<Figure> figures = search_figures(outcome_, sheets_);
    if (!figures.empty()) body += "<h2>Pictures</h2>\n";
    body += html_of(figures);
    if (const std::vector<Figure> curves = learning(); !curves.empty()) body += "<h2>Learning</h2>\n" + html_of(curves);
    if (const std::vector<Figure> split = sheets_.time_split(all()); !split.empty())
      body += "<h2>Where the time went</h2>\n" + html_of(split);
    body += is_find() ? "<h2>All settings that were tried</h2>\n" : "<h2>All values that were compared</h2>\n";
    for (const FoundGroup& group : outcome_.found) body += group_head(group.labels) + table(group);
    for (const CrossoverGroup& group : outcome_.crossed) body += group_head(group.labels) + table(group);
    body += html_tables({search_csv_name(outcome_)}, folder) + html_paragraph(scenario_paths(paths()), "dim");
    body += sheets_.html();
    if (!outcome_.failures.empty()) body += "<h2>What failed</h2>\n" + html_list(outcome_.failures);
    if (const auto scenario = description.all(Described::point_scenario); !scenario.empty())
      body += html_details("The scenario of the first setting, with every default", scenario);
    return html_page(name + " \u2013 a search", body);
  }

 private:
  std::vector<std::size_t> all() const {
    std::vector<std::size_t> numbers(settings_.size());
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
    return numbers;
  }

  /// The sentences of a group are one entry.
  std::vector<std::string> said() const {
    std::vector<std::string> all;
    for (const std::vector<Said>& group : search_said(outcome_)) {
      all.emplace_back();
      for (const Said& sentence : group) all.back() += (all.back().empty() ? "" : " ") + page_sentence(sentence);
    }
    for (const std::string& note : outcome_.endings().notes()) all.push_back("Warning: " + note + ".");
    if (all.empty()) all.emplace_back("Nothing is finished.");
    for (const Said& reason : search_reasons(outcome_)) all.push_back(page_sentence(Said("Why: ").add(reason)));
    return all;
  }

  /// The best first, then those that are not significantly worse, then others by their values; of a crossover the ends and a crossing
  /// first.
  std::vector<std::size_t> order() const {
    std::vector<std::size_t> numbers = all();
    if (!is_find()) {
      std::vector<bool> first(numbers.size());
      std::size_t begin = 0;
      for (const CrossoverGroup& group : outcome_.crossed) {
        for (std::size_t i = 0; i < group.points.size(); ++i) {
          const bool crosses = !group.crossings.empty() && i == group.crossings.front().below;
          if (i == 0 || i + 1 == group.points.size() || crosses) first[begin + 2 * i] = first[begin + 2 * i + 1] = true;
        }
        begin += 2 * group.points.size();
      }
      std::stable_sort(numbers.begin(), numbers.end(), [&](std::size_t a, std::size_t b) { return first[a] && !first[b]; });
      return numbers;
    }
    std::vector<std::tuple<int, double>> ranks;
    for (const FoundGroup& group : outcome_.found)
      for (std::size_t i = 0; i < group.points.size(); ++i) {
        const RepeatStatistics all = drawable(group.points[i].measured);
        const double value = all.count == 0 ? std::numeric_limits<double>::infinity() : outcome_.metric.maximize ? -all.mean : all.mean;
        ranks.emplace_back(group.is_best(i) ? 0 : group.as_good(i) ? 1 : 2, value);
      }
    std::stable_sort(numbers.begin(), numbers.end(), [&](std::size_t a, std::size_t b) { return ranks[a] < ranks[b]; });
    return numbers;
  }

  std::vector<Figure> learning() const {
    std::optional<double> goal = threshold_of(outcome_.metric.name);
    if (outcome_.metric.name == "time_to_target_s" && !settings_.empty()) goal = settings_.front().target();
    return sheets_.curves(order(), goal);
  }

  bool is_find() const { return outcome_.is_find(); }

  std::string values_of(const SearchedSetting& setting) const { return setting_title(outcome_, setting) + " (" + setting.values() + ")"; }

  std::string asked(const std::string& scenario) const {
    const std::string base = scenario.empty() ? std::string("the scenario") : "scenario " + scenario;
    const std::string metric = (outcome_.metric.maximize ? "most " : "least ") + metric_title(outcome_.metric.name);
    std::string text;
    if (is_find()) {
      std::vector<std::string> settings;
      for (const SearchedSetting& setting : outcome_.over) settings.push_back(values_of(setting));
      text = fmt::format("With which {} has {} the {}?", listed(settings), base, metric);
    } else {
      text = fmt::format("Where along {} has {} the {} with {} {}, and where with {}?", values_of(outcome_.along), base, metric,
                         axis_title(outcome_.compared), outcome_.between[0], outcome_.between[1]);
    }
    const std::size_t groups = std::max(outcome_.found.size(), outcome_.crossed.size());
    std::string each;
    for (const std::string& axis : outcome_.axes) each += (each.empty() ? "" : ", ") + axis_title(axis);
    if (groups > 1) text += fmt::format(" Asked for each of {} settings of {}.", groups, each);
    text += fmt::format(" {} {}{}, {} {} for each {}.", outcome_.runs, outcome_.runs == 1 ? "run" : "runs", timing_alone_words(outcome_),
                        outcome_.repeats, outcome_.repeats == 1 ? "seed" : "seeds", is_find() ? "setting" : "value and each of the two");
    if (!is_find()) text += fmt::format(" A crossing is narrowed down to {}.", share_text(outcome_.tolerance));
    return text;
  }

  std::string group_head(const std::vector<std::string>& labels) const {
    const std::string title = page_words(group_said(outcome_, labels, ""));
    return title.empty() ? title : fmt::format("<h3>{}</h3>\n", xml_text(title));
  }

  std::string value_of(const Measured& measured) const { return mean_text(drawable(measured), measured.values.size(), text_, page_mean); }

  static std::string outcomes_of(const Measured& measured) { return Endings::of(measured.runs).outcomes(); }

  /// The best first, those without a value last.
  std::vector<std::size_t> by_value(const FoundGroup& group) const {
    std::vector<std::size_t> order(group.points.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) {
      const RepeatStatistics value = drawable(group.points[i].measured);
      const double infinity = std::numeric_limits<double>::infinity();
      return std::pair(group.is_best(i) ? 0 : 1, value.count == 0 ? infinity : outcome_.metric.maximize ? -value.mean : value.mean);
    });
    return order;
  }

  /// Of a find in one group, or of its only crossing.
  std::vector<LargeNumber> numbers() const {
    if (outcome_.found.size() == 1 && outcome_.found.front().best) {
      const FoundGroup& group = outcome_.found.front();
      const FoundPoint& best = group.points[group.best->point];
      std::vector<LargeNumber> all;
      for (std::size_t i = 0; i < outcome_.over.size() && i < 3; ++i)
        all.push_back({best.values[i].label, setting_title(outcome_, outcome_.over[i])});
      all.push_back({text_(drawable(best.measured).mean), metric_title(outcome_.metric.name)});
      all.push_back({std::to_string(group.points.size()), "settings tried"});
      return all;
    }
    if (outcome_.crossed.size() != 1) return {};
    const CrossoverGroup& group = outcome_.crossed.front();
    if (group.crossings.size() != 1) return {};
    return {{group.crossings.front().between.label,
             fmt::format("{}, where {} and {} cross", setting_title(outcome_, outcome_.along), outcome_.between[0], outcome_.between[1])},
            {std::to_string(group.points.size()), "values compared"}};
  }

  std::string table(const FoundGroup& group) const {
    std::vector<std::string> head{"tried"};
    for (const SearchedSetting& setting : outcome_.over) head.push_back(setting_title(outcome_, setting));
    head.insert(head.end(), {metric_title(outcome_.metric.name), "stands"});
    const bool finished = outcome_.endings().all_finished();
    if (!finished) head.emplace_back("outcome");
    std::vector<std::vector<std::string>> rows;
    const std::vector<std::size_t> order = by_value(group);
    for (const std::size_t i : order) {
      const FoundPoint& point = group.points[i];
      rows.push_back({std::to_string(i + 1)});
      for (const AxisValue& value : point.values) rows.back().push_back(value.label);
      rows.back().insert(rows.back().end(), {value_of(point.measured), standing_words(group, i)});
      if (!finished) rows.back().push_back(outcomes_of(point.measured));
    }
    const auto best = group.best ? std::ranges::find(order, group.best->point) : order.end();
    return html_table(head, rows, 0, static_cast<std::size_t>(best - order.begin()));
  }

  std::string table(const CrossoverGroup& group) const {
    const std::string &first = outcome_.between[0], &second = outcome_.between[1];
    std::vector<std::vector<std::string>> rows;
    const bool finished = outcome_.endings().all_finished();
    for (const ComparedPoint& point : group.points) {
      const auto& [a, b] = point.measured;
      rows.push_back({point.at.label, value_of(a), value_of(b), gap_text(point.difference), compared_words(outcome_, point)});
      if (!finished) rows.back().insert(rows.back().end(), {outcomes_of(a), outcomes_of(b)});
    }
    std::vector<std::string> head{setting_title(outcome_, outcome_.along), first, second, first + " minus " + second, "better"};
    if (!finished) head.insert(head.end(), {first + ", outcome", second + ", outcome"});
    return html_table(head, rows, 0, rows.size());
  }

  std::string gap_text(RepeatStatistics difference) const {
    if (difference.count == 0 || !std::isfinite(difference.mean) || !std::isfinite(difference.half_width)) return "\u2013";
    const char* const sign = difference.mean < 0 ? "-" : "";
    difference.mean = std::abs(difference.mean);
    return sign + mean_text(difference, difference.count, text_, {.sign = page_mean.sign, .zero_widths = true});
  }

  std::vector<std::string> paths() const {
    std::vector<std::string> paths = outcome_.axes;
    for (const SearchedSetting& setting : outcome_.over) paths.push_back(setting.path);
    if (!is_find()) paths.insert(paths.end(), {outcome_.along.path, outcome_.compared});
    return paths;
  }

  const SearchOutcome& outcome_;
  const std::vector<ShownSetting> settings_;
  const RunSheets sheets_;
  const NumberText text_;
};

}  // namespace

std::string search_page(const SearchOutcome& outcome, const Description& description, std::string_view folder) {
  return SearchPage(outcome).html(description, folder);
}

}  // namespace straggler
