#include "scenarios/report/compare_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "scenarios/report/charts.hpp"
#include "scenarios/report/figure.hpp"
#include "scenarios/report/page.hpp"
#include "scenarios/report/pareto.hpp"
#include "scenarios/report/run_charts.hpp"
#include "scenarios/report/run_keys.hpp"
#include "scenarios/report/said_words.hpp"
#include "scenarios/report/scheme_looks.hpp"
#include "scenarios/results/verdict.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/text_lines.hpp"
#include "sim/base/xml_text.hpp"

namespace straggler {
namespace {

constexpr const char* compare_title = "Comparison of runs";

namespace fs = std::filesystem;

struct CurveWord {
  const char *column, *word;
};

constexpr const char *runs_group = "runs", *perplexity_column = "test_perplexity";  // of curves over symbols alone
bool has_perplexity(const ResultTable& curve) { return curve.has(perplexity_column); }

/// Runs of one scenario with several seeds, or one run.
struct Repeats {
  std::string name;
  std::vector<std::size_t> runs;
  std::size_t look = 0;
};

class ComparePage {
 public:
  ComparePage(const Comparison& comparison, const fs::path& page_folder)
      : comparison_(comparison), page_folder_(page_folder.empty() ? "." : page_folder) {
    constexpr auto whole = std::numeric_limits<std::uintmax_t>::max();
    for (const RunResult& run : comparison.runs) curves_.emplace_back(run.folder / "curve.csv", whole);
    time_title_ = time_title();
    find_repeats();
    put_in_order();
  }

  std::string html() {
    body_ = fmt::format("<h1>{} runs, side by side</h1>\n", comparison_.runs.size());
    numbers();
    body_ += html_paragraph(page_words(verdict(comparison_)), "answer");
    if (const std::vector<Said> notes = comparison_notes(comparison_); !notes.empty()) body_ += html_list(page_words(notes), "dim");
    if (const auto shown = measure()) {
      body_ += "<h2>Learning</h2>\n";
      learning(*shown);
      times();
      if (std::string(shown->column) == "test_accuracy") {
        learning({"test_loss", "test loss"});
        if (std::ranges::any_of(curves_, has_perplexity)) learning({perplexity_column, "test perplexity"});
      }
      left_out(*shown);
    } else {
      body_ +=
          html_paragraph(comparison_.timing_only
                             ? "These runs have no accuracies or losses: they show how fast samples are processed, not what is learned."
                             : "These runs were evaluated only at their ends, so there is no curve; `training.evaluate.every` gives one.",
                         "dim");
    }
    body_ += "<h2>Where the time went</h2>\n";
    split();
    against_costs();
    table();
    pages();
    return html_page(compare_title, body_);
  }

 private:
  /// The first of these that at least one run has in two evaluations.
  std::optional<CurveWord> measure() const {
    constexpr std::array<CurveWord, 4> measures = {{{"test_accuracy", "test accuracy"},
                                                    {"test_loss", "test loss"},
                                                    {"train_accuracy", "train accuracy"},
                                                    {"train_loss", "train loss"}}};
    for (const CurveWord& each : measures)
      for (const ResultTable& curve : curves_)
        if (learning_points(curve, {{"update", "", nullptr}}, each.column).size() > 1) return each;
    return std::nullopt;
  }

  /// Runs of real ranks have measured times.
  std::string time_title() const {
    const auto real = std::count_if(comparison_.runs.begin(), comparison_.runs.end(), [](const RunResult& run) { return run.real; });
    if (real == 0) return "simulated time";
    return static_cast<std::size_t>(real) == comparison_.runs.size() ? "measured time" : "time, simulated or measured";
  }

