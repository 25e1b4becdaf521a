#include "tools/straggler/run_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/results/summary.hpp"
#include "scenarios/results/text.hpp"

namespace straggler::cli {

namespace {

class Lines {
 public:
  void add(const std::string& label, const std::string& value) { text_ += fmt::format("{:<16}  {}\n", label, value); }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string outcome_text(const RunRecord& record) {
  switch (record.outcome) {
    case Outcome::completed:
      return "completed";
    case Outcome::target_reached:
      return "reached its target";
    case Outcome::diverged:
      return "diverged: the loss is no longer finite";
    case Outcome::interrupted:
      return "interrupted; these are the results so far";
  }
  return name_of(record.outcome);
}

void add_threshold(Lines& lines, const RunRecord& record, double accuracy, const char* word) {
  const Reached first = reached(record.curve, accuracy, record.sustain);
  std::string value = "not reached";
  if (first.at)
    value = fmt::format("{} ({} updates, epoch {:.4g}, {})", readable_seconds(first.at->time.seconds()), readable_count(first.at->update),
                        first.at->epoch, readable_bytes(static_cast<double>(first.at->bytes_sent)));
  lines.add(fmt::format("{} {}", word, number_text(accuracy)), value);
}

std::string where_time_went(const RunRecord& record) {
  std::string text;
  for (std::size_t i = 0; i < phase_count; ++i) {
    const auto phase = static_cast<Phase>(i);
    const double share = mean_share(record.workers, phase).value_or(0);
    if (share > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name_of(phase), readable_share(share));
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
    if (value) text += fmt::format("{}{} {:.4f}", text.empty() ? "" : ", ", what, *value);
  };
  add("test accuracy", record.final_test_accuracy);
  add("test loss", record.final_test_loss);
  add("train accuracy", record.final_train_accuracy);
  add("train loss", record.final_train_loss);
  return text.empty() ? "not evaluated (timing only)" : text;
}

}  // namespace

std::string run_report(const RunRecord& record, const std::filesystem::path& folder) {
  Lines lines;
  const double seconds = record.end.seconds();
  lines.add(record.name, fmt::format("{} on {} worker{}, seed {}", record.scheme, readable_count(record.workers.size()),
                                     record.workers.size() == 1 ? "" : "s", record.seed));
  lines.add("outcome", outcome_text(record));
  lines.add("simulated time", readable_seconds(seconds));
  lines.add("updates", fmt::format("{} in {:.4g} epochs", readable_count(record.updates), record.epochs));
  lines.add("samples",
            fmt::format("{}{}", readable_count(record.samples),
                        seconds > 0 ? fmt::format(", {} per second", readable_number(static_cast<double>(record.samples) / seconds)) : ""));
  if (std::any_of(record.curve.begin(), record.curve.end(), [](const CurvePoint& point) { return point.test_accuracy.has_value(); })) {
    for (const double threshold : record.thresholds) add_threshold(lines, record, threshold, "time to");
    if (record.target_accuracy) add_threshold(lines, record, *record.target_accuracy, "target");
  }
  lines.add("workers' time", where_time_went(record));
  lines.add("staleness", staleness_text(record));
  const auto workers = static_cast<double>(record.workers.empty() ? 1 : record.workers.size());
  lines.add("bytes sent", fmt::format("{} (a worker: {} up, {} down)", readable_bytes(static_cast<double>(record.bytes_sent)),
                                      readable_bytes(static_cast<double>(record.bytes_up) / workers),
                                      readable_bytes(static_cast<double>(record.bytes_down) / workers)));
  lines.add("final", final_text(record));
  lines.add("results", folder.string());
  return lines.take();
}

}  // namespace straggler::cli
