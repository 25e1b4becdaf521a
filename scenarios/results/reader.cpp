#include "scenarios/results/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <variant>

#include "scenarios/results/json.hpp"
#include "scenarios/results/result_table.hpp"
#include "scenarios/results/run_info.hpp"
#include "scenarios/results/text.hpp"
#include "scenarios/results/waited_for.hpp"
#include "scenarios/schema/reader.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/format_version.hpp"
#include "sim/base/json_depth.hpp"
#include "sim/base/shown_text.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler {

namespace fs = std::filesystem;

namespace {

/// The text of a file of scalars. Throws ResultsError if it is far longer, or nests deeper, than any that a run writes.
std::string json_text_of(const fs::path& file) {
  constexpr std::size_t longest = 8 << 20;
  std::error_code error;
  if (fs::file_size(file, error) > longest && !error)
    throw ResultsError(fmt::format("{}: has more than {} bytes; run the scenario again to get it", file.string(), longest));
  std::string text = file_text(file);
  if (nests_deeper(text))
    throw ResultsError(
        fmt::format("{}: nests lists and maps deeper than {}; run the scenario again to get it", file.string(), deepest_json));
  return text;
}

/// Whole numbers stay exact: a double holds those up to 2^53 only.
Scalar scalar_of(const Json& value, const fs::path& file, const std::string& key) {
  if (value.is_null()) return {};
  if (value.is_number_unsigned()) return Scalar(value.get<std::uint64_t>());
  if (value.is_number()) return Scalar(value.get<double>());
  if (value.is_string()) return Scalar(value.get<std::string>());
  throw ResultsError(
      fmt::format("{}: {} is {}; it must be a number, a text or null", file.string(), in_quotes(key), shortened(value.dump(), 60)));
}

/// run.json, of a version that this program reads; empty without it. Throws ResultsError.
nlohmann::json info_of(const fs::path& folder) {
  const fs::path path = folder / "run.json";
  std::error_code error;
  if (!fs::exists(path, error)) return nlohmann::json::object();
  nlohmann::json json = nlohmann::json::parse(json_text_of(path), nullptr, false);
  if (!json.is_object()) throw ResultsError(fmt::format("{}: is not a JSON object; run the scenario again to get it", path.string()));
  if (const auto version = json.find("results");
      version != json.end() && (!version->is_number_integer() || *version > FormatVersion::results))
    throw ResultsError(fmt::format(
        "{}: these results have version {} of the format; this program reads version {}; use the straggler that "
        "wrote them, or run the scenario again",
        path.string(), shortened(version->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), 60), FormatVersion::results));
  return json;
}

/// Requires the scalars that comparisons read, each of its type, or none where it may not apply. Throws ResultsError.
void check_summary(const fs::path& file, const std::vector<SummaryField>& fields) {
  const auto find = [&](const std::string& key) -> const Scalar& {
    const auto at = std::ranges::find(fields, key, &SummaryField::key);
    if (at == fields.end())
      throw ResultsError(fmt::format("{}: key '{}' is missing; run the scenario again with this version", file.string(), key));
    return at->value;
  };
  const auto require = [&](const std::string& key, bool right, const char* wanted) {
    if (!right)
      throw ResultsError(fmt::format("{}: '{}' is {}; it must be {}", file.string(), key, shortened(find(key).json(), 60), wanted));
  };
  for (const char* const key : {"name", "scheme"}) require(key, find(key).text() != nullptr, "text");
  find("outcome");
  require("outcome", outcome_of(fields).has_value(), "an outcome of this version; run the scenario again with this version");
  for (const auto& [key, place] : result_counts) require(key, find(key).is_number(), "a number");
  std::vector<std::string> keys{"target_accuracy"};
  for (const auto& [key, place] : result_numbers)
    if (place != &RunResult::compression_ratio || !scalar_of(fields, key).is_none()) keys.emplace_back(key);
  for (const PhaseRow& row : phase_rows)
    if (!row.of_recovery) keys.push_back(share_key(row.phase));
  if (!scalar_of(fields, "target_accuracy").is_none())
    keys.insert(keys.end(), {"time_to_target_s", "last_below_target_s", "updates_to_target", "samples_to_target", "bytes_to_target"});
  for (const std::string& key : keys) require(key, find(key).is_none() || find(key).is_number(), "a number");
}