  /// Runs without a curve in the pictures are named.
  void left_out(const CurveWord& shown) {
    std::vector<std::string> names;
    for (std::size_t run = 0; run < curves_.size(); ++run)
      if (learning_points(curves_[run], {{"update", "", nullptr}}, shown.column).size() < 2)
        names.push_back(in_quotes(comparison_.labels[run]));
    if (!names.empty())
      body_ += html_paragraph(fmt::format("Not in the pictures, with fewer than two values of {}: {}.", shown.word, joined(names)), "dim");
  }

  /// All runs in one picture, over all that they use up. Repeats of one scenario are one curve, with a band.
  void learning(const CurveWord& shown) {
    LearningFigure wanted;
    wanted.word = shown.word;
    wanted.crop = Crop::both;
    wanted.group = runs_group;
    wanted.file = "curve.csv of each run";
    std::vector<CurveAxis> axes = {{"time_s", time_title_.c_str(), readable_seconds},
                                   {"epoch", "epochs", readable_number},
                                   {"update", "updates", readable_number},
                                   {"bytes_sent", "bytes sent", readable_bytes}};
    for (const CurveAxis& axis : cost_axes)
      if (std::ranges::all_of(curves_, [&](const ResultTable& curve) { return curve.has(axis.column); })) axes.push_back(axis);
    // There are none if an epoch has no known number of samples.
    if (std::any_of(curves_.begin(), curves_.end(),
                    [](const ResultTable& curve) { return curve.rows() > 0 && !curve.number(curve.rows() - 1, "epoch"); }))
      axes.erase(axes.begin() + 1);
    for (const CurveAxis& axis : axes) wanted.axes.emplace_back(axis.title, axis.text);
    for (const Repeats& repeats : repeats_) {
      RepeatedCurve curve{repeats.name, repeats.look, {}};
      curve.best = is_best(repeats);
      for (const std::size_t run : repeats.runs) {
        curve.named.push_back({comparison_.labels[run], keys_[run]});
        const ThresholdResult* const row = comparison_.deciding ? find_threshold(comparison_.runs[run], *comparison_.deciding) : nullptr;
        curve.reached.push_back(row ? reached_at(*row, axes) : std::nullopt);
        const bool absent = std::string(shown.column) == perplexity_column && !has_perplexity(curves_[run]);
        curve.runs.push_back(absent ? std::vector<LearningPoint>() : learning_points(curves_[run], axes, shown.column));
      }
      wanted.curves.push_back(std::move(curve));
    }
    if (std::string(shown.column) == "test_accuracy") wanted.target = comparison_.deciding;
    if (const auto figure = learning_figure(wanted)) body_ += html_of(*figure);
  }

  /// Runs whose scenarios differ in nothing but seed and name.
  void find_repeats() {
    std::map<std::string, std::size_t> known;
    std::vector<std::string> scenarios;
    for (std::size_t run = 0; run < comparison_.runs.size(); ++run) {
      const RunResult& result = comparison_.runs[run];
      std::string key = fmt::format("{}\n", result.real);
      std::error_code error;
      scenarios.emplace_back();
      if (fs::exists(result.folder / "scenario.yaml", error)) {
        const std::string text = scenarios.back() = file_text(result.folder / "scenario.yaml");
        TextLines lines(text);
        for (std::string_view line; lines.next(line);)
          if (!line.starts_with("seed:") && !line.starts_with("name:")) key.append(line).append("\n");
      } else {
        key += std::to_string(run);
      }
      const auto [at, fresh] = known.emplace(key, repeats_.size());
      if (fresh) repeats_.push_back({comparison_.labels[run], {}, 0});
      repeats_[at->second].runs.push_back(run);
    }
    std::vector<std::string> names;
    for (Repeats& repeats : repeats_) {
      const RunResult& first = comparison_.runs[repeats.runs.front()];
      names.push_back(first.scheme);
      if (repeats.runs.size() > 1)
        repeats.name = fmt::format("{} ({} runs)", comparison_.labels[repeats.runs.front()], repeats.runs.size());
    }
    const std::vector<std::size_t> looks = scheme_looks(names);
    for (std::size_t i = 0; i < repeats_.size(); ++i) repeats_[i].look = looks[i];
    keys_ = run_keys(scenarios);
  }

