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
#include "scenarios/report/search_figures.hpp"
#include "scenarios/report/search_said.hpp"
#include "scenarios/report/search_words.hpp"
#include "scenarios/report/sweep_view.hpp"
#include "scenarios/report/units.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/xml_text.hpp"

namespace straggler {
namespace {

class SearchPage {
 public:
  explicit SearchPage(const SearchAnswer& answer)
      : answer_(answer),
        settings_(searched_settings(answer)),
        sheets_(settings_, setting_looks(settings_)),
        text_(metric_number_text(answer.metric)) {}

  std::string html(std::string_view folder) const {
    const std::vector<std::string> names = answer_.description.all(Described::sweep),
                                   scenario = answer_.description.all(Described::point_scenario);
    const std::string name = names.empty() ? "Search" : names.front();
    std::string body = fmt::format("<h1>{}</h1>\n", xml_text(name)) + html_paragraph(asked(scenario));
    if (answer_.interrupted)
      body += html_paragraph("The search was interrupted: these are its results so far. The same command continues it.", "warning");
    std::vector<std::string> said = said_in_words(answer_);
    if (said.empty()) said.emplace_back("Nothing is finished.");
    for (const std::string& reason : answer_.reasons) said.push_back("Why: " + reason + ".");
    body += "<h2>What came out</h2>\n" + html_list(said, "findings") + html_paragraph(interval_words, "dim");
    const std::vector<Figure> figures = search_figures(answer_, sheets_);
    if (!figures.empty()) body += "<h2>Pictures</h2>\n";
    body += html_of(figures);
    if (const std::vector<Figure> curves = learning(); !curves.empty()) body += "<h2>Learning</h2>\n" + html_of(curves);
    if (const std::vector<Figure> split = sheets_.time_split(all()); !split.empty())
      body += "<h2>Where the time went</h2>\n" + html_of(split);
    body += is_find() ? "<h2>All settings that were tried</h2>\n" : "<h2>All values that were compared</h2>\n";
    for (const TriedGroup& group : answer_.found) body += group_head(group.labels) + table(group);
    for (const ComparedGroup& group : answer_.crossed) body += group_head(group.labels) + table(group);
    body += html_tables({is_find() ? "find.csv" : "crossover.csv"}, folder) + html_paragraph(paths_text(), "dim");
    body += sheets_.html();
    if (!answer_.failures.empty()) body += "<h2>What failed</h2>\n" + html_list(answer_.failures);
    if (!scenario.empty()) body += html_details("The scenario of the first setting, with every default", scenario);
    return html_page(name + " \u2013 a search", body);
  }

 private:
  std::vector<std::size_t> all() const {
    std::vector<std::size_t> numbers(settings_.size());
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
    return numbers;
  }

  /// The best first, then those that are not told apart from it, then others by their values; of a crossover the ends and a crossing first.
  std::vector<std::size_t> order() const {
    std::vector<std::size_t> numbers = all();
    if (!is_find()) {
      std::vector<bool> first(numbers.size());
      std::size_t begin = 0;
      for (const ComparedGroup& group : answer_.crossed) {
        for (std::size_t i = 0; i < group.points.size(); ++i) {
          const bool crosses = !group.crossings.empty() && group.points[i].label == group.crossings.front().below;
          if (i == 0 || i + 1 == group.points.size() || crosses) first[begin + 2 * i] = first[begin + 2 * i + 1] = true;
        }
        begin += 2 * group.points.size();
      }
      std::stable_sort(numbers.begin(), numbers.end(), [&](std::size_t a, std::size_t b) { return first[a] && !first[b]; });
      return numbers;
    }
    std::vector<std::tuple<int, double>> ranks;
    for (const TriedGroup& group : answer_.found)
      for (std::size_t i = 0; i < group.points.size(); ++i) {
        const TriedSetting& point = group.points[i];
        const double value = point.value.count == 0 ? std::numeric_limits<double>::infinity()
                             : answer_.maximize     ? -point.value.mean
                                                    : point.value.mean;
        ranks.emplace_back(i == group.best ? 0 : point.as_good ? 1 : 2, value);
      }
    std::stable_sort(numbers.begin(), numbers.end(), [&](std::size_t a, std::size_t b) { return ranks[a] < ranks[b]; });
    return numbers;
  }

  std::vector<Figure> learning() const {
    std::optional<double> goal = threshold_of(answer_.metric);
    if (answer_.metric == "time_to_target_s" && !settings_.empty()) goal = settings_.front().target();
    return sheets_.curves(order(), goal);
  }

  bool is_find() const { return answer_.between.empty(); }

  std::string values_of(const SearchedSetting& setting) const { return axis_title(setting.path) + " (" + setting.values + ")"; }