std::vector<ThresholdResult> read_thresholds(const fs::path& path) {
  const ResultTable table(path, std::numeric_limits<std::uintmax_t>::max());
  std::vector<ThresholdResult> rows;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto value = [&](const char* column) { return table.number(row, column); };
    const std::optional<double> threshold = value("threshold");
    if (!threshold) throw ResultsError(fmt::format("{}: threshold is empty; it must be a number", table.place(row)));
    rows.push_back(
        {*threshold, value("time_s"), value("last_below_s"), value("updates"), value("epochs"), value("samples"), value("bytes")});
    const auto known = [&](const char* column) { return table.has(column) ? value(column) : std::nullopt; };
    rows.back().price = known("price");
    rows.back().joules = known("energy_joules");
  }
  return rows;
}

std::string value_text(const Value& value) {
  struct Text {
    std::string operator()(std::int64_t x) const { return fmt::format("{}", x); }
    std::string operator()(double x) const { return number_text(x); }
    std::string operator()(bool x) const { return x ? "true" : "false"; }
    std::string operator()(const std::string& x) const { return x; }
    std::string operator()(const std::vector<std::int64_t>& x) const { return fmt::format("[{}]", fmt::join(x, ", ")); }
    std::string operator()(const Nested& x) const { return flow_text(x); }
  };
  return std::visit(Text{}, value);
}

std::string kind_text(const Kind& kind) {
  std::string text = kind.name;
  for (const auto& [name, value] : kind.parameters.all())
    if (name != "path") text += fmt::format(" {}={}", name, value_text(value));
  return text;
}

/// As IdleOfGroups has it. Empty: no such table, or one of too many workers to read for a sentence.
std::vector<double> idle_of_groups(const fs::path& file, std::size_t groups) {
  std::error_code error;
  if (!fs::exists(file, error)) return {};
  try {
    const ResultTable table(file);
    if (table.large()) return {};
    IdleOfGroups idle(groups);
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const auto number = [&](const char* column) { return table.number(row, column).value_or(0); };
      const auto of = static_cast<std::size_t>(number("group"));
      if (of < groups) idle.add(of, number("idle_s"), number("compute_s"), number("wasted_s"), number("total_s"));
    }
    return idle.shares();
  } catch (const ResultsError&) {
    return {};
  }
}

/// Comparing needs these only to warn, so a scenario that this version does not read is no error.
void add_workload(RunResult& run, const Scenario* known) {
  try {
    const Scenario read = known ? Scenario{} : read_scenario(run.folder / "scenario.yaml");
    const Scenario& scenario = known ? *known : read;
    run.data = kind_text(scenario.workload.data);
    if (scenario.training.evaluate.split == EvaluateSpec::Split::validation) run.data += " split=validation";
    if (scenario.workload.data.parameters.has("path")) run.data_path = scenario.workload.data.parameters.text("path");
    run.model = kind_text(scenario.workload.model);
    const auto& optimizer = scenario.training.optimizer.parameters;
    if (optimizer.has("learning_rate")) run.learning_rate = optimizer.number("learning_rate");
    run.seed = scenario.seed;
    run.waited_for = waited_for(scenario, idle_of_groups(run.folder / "workers.csv", scenario.cluster.workers.size()));
  } catch (const std::runtime_error& error) {
    run.data = run.model = run.data_path = {};
    std::error_code unknown;
    if (fs::exists(run.folder / "scenario.yaml", unknown)) run.unread = first_line_of(error);
  }
}

/// The target is one threshold more, unless it is listed.
void add_target(RunResult& run) {
  if (!run.target_accuracy) return;
  const auto value = [&](const char* key) { return scalar_of(run.summary, key).number(); };
  for (const ThresholdResult& row : run.thresholds)
    if (row.threshold == *run.target_accuracy) return;
  const std::optional<double> samples = value("samples_to_target");
  const auto epochs = samples && run.epochs && run.samples > 0 ? std::optional(*samples * *run.epochs / run.samples) : std::nullopt;
  ThresholdResult row{
      *run.target_accuracy,     value("time_to_target_s"), value("last_below_target_s"),    value("updates_to_target"), epochs, samples,
      value("bytes_to_target"), value("price_to_target"),  value("energy_to_target_joules")};
  run.thresholds.push_back(row);
}

}  // namespace

std::vector<SummaryField> read_summary(const fs::path& file) {
  std::vector<SummaryField> fields;
  Json json;
  const std::string text = json_text_of(file);
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw ResultsError(fmt::format("{}: is not JSON (byte {}); run the scenario again to get it", file.string(), error.byte));
  } catch (const Json::out_of_range&) {
    throw ResultsError(fmt::format("{}: has a number that no run has, beyond 1e308; run the scenario again to get it", file.string()));
  }
  if (!json.is_object()) throw ResultsError(fmt::format("{}: is not a JSON object; run the scenario again to get it", file.string()));
  for (const auto& [key, value] : json.items()) fields.push_back({key, scalar_of(value, file, key)});
  return fields;
}