  /// Seconds to the deciding accuracy, of those that reach it.
  RunValues times_of(const Repeats& repeats) const {
    RunValues values;
    for (const std::size_t run : repeats.runs) {
      const ThresholdResult* const row = comparison_.deciding ? find_threshold(comparison_.runs[run], *comparison_.deciding) : nullptr;
      values.push_back(row ? row->seconds : std::nullopt);
    }
    return values;
  }
  bool is_best(const Repeats& repeats) const {
    return comparison_.winner && std::ranges::find(repeats.runs, *comparison_.winner) != repeats.runs.end();
  }
  std::optional<std::size_t> place(std::optional<std::size_t> run) const {
    if (!run) return std::nullopt;
    return static_cast<std::size_t>(std::ranges::find(order_, *run) - order_.begin());
  }

  /// By the result: those that reach the target by their time, then the others by their accuracy; of the timing alone by speed.
  void put_in_order() {
    const auto rank = [this](std::size_t run) {
      const RunResult& result = comparison_.runs[run];
      const ThresholdResult* const row = comparison_.deciding ? find_threshold(result, *comparison_.deciding) : nullptr;
      if (row && row->seconds) return std::pair(0, *row->seconds);
      if (comparison_.timing_only) return std::pair(1, -result.samples_per_second.value_or(0));
      return std::pair(1, -result.final_test_accuracy.value_or(0));
    };
    order_.resize(comparison_.runs.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::stable_sort(order_, {}, rank);
    if (const auto first = place(comparison_.winner))
      std::rotate(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(*first),
                  order_.begin() + static_cast<std::ptrdiff_t>(*first) + 1);
    std::ranges::stable_sort(repeats_, {}, [&](const Repeats& repeats) {
      std::size_t first = order_.size();
      for (const std::size_t run : repeats.runs) first = std::min(first, *place(run));
      return first;
    });
  }

  void numbers() {
    if (!comparison_.winner) return;
    const RunResult& best = comparison_.runs[*comparison_.winner];
    std::vector<LargeNumber> all{{comparison_.labels[*comparison_.winner], comparison_.deciding ? "is first" : "is fastest"}};
    const ThresholdResult* const row = comparison_.deciding ? find_threshold(best, *comparison_.deciding) : nullptr;
    if (const auto mine = row ? row->seconds : std::nullopt) {
      all.push_back({readable_seconds(*mine), "to " + readable_number(*comparison_.deciding) + " test accuracy"});
      if (repeats_.size() > 1) {
        const RepeatStatistics theirs = statistics_of(times_of(repeats_[1]));
        if (theirs.count > 0 && *mine > 0)
          all.push_back({fmt::format("{:.3g}x", theirs.mean / *mine), "as fast as " + repeats_[1].name + ", the next"});
        else
          all.push_back({"nobody else", "reaches it"});
      }
    } else if (best.samples_per_second) {
      all.push_back({readable_number(*best.samples_per_second), "samples per second"});
    }
    if (const auto share = best.shares[index_of(Phase::compute)]) all.push_back({readable_share(*share), "of its workers' time computing"});
    all.push_back({readable_bytes(best.bytes_sent), "sent"});
    add_price(all, best.summary);
    body_ += html_numbers(all);
  }

  /// The time to the target of each, the first one first.
  void times() {
    if (!comparison_.deciding || repeats_.size() < 2) return;
    BarChart chart;
    chart.label = fmt::format("Time to {} test accuracy", readable_number(*comparison_.deciding));
    chart.title = time_title_;
    chart.text = readable_seconds;
    chart.group = runs_group;
    for (const Repeats& repeats : repeats_) {
      const RunValues values = times_of(repeats);
      const RepeatStatistics time = statistics_of(values);
      std::string text = time.count == 0 ? "does not reach it" : mean_text(time, values.size(), readable_seconds, page_mean);
      if (is_best(repeats)) text += ", first";
      chart.rows.push_back(
          {repeats.name, repeats.look, time.count == 0, time.mean, time.half_width, std::move(text), {}, is_best(repeats)});
    }
    if (std::ranges::all_of(chart.rows, &BarRow::missed)) return;
    const bool intervals = std::ranges::any_of(chart.rows, [](const BarRow& row) { return row.half_width > 0; });
    body_ += html_of(figure_of(chart.label, intervals ? "Whiskers are 95 % intervals of the mean over seeds." : "", chart));
  }

  void table() {
    const std::vector<std::vector<std::string>> cells = comparison_cells(comparison_);
    std::vector<std::vector<std::string>> rows;
    for (const std::size_t run : order_) rows.push_back(cells[run + 1]);
    if (comparison_.winner && rows.front().front().starts_with("* ")) rows.front().front().erase(0, 2);
    body_ += "<h2>Figures</h2>\n" + html_table(cells.front(), rows, 3, place(comparison_.winner).value_or(rows.size()));
  }

  void split() {
    std::vector<ByPhase<double>> rows;
    std::vector<std::string> names;
    for (const std::size_t i : order_) {
      const RunResult& run = comparison_.runs[i];
      names.push_back(comparison_.labels[i]);
      rows.emplace_back();
      for (std::size_t phase = 0; phase < phase_count; ++phase) rows.back()[phase] = run.shares[phase].value_or(0);
    }
    StackChart chart = time_split(names, rows);
    chart.group = runs_group;
    chart.best = place(comparison_.winner);
    if (!chart.parts.empty()) body_ += html_of(figure_of(chart.label, "", chart));
  }

  /// Time against price and energy, of the runs that have them: until the deciding accuracy, else of the whole runs.
  void against_costs() {
    const std::optional<double>& accuracy = comparison_.deciding;
    for (const Measure measure : {Measure::price, Measure::energy}) {
      const MeasureRow& row = row_of(measure);
      std::vector<ParetoPoint> points;
      for (std::size_t i = 0; i < comparison_.runs.size(); ++i) {
        const RunResult& run = comparison_.runs[i];
        const ThresholdResult* const at = accuracy ? find_threshold(run, *accuracy) : nullptr;
        const std::optional<double> seconds = accuracy ? (at ? at->seconds : std::nullopt) : std::optional(run.simulated_seconds);
        const std::optional<double> cost = accuracy ? (at ? at->*(row.at) : std::nullopt) : scalar_of(run.summary, row.whole).number();
        if (seconds && cost) points.push_back({comparison_.labels[i], i, *seconds, *cost});
      }
      const std::string to = accuracy ? title_to(row_of(Measure::time), *accuracy, false) : time_title_;
      const std::string cost = accuracy ? title_to(row, *accuracy, false) : std::string(row.name);
      if (const auto figure = pareto_figure(points, row, to, with_currency(row, cost, comparison_.runs))) body_ += html_of(*figure);
    }
  }

  /// To the page of each run that has one.
  void pages() {
    std::string items;
    for (const std::size_t run : order_) {
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
  std::vector<Repeats> repeats_;
  std::vector<std::size_t> order_;                                      // of the runs: the first one first
  std::vector<std::vector<std::pair<std::string, std::string>>> keys_;  // [runs]
  std::string time_title_, body_;
};

}  // namespace

bool is_compare_page(const fs::path& page) {
  constexpr std::size_t head = 4096;
  return read_file(page, head).text.find(fmt::format("<title>{}</title>", compare_title)) != std::string::npos;
}

std::string compare_page(const Comparison& comparison, const fs::path& page_folder) { return ComparePage(comparison, page_folder).html(); }

}  // namespace straggler
