#include "scenarios/import/mlperf_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "scenarios/import/imported.hpp"
#include "scenarios/import/timed_job.hpp"
#include "sim/base/ascii.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler::import_mlperf_log {
namespace {

using nlohmann::json;

constexpr std::uintmax_t largest_log = 512 << 20;
constexpr std::size_t longest_line = 1 << 16, most_runs = 10'000, most_rates = 1'000'000;

std::optional<double> number_of(const json& value) {
  if (!value.is_number()) return std::nullopt;
  const double number = value.get<double>();
  return std::isfinite(number) && std::abs(number) <= 1e15 ? std::optional(number) : std::nullopt;
}
std::optional<double> positive(const json& value) {
  const std::optional<double> number = number_of(value);
  return number && *number > 0 ? number : std::nullopt;
}
const json& member(const json& map, const char* key) {
  static const json nothing;
  if (!map.is_object()) return nothing;
  const auto found = map.find(key);
  return found == map.end() ? nothing : *found;
}

/// Samples a second: the number itself, or that of a map such as {"imgs_sec": 12119}.
std::optional<double> rate_of(const json& value) {
  if (value.is_number()) return positive(value);
  if (!value.is_object()) return std::nullopt;
  for (const auto& [key, each] : value.items())
    for (const char* part : {"throughput", "_sec", "per_s"})
      if (key.find(part) != std::string::npos && positive(each)) return positive(each);
  return std::nullopt;
}

/// Digits in `text` from `at` on.
std::optional<double> digits_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && end < at + 6 && is_digit(text[end])) ++end;
  return end == at ? std::nullopt : as_number(text.substr(at, end - at));
}

class Log {
 public:
  explicit Log(const GivenFile& file) : shown_(file.shown().string()) {
    if (file.size() > largest_log) refuse("has more than 512 MiB; give its lines with :::MLLOG alone");
    run_.file = file.path().filename().string();
    const std::string text = file.text(largest_log);
    TextLines lines(text);
    for (std::string_view line; lines.next(line);) {
      constexpr std::string_view mark = ":::MLLOG";
      const std::size_t at = line.find(mark);
      if (at == std::string_view::npos || line.size() > longest_line) continue;
      const json entry = json::parse(line.substr(at + mark.size()), nullptr, false);
      if (entry.is_object() && member(entry, "key").is_string()) take(entry, lines.number());
    }
    if (started_) end("unfinished", last_);
    if (runs_.empty()) refuse("is a log of MLPerf without a run: no line has run_start and a batch; give the log of the training itself");
  }
  std::vector<MlperfRun> runs() && { return std::move(runs_); }

 private:
  [[noreturn]] void refuse(const std::string& what) const { throw DataError(shown_ + ": " + what); }

  void take(const json& entry, std::size_t line) {
    const std::string& key = entry["key"].get_ref<const std::string&>();
    const json &value = member(entry, "value"), &more = member(entry, "metadata");
    const std::optional<double> at = number_of(member(entry, "time_ms"));
    if (at) last_ = *at;
    if (key == "run_start") {
      if (started_) return;  // of another rank
      if (!at) refuse(fmt::format("line {}: run_start has no time_ms; get the original log", line));
      started_ = at;
      rates_.clear();
      of_epochs_.clear();
      run_.accuracy = run_.epochs = {};
    } else if (key == "run_stop") {
      if (!started_) return;
      if (!at || *at < *started_) refuse(fmt::format("line {}: run_stop is no time after run_start; get the original log", line));
      const json& status = member(more, "status");
      end(status.is_string() ? status.get<std::string>() : std::string("unknown"), *at);
    } else if (key == "eval_accuracy") {
      run_.accuracy = number_of(value);
      for (const char* counted : {"epoch_num", "samples_count", "step_num"})
        if (const std::optional<double> number = number_of(member(more, counted))) {
          run_.epochs = number;
          break;
        }
    } else if (key == "throughput" || key == "tracked_stats") {
      if (const std::optional<double> rate = rate_of(value); rate && rates_.size() < most_rates && (key == "throughput" || !plain_)) {
        if (key == "throughput" && !plain_) rates_.clear();  // both say the same
        plain_ = plain_ || key == "throughput";
        rates_.push_back(*rate);
      }
    } else if (key == "epoch_start") {
      epoch_ = at;
    } else if (key == "epoch_stop") {
      if (epoch_ && at && *at > *epoch_ && of_epochs_.size() < most_rates) of_epochs_.push_back((*at - *epoch_) * 1e-3);
      epoch_.reset();
    } else {
      setting(key, value);
    }
  }