  std::string asked(const std::vector<std::string>& scenario) const {
    std::string base = "the scenario";
    for (const std::string& line : scenario)
      if (line.starts_with("name: ")) base = "scenario " + line.substr(6);
    const std::string metric = (answer_.maximize ? "most " : "least ") + metric_title(answer_.metric);
    std::string text;
    if (is_find()) {
      std::vector<std::string> settings;
      for (const SearchedSetting& setting : answer_.over) settings.push_back(values_of(setting));
      text = fmt::format("With which {} has {} the {}?", listed(settings), base, metric);
    } else {
      text = fmt::format("Where along {} has {} the {} with {} {}, and where with {}?", values_of(answer_.along), base, metric,
                         axis_title(answer_.compared), answer_.between[0], answer_.between[1]);
    }
    const std::size_t groups = std::max(answer_.found.size(), answer_.crossed.size());
    std::string each;
    for (const std::string& axis : answer_.axes) each += (each.empty() ? "" : ", ") + axis_title(axis);
    if (groups > 1) text += fmt::format(" Asked for each of {} settings of {}.", groups, each);
    text += fmt::format(" {} {}{}, {} {} for each {}.", answer_.runs, answer_.runs == 1 ? "run" : "runs",
                        answer_.timing_runs == 0              ? ""
                        : answer_.timing_runs == answer_.runs ? ", all of timing alone"
                                                              : fmt::format(", {} of timing alone", answer_.timing_runs),
                        answer_.repeats, answer_.repeats == 1 ? "seed" : "seeds", is_find() ? "setting" : "value and each of the two");
    if (!is_find()) text += fmt::format(" A crossing is narrowed down to {}.", share_text(answer_.tolerance));
    return text;
  }

  std::string group_head(const std::vector<std::string>& labels) const {
    const std::string title = group_title(answer_.axes, labels);
    return title.empty() ? title : fmt::format("<h3>{}</h3>\n", xml_text(title));
  }

  std::string value_of(const AnswerValue& value) const {
    return value_text({value.count, value.mean, 0, value.half_width}, value.repeats, text_);
  }

  bool all_finished() const {
    return std::ranges::all_of(settings_, [](const ShownSetting& setting) { return setting.endings().all_finished(); });
  }
  static std::string outcomes_of(const std::vector<ShownRun>& runs) { return ShownSetting{{}, {}, runs}.endings().outcomes(); }

  std::string table(const TriedGroup& group) const {
    std::vector<std::string> head{"tried"};
    for (const SearchedSetting& setting : answer_.over) head.push_back(axis_title(setting.path));
    head.insert(head.end(), {metric_title(answer_.metric), "stands"});
    const bool finished = all_finished();
    if (!finished) head.emplace_back("outcome");
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < group.points.size(); ++i) {
      const TriedSetting& point = group.points[i];
      rows.push_back({std::to_string(i + 1)});
      rows.back().insert(rows.back().end(), point.labels.begin(), point.labels.end());
      rows.back().insert(rows.back().end(), {value_of(point.value), point.stands});
      if (!finished) rows.back().push_back(outcomes_of(point.runs));
    }
    return html_table(head, rows, 0, group.best);
  }

  std::string table(const ComparedGroup& group) const {
    const std::string &first = answer_.between[0], &second = answer_.between[1];
    std::vector<std::vector<std::string>> rows;
    const bool finished = all_finished();
    for (const ComparedSetting& point : group.points) {
      const AnswerValue& difference = point.difference;
      std::string gap = difference.count == 0 ? std::string("\u2013") : (difference.mean < 0 ? "-" : "") + text_(std::abs(difference.mean));
      if (difference.count > 1) gap += " \u00b1 " + text_(difference.half_width);
      rows.push_back({point.label, value_of(point.first), value_of(point.second), gap, point.verdict});
      if (!finished) rows.back().insert(rows.back().end(), {outcomes_of(point.first_runs), outcomes_of(point.second_runs)});
    }
    std::vector<std::string> head{axis_title(answer_.along.path), first, second, first + " minus " + second, "better"};
    if (!finished) head.insert(head.end(), {first + ", outcome", second + ", outcome"});
    return html_table(head, rows, 0, rows.size());
  }

  std::string paths_text() const {
    std::vector<std::string> paths = answer_.axes;
    for (const SearchedSetting& setting : answer_.over) paths.push_back(setting.path);
    if (!is_find()) paths.insert(paths.end(), {answer_.along.path, answer_.compared});
    std::string text;
    for (const std::string& path : paths) text += (text.empty() ? "In the scenario, " : "; ") + axis_title(path) + " is " + path;
    return text + ".";
  }

  const SearchAnswer& answer_;
  const std::vector<ShownSetting> settings_;
  const RunSheets sheets_;
  const NumberText text_;
};

}  // namespace

std::string search_page(const SearchAnswer& answer, std::string_view folder) { return SearchPage(answer).html(folder); }

}  // namespace straggler