void refuse_newer_results(const fs::path& folder) { info_of(folder); }

std::string other_program(const fs::path& folder) {
  const nlohmann::json info = info_of(folder);
  const auto text = [&](const char* key) {
    const auto at = info.find(key);
    return at != info.end() && at->is_string() ? at->get<std::string>() : std::string();
  };
  const std::string version_then = text("version"), compiler_then = text("compiler");
  if (version_then.empty() || (version_then == version() && compiler_then == compiler())) return {};
  return fmt::format("{}: straggler {} ({}) made this run; this is straggler {} ({}), whose bits may differ",
                     (folder / "run.json").string(), shortened(version_then, 40), shortened(compiler_then, 40), version(), compiler());
}

bool is_real_run(const fs::path& folder) { return info_of(folder).contains("real"); }

std::string results_of_another_command(const fs::path& path) {
  static constexpr std::pair<const char*, const char*> marks[] = {{"sweep.sqlite", "holds a sweep (straggler report shows it)"},
                                                                  {"race.sqlite", "holds a race (straggler report shows it)"},
                                                                  {"explain.csv", "holds results of straggler explain"},
                                                                  {"advise.csv", "holds results of straggler advise"},
                                                                  {"validation.csv", "holds results of straggler validate"},
                                                                  {"quantization.csv", "holds results of straggler quantize"},
                                                                  {"import.json", "holds an import"}};
  std::error_code error;
  if (fs::is_regular_file(path, error) && path.extension() == ".checkpoint") return "is the checkpoint of a run that has not ended";
  if (fs::exists(path / "summary.json", error)) return {};
  for (const auto& [file, what] : marks)
    if (fs::exists(path / file, error)) return what;
  return {};
}

std::string first_line_of(const std::runtime_error& error) {
  const std::string all = error.what();
  return all.substr(0, all.find('\n'));
}

bool has_losses(const fs::path& folder) {
  FileLines lines(folder / "curve.csv");
  CsvSplitter splitter;
  std::string_view line;
  if (!lines.next(line) || !splitter.split(line)) return false;
  const std::vector<CsvField>& fields = splitter.fields();
  const auto named = std::find_if(fields.begin(), fields.end(), [](const CsvField& field) { return field.text == "train_loss"; });
  const auto column = static_cast<std::size_t>(named - fields.begin());
  while (lines.next(line))
    if (splitter.split(line) && column < fields.size() && !fields[column].text.empty()) return true;
  return false;
}

RunResult result_of(const std::vector<SummaryField>& fields) {
  const auto value = [&](std::string_view key) { return scalar_of(fields, key).number(); };
  RunResult run;
  run.scheme = text_of(fields, "scheme");
  run.name = scalar_of(fields, "name").text() ? text_of(fields, "name") : run.scheme;
  run.outcome = outcome_of(fields).value_or(Outcome::completed);
  for (const auto& [key, place] : result_counts) run.*place = value(key).value_or(0);
  for (const auto& [key, place] : result_numbers) run.*place = value(key);
  run.target_accuracy = value("target_accuracy");
  for (const PhaseRow& row : phase_rows) run.shares[row.phase] = value(share_key(row.phase));
  run.summary = fields;
  return run;
}

RunResult read_run_result(const fs::path& folder, const Scenario* scenario) {
  std::error_code error;
  if (!fs::exists(folder, error))
    throw ResultsError(fmt::format("{}: there is no such folder; name the result folder of a run", folder.string()));
  if (!fs::is_directory(folder, error))
    throw ResultsError(fmt::format("{}: is not a folder; name the result folder of a run", folder.string()));
  if (!fs::exists(folder / "summary.json", error)) {
    const bool part = fs::exists(folder / "order.csv", error);
    throw ResultsError(fmt::format("{}: {}", folder.string(),
                                   part ? "summary.json is missing, so the results are not complete; run the scenario again"
                                        : "is not a result folder: it has no summary.json; name the result folder of a run"));
  }
  const bool real = is_real_run(folder);
  const std::vector<SummaryField> fields = read_summary(folder / "summary.json");
  check_summary(folder / "summary.json", fields);
  RunResult run = result_of(fields);
  run.folder = folder;
  run.real = real;
  run.with_math = has_losses(folder);
  run.thresholds = read_thresholds(folder / "thresholds.csv");
  add_target(run);
  add_workload(run, scenario);
  std::sort(run.thresholds.begin(), run.thresholds.end(), [](const auto& a, const auto& b) { return a.threshold < b.threshold; });
  return run;
}

}  // namespace straggler