  void setting(const std::string& key, const json& value) {
    const auto text = [&](std::string& to) {
      if (value.is_string()) to = on_one_line(value.get<std::string>().substr(0, 200));
    };
    const auto number = [&](std::optional<double>& to) {
      if (const std::optional<double> given = positive(value)) to = given;
    };
    if (key == "submission_benchmark") text(run_.benchmark);
    if (key == "submission_platform") text(run_.platform);
    if (key == "opt_name") text(run_.optimizer);
    if (key == "global_batch_size" && positive(value).value_or(0) <= 1e9) number(run_.batch);
    if (key == "train_samples") number(run_.samples);
    if (key == "number_of_nodes") number(nodes_);
    if (key == "accelerators_per_node") number(per_node_);
    if (key == "d_batch_size") number(device_batch_);
    if (key == "gradient_accumulation_steps") number(accumulated_);
    if (key.ends_with("opt_base_learning_rate")) number(run_.learning_rate);
    if (key.ends_with("learning_rate_warmup_epochs")) number(run_.warmup_epochs);
  }

  /// "8xXE8545x4A100-SXM-40GB" are 8 nodes of 4.
  void machines(MlperfRun& run) const {
    const std::string& platform = run.platform;
    run.nodes = nodes_;
    if (!run.nodes)
      if (const std::size_t times = platform.find_first_not_of("0123456789"); times != std::string::npos && platform[times] == 'x')
        run.nodes = digits_at(platform, 0);
    std::optional<double> each = per_node_;
    for (std::size_t at = platform.find('x'); !each && at != std::string::npos; at = platform.find('x', at + 1))
      if (at > 0) each = digits_at(platform, at + 1);
    if (run.nodes && each)
      run.accelerators = *run.nodes * *each;
    else if (run.batch && device_batch_ && std::fmod(*run.batch, *device_batch_ * accumulated_.value_or(1)) == 0)
      run.accelerators = *run.batch / (*device_batch_ * accumulated_.value_or(1));
    if (run.accelerators && !(*run.accelerators >= 1 && *run.accelerators <= 1e6)) run.accelerators.reset();
    if (run.nodes && !(*run.nodes >= 1 && *run.nodes <= 1e6)) run.nodes.reset();
  }

  void end(const std::string& status, double at) {
    if (runs_.size() == most_runs) refuse("has more than 10,000 runs; give the log of one");
    MlperfRun& made = runs_.emplace_back(run_);
    made.status = on_one_line(status.substr(0, 40));
    made.seconds = std::max(0.0, at - *started_) * 1e-3;
    machines(made);
    if (!rates_.empty()) made.rate = median_seconds(rates_);
    if (rates_.empty() && run_.samples && !of_epochs_.empty()) made.rate = *run_.samples / median_seconds(of_epochs_);
    started_.reset();
    plain_ = false;
  }

  std::string shown_;
  std::vector<MlperfRun> runs_;
  MlperfRun run_;
  std::optional<double> started_, epoch_, nodes_, per_node_, device_batch_, accumulated_;
  std::vector<double> rates_, of_epochs_;
  double last_ = 0;     // time of the last line
  bool plain_ = false;  // rates_ are of `throughput`
};

}  // namespace
}  // namespace straggler::import_mlperf_log

namespace straggler {

std::vector<MlperfRun> read_mlperf_log(const GivenFile& file) { return import_mlperf_log::Log(file).runs(); }

}  // namespace straggler
