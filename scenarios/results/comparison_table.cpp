#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "scenarios/results/comparison.hpp"
#include "scenarios/results/figures.hpp"
#include "scenarios/results/measures.hpp"
#include "scenarios/results/summary.hpp"
#include "scenarios/results/text.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler {

namespace {

struct Row {
  std::string label;
  std::vector<std::string> cells;  // [runs]
};

std::string shown(const std::optional<double>& value, const std::function<std::string(double)>& text) { return value ? text(*value) : "-"; }

std::string time_cell(const RunResult& run, double threshold) {
  const ThresholdResult* row = timing_alone(run) ? nullptr : find_threshold(run, threshold);
  return row ? shown(row->seconds, readable_seconds) : "n/a";
}

class Table {
 public:
  explicit Table(const Comparison& comparison) : comparison_(comparison), names_(comparison.labels) {
    if (comparison.winner) names_[*comparison.winner].insert(0, "* ");
    add("scheme", [](const RunResult& run) { return run.scheme; });
    add("outcome", [](const RunResult& run) { return std::string(name_of(run.outcome)); });
    add("workers", [](const RunResult& run) { return readable_number(run.workers); });
    const bool any_real = std::any_of(comparison.runs.begin(), comparison.runs.end(), [](const RunResult& run) { return run.real; });
    if (any_real) add("time is", [](const RunResult& run) { return std::string(run.real ? "measured" : "simulated"); });
    add(any_real ? "time" : "simulated time", [](const RunResult& run) { return readable_seconds(run.simulated_seconds); });
    add("samples per second", [](const RunResult& run) { return shown(run.samples_per_second, readable_number); });
    for (const char* const key : {"step_s", "exposed_communication_s", "scaling_efficiency"}) add_figure(key);
    add_times();
    add_costs();
    add_speed_up();
    for (const char* const key : figures_of_failures) add_figure(key);
    for (const PhaseRow& row : summary_phases) add_share(row);
    add("staleness, mean", [](const RunResult& run) { return shown(run.staleness_mean, readable_number); });
    add("staleness, max", [](const RunResult& run) { return shown(run.staleness_max, readable_number); });
    add("bytes sent", [](const RunResult& run) { return readable_bytes(run.bytes_sent); });
    if (std::ranges::any_of(comparison.runs, [](const RunResult& run) { return run.compression_ratio.has_value(); }))
      add("bytes saved in messages",
          [](const RunResult& run) { return shown(run.compression_ratio, [](double ratio) { return readable_share(1 - 1 / ratio); }); });
    add("final test accuracy", [](const RunResult& run) { return shown(run.final_test_accuracy, readable_score); });
    const auto perplexity_of = [](const RunResult& run) { return scalar_of(run.summary, "final_test_perplexity").number(); };
    if (std::ranges::any_of(comparison.runs, [&](const RunResult& run) { return perplexity_of(run).has_value(); }))
      add("final test perplexity", [perplexity_of](const RunResult& run) { return shown(perplexity_of(run), readable_score); });
  }

  std::string text(std::size_t width) const {
    std::size_t label_width = 0;
    for (const Row& row : rows_) label_width = std::max(label_width, row.label.size());
    constexpr std::size_t runs_across = 6, narrowest = 12;
    const std::size_t across = std::min(runs_across, comparison_.runs.size());
    const std::size_t share = width > label_width ? (width - label_width) / across : 0;
    const std::size_t room = std::max(narrowest, share > 2 ? share - 2 : 0);
    std::string out;
    for (std::size_t first = 0; first < comparison_.runs.size(); first += across) {
      if (first > 0) out += '\n';
      out += part(room, first, std::min(first + across, comparison_.runs.size()));
    }
    if (comparison_.winner) out += "* the run that wins\n";
    if (comparison_.runs.size() > 1 && speed_ups_of(comparison_)) out += fmt::format("1x: {}\n", comparison_.labels[comparison_.reference]);
    return out;
  }

  std::vector<std::vector<std::string>> cells() const {
    std::vector<std::vector<std::string>> all{{"run"}};
    for (const Row& row : rows_) all.front().push_back(row.label);
    for (std::size_t run = 0; run < comparison_.runs.size(); ++run) {
      all.push_back({comparison_.labels[run]});
      for (const Row& row : rows_) all.back().push_back(row.cells[run]);
    }
    return all;
  }

 private:
  template <class Cell>
  void add(std::string label, Cell cell) {
    Row row{std::move(label), {}};
    for (const RunResult& run : comparison_.runs) row.cells.push_back(cell(run));
    rows_.push_back(std::move(row));
  }

  /// Where a run has it.
  void add_figure(const char* key) {
    const RunFigure& figure = *find_figure(key);
    const auto value = [&figure](const RunResult& run) { return scalar_of(run.summary, figure.key).number(); };
    if (std::ranges::any_of(comparison_.runs, [&](const RunResult& run) { return value(run).has_value(); }))
      add(figure.title, [&](const RunResult& run) { return shown(value(run), text_of_unit(figure.unit)); });
  }

