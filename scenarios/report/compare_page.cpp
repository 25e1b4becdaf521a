#include "scenarios/report/compare_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "scenarios/report/charts.hpp"
#include "scenarios/report/curve_points.hpp"
#include "scenarios/report/figure.hpp"
#include "scenarios/report/page.hpp"
#include "scenarios/report/share_text.hpp"
#include "scenarios/results/comparison.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/xml_text.hpp"

namespace straggler {
namespace {

namespace fs = std::filesystem;

struct Measure {
  const char *column, *word;
};

class ComparePage {
 public:
  ComparePage(const Comparison& comparison, const fs::path& page_folder) : comparison_(comparison), page_folder_(page_folder) {
    constexpr auto whole = std::numeric_limits<std::uintmax_t>::max();
    for (const RunResult& run : comparison.runs) curves_.emplace_back(run.folder / "curve.csv", whole);
  }

  std::string html() {
    body_ = fmt::format("<h1>{} runs, side by side</h1>\n", comparison_.runs.size());
    body_ += html_paragraph(comparison_.verdict, "answer");
    if (!comparison_.notes.empty()) body_ += html_list(comparison_.notes, "dim");
    if (const auto shown = measure()) {
      learning(*shown, "time_s", time_title(), readable_seconds);
      learning(*shown, "epoch", "epochs", readable_number);
      learning(*shown, "update", "updates", readable_number);
      learning(*shown, "bytes_sent", "bytes sent", readable_bytes);
      left_out(*shown);
    } else {
      body_ +=
          html_paragraph("These runs have no accuracies or losses: they tell how fast samples are handled, not what is learnt.", "dim");
    }
    time_split();
    body_ += "<h2>Figures</h2>\n<div class=\"wide\" tabindex=\"0\"><pre>" + xml_text(comparison_table(comparison_)) + "</pre></div>\n";
    pages();
    return html_page("Comparison of runs", body_);
  }

 private:
  /// The first of these that at least one run has in two evaluations.
  std::optional<Measure> measure() const {
    constexpr std::array<Measure, 4> measures = {{{"test_accuracy", "test accuracy"},
                                                  {"test_loss", "test loss"},
                                                  {"train_accuracy", "train accuracy"},
                                                  {"train_loss", "train loss"}}};
    for (const Measure& each : measures)
      for (const ResultTable& curve : curves_)
        if (curve_points(curve, "update", each.column).size() > 1) return each;
    return std::nullopt;
  }

  /// Runs of real ranks have measured times.
  std::string time_title() const {
    const auto real = std::count_if(comparison_.runs.begin(), comparison_.runs.end(), [](const RunResult& run) { return run.real; });
    if (real == 0) return "simulated time";
    return static_cast<std::size_t>(real) == comparison_.runs.size() ? "measured time" : "time, simulated or measured";
  }

  /// Runs without a curve in the pictures are named.
  void left_out(const Measure& shown) {
    std::vector<std::string> names;
    for (std::size_t run = 0; run < curves_.size(); ++run)
      if (curve_points(curves_[run], "update", shown.column).size() < 2) names.push_back(in_quotes(comparison_.labels[run]));
    if (!names.empty())
      body_ += html_paragraph(fmt::format("Not in the pictures, with fewer than two values of {}: {}.", shown.word, joined(names)), "dim");
  }

  /// All runs in one picture. A run keeps its colour on the whole page.
  void learning(const Measure& shown, const std::string& column, const std::string& title, NumberText text) {
    LineChart chart;
    for (std::size_t run = 0; run < curves_.size(); ++run) {
      Curve curve{comparison_.labels[run], run, curve_points(curves_[run], column, shown.column), {}};
      if (curve.points.size() < 2) continue;
      for (const ChartPoint& point : curve.points) chart.x.numbers.push_back(point.x);
      chart.curves.push_back(std::move(curve));
    }
    if (chart.curves.empty()) return;
    const std::string word = shown.word;
    chart.label = std::string(1, static_cast<char>(word[0] - 'a' + 'A')) + word.substr(1) + " over " + title;
    chart.x.title = title;
    chart.x.text = text;
    chart.linear_x = true;
    chart.linear_y = word.ends_with("accuracy");
    chart.y_title = word;
    chart.y_text = readable_number;
    chart.from_zero = chart.marks = false;
    if (comparison_.deciding && std::string(shown.column) == "test_accuracy") {
      const auto [low, high] = std::minmax_element(chart.x.numbers.begin(), chart.x.numbers.end());
      chart.ideal = {{*low, *comparison_.deciding}, {*high, *comparison_.deciding}};
      chart.ideal_name = readable_number(*comparison_.deciding);
    }
    body_ += html_of(figure_of(chart.label, "", chart));
  }

  void time_split() {
    static constexpr std::pair<std::optional<double> RunResult::*, const char*> parts[] = {
        {&RunResult::compute, "computing"},           {&RunResult::wasted, "wasted"}, {&RunResult::loading, "loading"},
        {&RunResult::communication, "communicating"}, {&RunResult::idle, "idle"},     {&RunResult::down, "down"}};
    StackChart chart;
    for (const auto& [part, word] : parts)
      if (std::any_of(comparison_.runs.begin(), comparison_.runs.end(), [&](const RunResult& run) { return (run.*part).value_or(0) > 0; }))
        chart.parts.push_back({word, word});
    for (std::size_t run = 0; run < comparison_.runs.size(); ++run) {
      std::vector<double> row;
      for (const auto& [part, word] : parts)
        if (std::any_of(chart.parts.begin(), chart.parts.end(), [&](const StackPart& shown) { return shown.name == word; }))
          row.push_back((comparison_.runs[run].*part).value_or(0));
      chart.names.push_back(comparison_.labels[run]);
      chart.values.push_back(std::move(row));
    }
    if (chart.parts.empty()) return;
    chart.title = "share of the workers' time";
    chart.text = share_text;
    chart.label = "Where the workers' time went";
    body_ += html_of(figure_of(chart.label, "", chart));
  }

  /// To the page of each run that has one.
  void pages() {
    std::string items;
    for (std::size_t run = 0; run < comparison_.runs.size(); ++run) {
      const fs::path page = comparison_.runs[run].folder / "report.html";
      if (!fs::exists(page)) continue;
      const fs::path way = fs::relative(fs::absolute(page), fs::absolute(page_folder_));
      items += fmt::format("<li><a href=\"{}\">{}</a></li>\n", xml_text(way.generic_string()), xml_text(comparison_.labels[run]));
    }
    if (!items.empty()) body_ += "<h2>The runs themselves</h2>\n<ul>\n" + items + "</ul>\n";
  }

  const Comparison& comparison_;
  fs::path page_folder_;
  std::vector<ResultTable> curves_;
  std::string body_;
};

}  // namespace

std::string compare_page(const Comparison& comparison, const fs::path& page_folder) { return ComparePage(comparison, page_folder).html(); }

}  // namespace straggler
