#include "scenarios/results/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "scenarios/results/text.hpp"

namespace straggler {

namespace {

/// Collects fields, of which any may be missing.
class Fields {
 public:
  void text(const char* key, const std::optional<std::string>& value) { add(key, Scalar(value)); }
  void count(const char* key, std::uint64_t value) { add(key, Scalar(value)); }
  void count(const char* key, std::optional<std::uint64_t> value) { add(key, Scalar(value)); }
  void number(const char* key, std::optional<double> value) { add(key, Scalar(value)); }
  void seconds(const char* key, std::optional<Time> value) { add(key, Scalar(value)); }
  std::vector<SummaryField> take() { return std::move(all_); }

 private:
  void add(const char* key, Scalar value) { all_.push_back({key, std::move(value)}); }
  std::vector<SummaryField> all_;
};

std::optional<double> ratio(double a, double b) { return b > 0 ? std::optional(a / b) : std::nullopt; }

double per_second(WideTicks ticks) { return static_cast<double>(ticks) / static_cast<double>(Time::ticks_per_second); }

void add_target(Fields& fields, const RunRecord& record) {
  fields.number("target_accuracy", record.target_accuracy);
  Reached target;
  if (record.target_accuracy) target = reached(record.curve, *record.target_accuracy, record.sustain);
  const auto& at = target.at;
  fields.seconds("time_to_target_s", at ? std::optional(at->time) : std::nullopt);
  fields.seconds("last_below_target_s", at ? target.last_below : std::nullopt);
  fields.count("updates_to_target", at ? std::optional(at->update) : std::nullopt);
  fields.count("samples_to_target", at ? std::optional(at->samples) : std::nullopt);
  fields.count("bytes_to_target", at ? std::optional(at->bytes_sent) : std::nullopt);
}

void add_bytes(Fields& fields, const RunRecord& record) {
  const auto workers = static_cast<double>(record.workers.size());
  WideTicks in_flight = 0, overlapped = 0, loading = 0;
  for (const WorkerRecord& worker : record.workers) {
    in_flight += worker.bytes_in_flight.ticks();
    overlapped += worker.overlapped.ticks();
    loading += worker.split[Phase::loading].ticks();
  }
  fields.count("bytes_sent", record.bytes_sent);
  fields.count("bytes_received", record.bytes_received);
  fields.count("bytes_lost", record.bytes_lost);
  fields.count("statistics_bytes", record.statistics_bytes);
  if (record.compression_ratio) fields.number("compression_ratio", record.compression_ratio);
  fields.count("samples_drawn", record.samples_drawn);
  fields.count("dropped_contributions", record.dropped.contributions);
  fields.count("dropped_samples", record.dropped.samples);
  fields.count("dropped_bytes", record.dropped.bytes);
  if (record.clients.present) {
    fields.number("clients_present", *record.clients.present);
    fields.count("clients_lost", record.clients.lost);
  }
  fields.number("bytes_up_per_worker", ratio(static_cast<double>(record.bytes_up), workers));
  fields.number("bytes_down_per_worker", ratio(static_cast<double>(record.bytes_down), workers));
  fields.number("loading_total_s", ratio(per_second(loading), workers));
  fields.number("communication_total_s", ratio(per_second(in_flight), workers));
  fields.number("overlap_fraction", ratio(static_cast<double>(overlapped), static_cast<double>(in_flight)));
}

void add_staleness(Fields& fields, const StalenessHistogram& histogram) {
  double count = 0, sum = 0;
  for (const auto& [staleness, contributions] : histogram) {
    count += static_cast<double>(contributions);
    sum += static_cast<double>(staleness) * static_cast<double>(contributions);
  }
  fields.number("staleness_mean", ratio(sum, count));
  fields.count("staleness_p50", staleness_percentile(histogram, 50));
  fields.count("staleness_p99", staleness_percentile(histogram, 99));
  fields.count("staleness_max", staleness_percentile(histogram, 100));
}

}  // namespace

std::optional<std::uint64_t> staleness_percentile(const StalenessHistogram& histogram, unsigned percent) {
  std::uint64_t total = 0, below = 0;
  for (const auto& [staleness, contributions] : histogram) total += contributions;
  if (total == 0) return std::nullopt;
  std::optional<std::uint64_t> largest;
  for (const auto& [staleness, contributions] : histogram) {
    if (contributions == 0) continue;
    below += contributions;
    largest = staleness;
    if (static_cast<WideTicks>(below) * 100 >= static_cast<WideTicks>(total) * static_cast<WideTicks>(percent)) break;
  }
  return largest;
}

std::string time_to(double accuracy, bool target) { return fmt::format("time to {}{}", number_text(accuracy), target ? " (target)" : ""); }

std::optional<double> mean_share(const std::vector<WorkerRecord>& workers, Phase phase) {
  double sum = 0, count = 0;
  for (const WorkerRecord& worker : workers) {
    const Time total = worker.split.total();
    if (total == Time()) continue;
    sum += static_cast<double>(worker.split[phase].ticks()) / static_cast<double>(total.ticks());
    count += 1;
  }
  return ratio(sum, count);
}

std::vector<SummaryField> summarize(const RunRecord& record) {
  Fields fields;
  fields.text("name", record.name);
  fields.text("scheme", record.scheme);
  fields.count("seed", record.seed);
  fields.count("workers", record.workers.size());
  fields.text("outcome", name_of(record.outcome));
  if (!record.stalled.empty()) fields.text("stalled", record.stalled);
  fields.seconds("simulated_seconds", record.end);
  fields.count("updates", record.updates);
  fields.number("epochs", record.epochs);
  fields.count("samples", record.samples);
  fields.number("samples_per_second", ratio(static_cast<double>(record.samples), record.end.seconds()));
  fields.number("final_train_loss", record.final_train_loss);
  fields.number("final_test_loss", record.final_test_loss);
  if (record.symbols) {
    fields.number("final_train_perplexity", perplexity(record.final_train_loss));
    fields.number("final_test_perplexity", perplexity(record.final_test_loss));
  }
  fields.number("final_test_accuracy", record.final_test_accuracy);
  fields.number("final_train_accuracy", record.final_train_accuracy);
  fields.number("guessing_accuracy", record.guessing_accuracy);
  add_target(fields, record);
  fields.count("rounds", record.rounds);
  add_bytes(fields, record);
  for (const PhaseRow& row : summary_phases) fields.number(share_key(row.phase).c_str(), mean_share(record.workers, row.phase));
  add_staleness(fields, record.staleness);
  fields.count("skipped_updates", record.skipped_updates);
  fields.number("final_loss_scale", record.final_loss_scale);
  fields.count("events", record.events);
  fields.text("weights_key", record.weights_key);
  return fields.take();
}

const Scalar& scalar_of(const std::vector<SummaryField>& fields, std::string_view key) {
  static const Scalar none;
  const auto at = std::find_if(fields.begin(), fields.end(), [&](const SummaryField& each) { return each.key == key; });
  return at == fields.end() ? none : at->value;
}

std::string text_of(const std::vector<SummaryField>& fields, std::string_view key) {
  const std::string* const text = scalar_of(fields, key).text();
  return text ? *text : std::string();
}

std::optional<Outcome> outcome_of(const std::vector<SummaryField>& fields) {
  const std::string text = text_of(fields, "outcome");
  for (const Outcome outcome : {Outcome::completed, Outcome::target_reached, Outcome::diverged, Outcome::interrupted, Outcome::aborted,
                                Outcome::all_workers_down, Outcome::stalled, Outcome::overloaded})
    if (text == name_of(outcome)) return outcome;
  return std::nullopt;
}

bool is_finished(const std::vector<SummaryField>& fields) {
  if (scalar_of(fields, "outcome").is_none()) return true;
  const std::optional<Outcome> outcome = outcome_of(fields);
  return outcome && is_finished(*outcome);
}

bool holds_text(std::string_view key) {
  return key == "name" || key == "scheme" || key == "outcome" || key == "stalled" || key == "weights_key";
}

bool needs_math(std::string_view key) {
  static constexpr std::array learned = {"final_train_loss",     "final_test_loss",   "final_train_perplexity", "final_test_perplexity",
                                         "final_test_accuracy",  "time_to_target_s",  "last_below_target_s",    "updates_to_target",
                                         "final_train_accuracy", "samples_to_target", "bytes_to_target",        "skipped_updates",
                                         "final_loss_scale",     "guessing_accuracy"};
  return std::find(learned.begin(), learned.end(), key) != learned.end();
}

std::string summary_json(const std::vector<SummaryField>& fields) {
  std::string out = "{";
  for (const SummaryField& field : fields)
    out += fmt::format("{}\n  {}: {}", out.size() > 1 ? "," : "", json_text(field.key), field.value.json());
  return out + "\n}\n";
}

}  // namespace straggler