  void add_share(const PhaseRow& row) {
    const auto any = [&row](const RunResult& run) { return run.shares[row.phase].value_or(0) > 0; };
    if (row.shown != PhaseShown::if_any || std::any_of(comparison_.runs.begin(), comparison_.runs.end(), any))
      add(row.title, [&row](const RunResult& run) { return shown(run.shares[row.phase], readable_share); });
  }

  void add_times() {
    const auto& runs = comparison_.runs;
    const std::optional<double> target = runs.front().target_accuracy;
    const bool one_target = std::all_of(runs.begin(), runs.end(), [&](const RunResult& run) { return run.target_accuracy == target; });
    const bool any_target = std::any_of(runs.begin(), runs.end(), [](const RunResult& run) { return run.target_accuracy.has_value(); });
    if (any_target && !one_target)
      add("time to its target", [](const RunResult& run) { return run.target_accuracy ? time_cell(run, *run.target_accuracy) : "n/a"; });
    for (const double threshold : comparison_.thresholds)
      add(time_to(threshold, one_target && target == threshold), [threshold](const RunResult& run) { return time_cell(run, threshold); });
  }

  /// Of what is known of any run.
  void add_costs() {
    for (const Measure measure : {Measure::price, Measure::energy}) {
      const MeasureRow& row = row_of(measure);
      const auto value = [&row](const RunResult& run) { return scalar_of(run.summary, row.whole).number(); };
      if (std::ranges::none_of(comparison_.runs, [&](const RunResult& run) { return value(run).has_value(); })) continue;
      add(with_currency(row, row.name, comparison_.runs), [&](const RunResult& run) { return shown(value(run), row.text); });
      for (const double threshold : comparison_.thresholds)
        add(with_currency(row, title_to(row, threshold, false), comparison_.runs), [&](const RunResult& run) {
          const ThresholdResult* const at = timing_alone(run) ? nullptr : find_threshold(run, threshold);
          return at ? shown(at->*(row.at), row.text) : "n/a";
        });
    }
  }

  void add_speed_up() {
    const std::optional<SpeedUps> speed_ups = speed_ups_of(comparison_);
    if (!speed_ups) return;
    const bool measured = comparison_.runs[comparison_.reference].real;
    Row row{speed_ups->threshold ? fmt::format("time speed-up at {}", number_text(*speed_ups->threshold)) : "throughput speed-up", {}};
    for (std::size_t i = 0; i < comparison_.runs.size(); ++i) {
      const bool applies = !speed_ups->threshold || comparison_.runs[i].real == measured;
      row.cells.push_back(applies ? shown(speed_ups->ratios[i], [](double ratio) { return fmt::format("{:.3g}x", ratio); }) : "n/a");
    }
    rows_.push_back(std::move(row));
  }

  /// The runs from `first` to before `last`. Names wider than `room` and than the cells below them go on in the next line.
  std::string part(std::size_t room, std::size_t first, std::size_t last) const {
    std::size_t lines = 1;
    std::vector<std::size_t> widths;
    for (std::size_t i = first; i < last; ++i) {
      const std::string& name = names_[i];
      std::size_t widest = std::min(room, name.size());
      for (const Row& row : rows_) widest = std::max(widest, row.cells[i].size());
      widths.push_back(widest);
      lines = std::max(lines, (name.size() + widest - 1) / widest);
    }
    std::vector<std::vector<std::string>> rows(lines, {""});
    for (std::size_t line = 0; line < lines; ++line)
      for (std::size_t i = first; i < last; ++i) {
        const std::string& name = names_[i];
        const std::size_t width = widths[i - first], from = line * width;
        rows[line].push_back(from < name.size() ? name.substr(from, width) : std::string());
      }
    for (const Row& row : rows_) {
      rows.push_back({row.label});
      rows.back().insert(rows.back().end(), row.cells.begin() + static_cast<std::ptrdiff_t>(first),
                         row.cells.begin() + static_cast<std::ptrdiff_t>(last));
    }
    const std::string table = aligned(rows, 1);
    std::size_t longest = 0, end_of_names = 0;
    TextLines of_table(table);
    for (std::string_view line; of_table.next(line);) {
      longest = std::max(longest, line.size());
      if (of_table.number() <= lines) end_of_names += line.size() + 1;
    }
    return table.substr(0, end_of_names) + std::string(longest, '-') + '\n' + table.substr(end_of_names);
  }

  const Comparison& comparison_;
  std::vector<std::string> names_;  // [runs], above their columns
  std::vector<Row> rows_;
};

}  // namespace

std::string comparison_table(const Comparison& comparison, std::size_t width) { return Table(comparison).text(width); }

std::vector<std::vector<std::string>> comparison_cells(const Comparison& comparison) { return Table(comparison).cells(); }

}  // namespace straggler
