#include "tools/straggler/run_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/results/below_again.hpp"
#include "scenarios/results/busiest.hpp"
#include "scenarios/results/measures.hpp"
#include "scenarios/results/summary.hpp"
#include "scenarios/results/text.hpp"
#include "scenarios/results/waited_for.hpp"
#include "sim/base/readable.hpp"

namespace straggler::cli {

namespace {

class Lines {
 public:
  void add(const std::string& label, const std::string& value) { all_.emplace_back(label, value); }
  std::string text() const {
    std::size_t width = 16;
    for (std::size_t i = 1; i < all_.size(); ++i) width = std::max(width, all_[i].first.size());  // the first is a name of unlimited length
    std::string out;
    for (const auto& [label, value] : all_) out += fmt::format("{:<{}}  {}\n", label, width, value);
    return out;
  }

 private:
  std::vector<std::pair<std::string, std::string>> all_;
};

std::string outcome_text(const RunRecord& record) {
  std::string name = name_of(record.outcome);
  if (record.outcome == Outcome::diverged) return name + " (the loss is no longer finite)";
  if (record.outcome == Outcome::aborted) return name + " (a worker crashed, and on_failure is abort)";
  if (record.outcome == Outcome::all_workers_down) return name + " (no worker is left, and none will come)";
  if (record.outcome == Outcome::stalled) return name + " (" + record.stalled + ")";
  if (record.outcome == Outcome::overloaded) return name + " (more messages arrive than are handled)";
  if (record.outcome == Outcome::interrupted) return name + " (these are the results so far)";
  return name;
}

AccuracyCurve accuracies(const RunRecord& record) {
  AccuracyCurve curve;
  for (const CurvePoint& point : record.curve)
    if (point.test_accuracy) curve.emplace_back(point.time.seconds(), *point.test_accuracy);
  return curve;
}

void add_time(Lines& lines, const RunRecord& record, double accuracy) {
  const Reached first = reached(record.curve, accuracy, record.sustain);
  std::string value = "not reached";
  if (!first.at && std::ranges::any_of(accuracies(record), [accuracy](const auto& point) { return point.second >= accuracy; }))
    value += fmt::format(" in {} evaluations in a row", record.sustain);  // but in fewer
  if (first.at) {
    const double seconds = first.at->time.seconds();
    value = fmt::format("{} ({} updates, epoch {}, {})", readable_seconds(seconds), readable_count(first.at->update),
                        readable_number(first.at->epoch), readable_bytes(static_cast<double>(first.at->bytes_sent)));
    if (const std::optional<double> below = below_again(accuracies(record), accuracy, seconds))
      value += fmt::format("; held for {} evaluation{}, below it again after {}", record.sustain, record.sustain == 1 ? "" : "s",
                           readable_seconds(*below));
  }
  lines.add(time_to(accuracy, accuracy == record.target_accuracy), value);
}

void add_times(Lines& lines, const RunRecord& record) {
  std::vector<double> accuracies = record.thresholds;
  if (record.target_accuracy && std::find(accuracies.begin(), accuracies.end(), *record.target_accuracy) == accuracies.end())
    accuracies.push_back(*record.target_accuracy);
  std::sort(accuracies.begin(), accuracies.end());
  for (const double accuracy : accuracies) add_time(lines, record, accuracy);
}

std::string where_time_went(const RunRecord& record) {
  std::string text;
  for (const PhaseRow& row : phase_rows) {
    const double share = mean_share(record.workers, row.phase).value_or(0);
    if (share > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", row.title, readable_share(share));
  }
  return text.empty() ? "no time passed" : text;
}

std::string staleness_text(const RunRecord& record) {
  double count = 0, sum = 0;
  for (const auto& [staleness, contributions] : record.staleness) {
    count += static_cast<double>(contributions);
    sum += static_cast<double>(staleness) * static_cast<double>(contributions);
  }
  if (count == 0) return "no contributions";
  const auto percentile = [&](unsigned percent) { return *staleness_percentile(record.staleness, percent); };
  return fmt::format("mean {}, median {}, 99 % up to {}, max {}", readable_number(sum / count), percentile(50), percentile(99),
                     percentile(100));
}

std::string final_text(const RunRecord& record) {
  std::string text;
  const auto add = [&text](const char* what, const std::optional<double>& value) {
    if (value) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what, readable_score(*value));
  };
  add("test accuracy", record.final_test_accuracy);
  add("test loss", record.final_test_loss);
  if (record.symbols) add("test perplexity", perplexity(record.final_test_loss));
  add("train accuracy", record.final_train_accuracy);
  add("train loss", record.final_train_loss);
  if (record.symbols) add("train perplexity", perplexity(record.final_train_loss));
  return text.empty() ? "not evaluated (timing only)" : text;
}

/// Empty if there was no update.
std::string step_text(const RunRecord& record) {
  const auto number = [&record](const char* key) { return value_of(*find_figure(key), record).number(); };
  const std::optional<double> step = number("step_s"), exposed = number("exposed_communication_s"),
                              efficiency = number("scaling_efficiency"), rate = number("samples_per_second_per_worker");
  if (!step) return {};
  std::string text = readable_seconds(*step);
  if (rate) text += fmt::format(", {} samples per second and worker", readable_number(*rate));
  if (exposed) text += fmt::format("; exposed communication {}", readable_seconds(*exposed));
  if (efficiency) text += fmt::format("; {} scaling efficiency {}", record.alone.strong ? "strong" : "weak", readable_share(*efficiency));
  if (efficiency && record.alone.micro_batches > 1)
    text += fmt::format(" (of one worker with the global batch in {} micro-batches, since its memory holds no more)",
                        record.alone.micro_batches);
  return text;
}

/// "0.211 EUR, 0.203 EUR to 0.7": nothing where it is not known.
void add_costs(Lines& lines, const RunRecord& record) {
  for (const Measure measure : {Measure::price, Measure::energy}) {
    const MeasureRow& row = row_of(measure);
    const std::string unit = measure == Measure::price && !record.currency.empty() ? " " + record.currency : "";
    const auto text = [&](const char* key) -> std::string {
      const std::optional<double> value = value_of(*find_figure(key), record).number();
      return value ? row.text(*value) + unit : std::string();
    };
    const std::string whole = text(row.whole), target = text(row.to_target);
    if (!whole.empty())
      lines.add(row.name, whole + (target.empty() ? "" : fmt::format(", {} to {}", target, number_text(*record.target_accuracy))));
  }
}

/// Nothing where neither units fail again and again nor a run recovers.
void add_failures(Lines& lines, const RunRecord& record) {
  const auto text = [&record](const char* key) -> std::string {
    const RunFigure& figure = *find_figure(key);
    if (figure.there != nullptr && !figure.there(record)) return {};
    const std::optional<double> value = value_of(figure, record).number();
    return value ? text_of_unit(figure.unit)(*value) : std::string();
  };
  if (const std::string failures = text("failures"); !failures.empty()) {
    const std::string between = text("mean_time_between_failures_s");
    lines.add("failures", failures + (between.empty() ? "" : ", one every " + between));
  }
  if (const std::string goodput = text("goodput"); !goodput.empty()) {
    lines.add("rollbacks", fmt::format("{}, {} updates lost", text("rollbacks"), text("lost_updates")));
    lines.add("goodput", fmt::format("{}; effective training time {}", goodput, text("ettr")));
  }
}

/// Empty where the scale is not dynamic.
std::string loss_scale_text(const RunRecord& record) {
  if (!record.skipped_updates || !record.final_loss_scale) return {};
  const std::string scale = number_text(*record.final_loss_scale) + " at the end; ";
  if (*record.skipped_updates == 0) return scale + "no update skipped";
  return scale + fmt::format("{} update{} skipped, because a gradient overflowed", readable_count(*record.skipped_updates),
                             *record.skipped_updates == 1 ? "" : "s");
}

}  // namespace

std::string run_report(const Scenario& scenario, const RunRecord& record, const std::filesystem::path& folder) {
  Lines lines;
  const double seconds = record.end.seconds();
  lines.add(record.name, fmt::format("{} on {} worker{}, seed {}", record.scheme, readable_count(record.workers.size()),
                                     record.workers.size() == 1 ? "" : "s", record.seed));
  lines.add("outcome", outcome_text(record));
  lines.add("simulated time", readable_seconds(seconds));
  lines.add("updates", readable_count(record.updates) +
                           (std::isnan(record.epochs) ? std::string() : fmt::format(" in {} epochs", readable_number(record.epochs))));
  lines.add("samples",
            fmt::format("{}{}", readable_count(record.samples),
                        seconds > 0 ? fmt::format(", {} per second", readable_number(static_cast<double>(record.samples) / seconds)) : ""));
  if (const std::string text = step_text(record); !text.empty()) lines.add("an update", text);
  if (std::any_of(record.curve.begin(), record.curve.end(), [](const CurvePoint& point) { return point.test_accuracy.has_value(); }))
    add_times(lines, record);
  lines.add("workers' time", where_time_went(record));
  if (const std::string slow = waited_for(scenario, idle_of_groups(record)); !slow.empty()) lines.add("waited for", slow);
  const Holdup held = holdup(scenario, record);
  if (!held.link.empty()) lines.add("busiest link", held.link);
  if (!held.answers.empty()) lines.add("waited for", held.answers);
  lines.add("staleness", staleness_text(record));
  const auto workers = static_cast<double>(record.workers.empty() ? 1 : record.workers.size());
  lines.add("bytes sent", fmt::format("{} (a worker: {} up, {} down)", readable_bytes(static_cast<double>(record.bytes_sent)),
                                      readable_bytes(static_cast<double>(record.bytes_up) / workers),
                                      readable_bytes(static_cast<double>(record.bytes_down) / workers)));
  add_costs(lines, record);
  add_failures(lines, record);
  if (record.compression_ratio)
    lines.add("compression", fmt::format("{}: {} of the bytes of uncompressed messages", scenario.training.compression.name,
                                         readable_share(1 / *record.compression_ratio)));
  lines.add("final", final_text(record));
  if (const std::string text = loss_scale_text(record); !text.empty()) lines.add("loss scale", text);
  lines.add("results", folder.string());
  return lines.text();
}

}  // namespace straggler::cli
