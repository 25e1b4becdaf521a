// Format `steplog`: lines that trainers print every few steps. Megatron-LM, torchtitan, mmengine.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "scenarios/import/import_format.hpp"
#include "scenarios/import/timed_job.hpp"
#include "sim/base/ascii.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler::import_steplog {
namespace {

constexpr std::uintmax_t largest_log = 256 << 20;
constexpr std::size_t most_lines = 4'000'000;

/// The number behind `label`, which may have commas for thousands; nothing: it is not there.
std::optional<double> number_behind(std::string_view line, std::string_view label) {
  const std::size_t found = line.find(label);
  if (found == std::string_view::npos) return std::nullopt;
  std::size_t at = found + label.size();
  while (at < line.size() && line[at] == ' ') ++at;
  std::string digits;
  for (; at < line.size() && (is_digit(line[at]) || line[at] == '.' || (line[at] == ',' && at + 1 < line.size() && is_digit(line[at + 1])));
       ++at)
    if (line[at] != ',') digits += line[at];
  const std::optional<double> value = as_number(digits);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

/// Seconds of the day of the first "12:34:56,789" in the line.
std::optional<double> clock_of(std::string_view line) {
  const auto two = [&](std::size_t at) { return (line[at] - '0') * 10 + (line[at + 1] - '0'); };
  for (std::size_t i = 0; i + 8 <= line.size(); ++i) {
    bool fits = line[i + 2] == ':' && line[i + 5] == ':';
    for (const std::size_t digit : {0, 1, 3, 4, 6, 7}) fits = fits && is_digit(line[i + digit]);
    if (!fits) continue;
    double seconds = two(i) * 3600 + two(i + 3) * 60 + two(i + 6), unit = 0.1;
    if (i + 8 < line.size() && (line[i + 8] == ',' || line[i + 8] == '.'))
      for (std::size_t at = i + 9; at < line.size() && is_digit(line[at]) && unit > 1e-7; ++at, unit /= 10)
        seconds += unit * (line[at] - '0');
    return seconds;
  }
  return std::nullopt;
}

struct Entry {
  double step = 0, seconds = 0;   // of one step; 0: not known
  std::optional<double> waiting;  // of it, for data
  std::optional<double> tokens;   // a second, of one GPU
  std::optional<double> batch;    // samples of all
  std::optional<double> clock;
};

/// A trainer's line, or nothing.
struct Trainer {
  const char* name;
  std::optional<Entry> (*read)(std::string_view line);
};

std::optional<Entry> megatron(std::string_view line) {
  const std::optional<double> step = number_behind(line, "iteration"), ms = number_behind(line, "elapsed time per iteration (ms):");
  if (!step || !ms || !(*ms > 0)) return std::nullopt;
  return Entry{*step, *ms * 1e-3, {}, {}, number_behind(line, "global batch size:"), {}};
}

std::optional<Entry> torchtitan(std::string_view line) {
  if (line.find("titan") == std::string_view::npos) return std::nullopt;
  const std::optional<double> step = number_behind(line, "step:"), tokens = number_behind(line, "tps:");
  if (!step || !tokens || !(*tokens > 0)) return std::nullopt;
  return Entry{*step, 0, {}, tokens, {}, clock_of(line)};
}

std::optional<Entry> mmengine(std::string_view line) {
  const std::size_t train = line.find("Iter(train)") != std::string_view::npos ? line.find("Iter(train)") : line.find("Epoch(train)");
  if (train == std::string_view::npos) return std::nullopt;
  const std::size_t bracket = line.rfind('[', line.find('/', train));
  const std::optional<double> step = bracket == std::string_view::npos ? std::nullopt : number_behind(line.substr(bracket), "[");
  const std::optional<double> seconds = number_behind(line, " time:");
  if (!step || !seconds || !(*seconds > 0)) return std::nullopt;
  return Entry{*step, *seconds, number_behind(line, "data_time:"), {}, {}, {}};
}

constexpr std::array trainers = {Trainer{"Megatron-LM", megatron}, Trainer{"torchtitan", torchtitan}, Trainer{"mmengine", mmengine}};

const Trainer* trainer_of(std::string_view text) {
  TextLines lines(text);
  for (std::string_view line; lines.next(line);)
    for (const Trainer& trainer : trainers)
      if (trainer.read(line)) return &trainer;
  return nullptr;
}

bool recognizes(const FileStart& start) { return start.bytes.find('\0') == std::string_view::npos && trainer_of(start.bytes) != nullptr; }

/// Those of torchtitan: the time of a line to the next, over the steps between them.
void times_by_clock(std::vector<Entry>& entries) {
  std::vector<Entry> timed;
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (!entries[i].clock || !entries[i - 1].clock || !(entries[i].step > entries[i - 1].step)) continue;
    double seconds = *entries[i].clock - *entries[i - 1].clock;
    if (seconds < 0) seconds += 86400;
    entries[i].seconds = seconds / (entries[i].step - entries[i - 1].step);
    if (entries[i].seconds > 0) timed.push_back(entries[i]);
  }
  entries = std::move(timed);
}

/// By steps of the log, in words.
std::string steps_text(const std::vector<double>& steps) {
  std::vector<std::string> words;
  for (const double step : steps) words.push_back(fmt::format("{:.0f}", step));
  if (words.size() > 4) {
    const std::size_t more = words.size() - 3;
    words.resize(3);
    words.push_back(fmt::format("{} more", more));
  }
  return listed(words);
}

Imported read(const std::vector<GivenFile>& files, const Parameters&) {
  const GivenFile& file = files.front();
  const std::string shown = file.shown().string();
  if (files.size() > 1) throw DataError(shown + " and others: are logs of a job each, or of parts of one; name one of them");
  if (file.size() > largest_log) throw DataError(shown + ": has more than 256 MiB; give the lines of the steps alone");
  const std::string text = file.text(largest_log);
  const Trainer& trainer = *trainer_of(text);
  std::vector<Entry> entries;
  TextLines lines(text);
  for (std::string_view line; lines.next(line) && entries.size() < most_lines;)
    if (const std::optional<Entry> entry = trainer.read(line)) entries.push_back(*entry);
  const std::size_t printed = entries.size();
  std::vector<double> tokens;
  for (const Entry& entry : entries)
    if (entry.tokens) tokens.push_back(*entry.tokens);
  const bool by_clock = !tokens.empty();
  if (by_clock) times_by_clock(entries);
  if (entries.empty())
    throw DataError(fmt::format("{}: is a log of {} with {} that gives no time of a step; give two lines or more", shown, trainer.name,
                                printed == 1 ? "one line" : "lines"));

  constexpr double start_up = 1.5, stalled = 1.5, spike = 1.02, far = 5;
  std::vector<double> all;
  for (const Entry& entry : entries) all.push_back(entry.seconds);
  const double usual = median_seconds(all);
  std::size_t begin = 0;
  while (begin + 2 < entries.size() && entries[begin].seconds > start_up * usual) ++begin;
  // The second iteration of a log from the first one on still starts up.
  if (begin == 1 && entries.front().step == 1 && entries.size() > 4 && entries[1].seconds > 1.01 * usual) ++begin;
  std::vector<double> apart;
  for (const double seconds : all) apart.push_back(std::abs(seconds - usual));
  // From line to line there may be more than steps: the profiler writes its file, or a checkpoint is.
  const double most = by_clock ? std::max(spike * usual, usual + far * median_seconds(apart)) : INFINITY;
  TimedJob job;
  job.format = "steplog";
  job.name = import_name(file, {"log", "train"});
  job.from = {file.path().filename().string()};
  job.what = fmt::format("a job logged by {}", trainer.name);
  std::vector<double> stalls, spikes, waiting;
  bool left_out = false;
  for (std::size_t i = begin; i < entries.size(); ++i) {
    if (entries[i].seconds > stalled * usual) {
      stalls.push_back(entries[i].step);
      continue;
    }
    if (entries[i].seconds > spike * usual) spikes.push_back(entries[i].step);
    if (entries[i].seconds > most) {
      left_out = true;
      continue;
    }
    job.steps.push_back(entries[i].seconds);
    if (entries[i].waiting) waiting.push_back(*entries[i].waiting);
  }
  job.step = mean_seconds(job.steps);
  job.where = fmt::format("mean of {} lines", job.steps.size());
  double waits = 0, time = 0;
  for (const Entry& entry : entries) {
    waits += entry.waiting.value_or(0);
    time += entry.seconds;
  }
  TimedRank rank;
  rank.loader = mean_seconds(waiting);
  rank.forward = (job.step - rank.loader) / 3;
  rank.backward = job.step - rank.loader - rank.forward;
  job.ranks = {rank};
  job.assumed.emplace_back("a third of a step is forward");
  job.assumed.emplace_back("one worker stands for all: the log gives the step as a whole, with what is exchanged in it");
  if (entries.back().batch) job.batch = static_cast<std::int64_t>(std::clamp(*entries.back().batch, 1.0, 1e9));
  job.facts["trainer"] = trainer.name;
  job.facts["median_s"] = median_seconds(job.steps);
  job.facts["left_out"] = Json::array();
  for (std::size_t i = 0; i < begin; ++i) job.facts["left_out"].push_back({{"step", entries[i].step}, {"seconds", entries[i].seconds}});
  job.facts["stalls"] = stalls;
  job.facts["spikes"] = spikes;
  job.facts["loader_share"] = waits > 0 ? Json(waits / time) : Json();
  if (!tokens.empty()) {
    job.facts["tokens_per_second_per_gpu"] = median_seconds(tokens);
    job.said.emplace_back("tokens",
                          fmt::format("{} a second of one GPU (median); a step holds {} of them", readable_number(median_seconds(tokens)),
                                      readable_number(std::round(median_seconds(tokens) * median_seconds(job.steps)))));
  }
  if (begin > 0) {
    std::vector<double> first;
    for (std::size_t i = 0; i < begin; ++i) first.push_back(entries[i].step);
    job.said.emplace_back("left out", fmt::format("step{} {}: start-up, or a stall ({})", begin == 1 ? "" : "s", steps_text(first),
                                                  readable_seconds(entries.front().seconds)));
  }
  if (!stalls.empty())
    job.said.emplace_back("left out", fmt::format("stalls at step{} {}", stalls.size() == 1 ? "" : "s", steps_text(stalls)));
  if (!spikes.empty())
    job.said.emplace_back("spikes",
                          fmt::format("more than 2 % above the median at step{} {}{}", spikes.size() == 1 ? "" : "s", steps_text(spikes),
                                      left_out ? ": not in the mean, since a clock counts what is between steps, too" : ""));
  if (waits > 0) job.said.emplace_back("loader", fmt::format("{} of all the time is waiting for data", readable_share(waits / time)));
  job.missing = {"who waits for whom: a log has one time for all ranks", "the number of ranks, and what they exchange"};
  return imported_job(std::move(job));
}

const Register<ImportFormat> steplog(ImportFormat{.name = "steplog",
                                                  .summary = "a log with step times of Megatron-LM, torchtitan or mmengine",
                                                  .example = "torchrun … train.py 2>&1 | tee train.log",
                                                  .yields = "a job",
                                                  .parameters = {},
                                                  .recognizes = recognizes,
                                                  .read = read});

}  // namespace
}  // namespace straggler::import_steplog
