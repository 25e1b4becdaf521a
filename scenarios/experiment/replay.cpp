#include "scenarios/experiment/replay.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "models/data/dataset.hpp"
#include "scenarios/schema/reader.hpp"
#include "scenarios/schema/scenario_keys.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/json_depth.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/shown_text.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler {

namespace {

/// The first difference in the settings that decide which values are computed, in what order they are summed, and so on: all that is not in
/// the root key, which is compared as a whole. Empty: none.
std::string difference(const Scenario& a, const Scenario& b) {
  if (a.workers() != b.workers()) return "number of workers";
  return deciding_difference(a, b);
}

/// The first part of the root keys in which the two differ; empty: none.
std::string difference(const std::vector<RootPart>& a, const std::vector<RootPart>& b) {
  const auto [one, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (one == a.end() && other == b.end()) return {};
  return one == a.end() ? other->place : one->place;
}

constexpr std::size_t most_json_bytes = 8 << 20;

nlohmann::json read_json(const std::filesystem::path& file) {
  const FileText text = read_file(file, most_json_bytes);
  if (text.fault != FileFault::none)
    throw DataError(file.string() + ": cannot be read; --replay needs the whole result folder of an earlier run");
  nlohmann::json json;
  if (!nests_deeper(text.text)) json = nlohmann::json::parse(text.text, nullptr, false);
  if (!json.is_object())
    throw DataError(file.string() + ": is not JSON that a run writes; --replay needs the unchanged result folder of an earlier run");
  return json;
}

/// Throws as `at` does if it is no count: `get` would cast any number.
std::uint64_t count_at(const nlohmann::json& json, const char* key) { return json.at(key).get_ref<const std::uint64_t&>(); }

/// Reads run.json; a folder without it is of a simulation with an unknown kernel set.
void read_run_info(const std::filesystem::path& folder, Replay& replay) {
  const std::filesystem::path file = folder / "run.json";
  if (!std::filesystem::exists(file)) return;
  const nlohmann::json info = read_json(file);
  try {
    if (info.contains("kernels")) replay.kernels = info.at("kernels");
    if (info.contains("engine") && info.at("engine").is_string()) replay.engine = info.at("engine");
    if (!info.contains("real")) return;
    if (const std::string reduction = info.at("real").at("reduction"); reduction != "ring")
      throw DataError(file.string() + ": real.reduction is " + in_quotes(reduction) + "; a replay can follow 'ring'");
    replay.kernels = info.at("kernels");
    const nlohmann::json summary = read_json(folder / "summary.json");
    replay.real = RealRun{count_at(summary, "updates"), summary.at("weights_key")};
  } catch (const nlohmann::json::exception& wrong) {
    throw DataError(file.string() + ": does not have the settings of the real run (" + wrong.what() + "); use the unchanged folder");
  }
}

/// None if the summary lacks them: a replay needs only the choices.
std::optional<EarlierEnd> read_end(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder / "summary.json")) return std::nullopt;
  const nlohmann::json summary = read_json(folder / "summary.json");
  try {
    return EarlierEnd{count_at(summary, "updates"), summary.at("weights_key"), summary.at("final_train_loss").is_null()};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

/// The whole number, from 0 to below `limit`, in a cell of a line.
std::optional<std::size_t> index_in(const std::vector<CsvField>& cells, std::size_t cell, std::size_t limit) {
  const std::optional<std::int64_t> number = cell < cells.size() ? as_integer(cells[cell].text) : std::nullopt;
  if (!number || *number < 0 || static_cast<std::uint64_t>(*number) >= limit) return std::nullopt;
  return static_cast<std::size_t>(*number);
}

[[noreturn]] void refuse_line(const std::filesystem::path& file, std::size_t number, std::string_view line, const std::string& what) {
  throw DataError(file.string() + ":" + std::to_string(number) + ": " + in_quotes(line) + " " + what);
}

/// Of the ranks, and, if there is a pool, of the draws of that many workers from it. A choice is below `senders`.
std::vector<std::vector<std::int32_t>> read_choices(const std::filesystem::path& file, FileLines& lines, std::size_t ranks,
                                                    std::size_t senders, std::size_t drawing) {
  constexpr std::size_t most = std::numeric_limits<std::int32_t>::max();
  std::vector<std::vector<std::int32_t>> choices(ranks + drawing);
  std::string_view line;
  if (!lines.next(line) || line != "process,choice")
    throw DataError(file.string() + ":1: is not a table of choices; its first line would be 'process,choice'");
  CsvSplitter splitter;
  while (lines.next(line)) {
    const bool two = splitter.split(line) && splitter.fields().size() == 2;
    const std::optional<std::size_t> process = two ? index_in(splitter.fields(), 0, choices.size()) : std::nullopt;
    const std::size_t limit = process && *process >= ranks ? most + 1 : std::max<std::size_t>(2, senders);
    const std::optional<std::size_t> choice = two ? index_in(splitter.fields(), 1, limit) : std::nullopt;
    if (!process || !choice)
      refuse_line(file, lines.number(), line, "is not a choice; a row is 'process,choice', both numbers of this cluster");
    choices[*process].push_back(static_cast<std::int32_t>(*choice));
  }
  return choices;
}

/// The maker of each version, if each version is one worker's. Simulations may be replayed without it: then time decides.
std::vector<Rank> read_makers(const std::filesystem::path& file, Rank workers, bool needed) {
  FileLines lines(file);
  std::vector<Rank> makers;
  if (!lines.opened()) {
    if (needed) throw DataError(file.string() + ": cannot be read; --replay needs the whole result folder of an earlier run");
    return makers;
  }
  std::string_view line;
  lines.next(line);  // the names of the columns: update, time, worker, …
  CsvSplitter splitter;
  while (lines.next(line)) {
    const bool cut = splitter.split(line);
    const std::optional<std::size_t> update = cut ? index_in(splitter.fields(), 0, makers.size() + 2) : std::nullopt;
    const std::optional<std::size_t> worker = cut ? index_in(splitter.fields(), 2, index_of(workers)) : std::nullopt;
    if (!update || !worker || *update < makers.size())
      refuse_line(file, lines.number(), line,
                  "is not a contribution to this or the next update by a worker of this cluster; use the unchanged folder");
    if (*update > makers.size()) makers.push_back(static_cast<Rank>(*worker));
  }
  return makers;
}

}  // namespace

Replay read_replay(const std::filesystem::path& folder, const Scenario& scenario, const Blueprint& blueprint, const ContentOf& content) {
  const std::filesystem::path file = folder / "choices.csv", described = folder / "scenario.yaml";
  FileLines choices(file);
  if (!choices.opened()) throw DataError(file.string() + ": cannot be read; --replay needs the result folder of an earlier run");
  const Scenario earlier = read_scenario(described);
  const auto refuse_if_other = [&](const std::string& what) {
    if (!what.empty())
      throw DataError(described.string() + ": was recorded with a different scenario (its " + what +
                      " differs); use the scenario of that run");
  };
  refuse_if_other(difference(earlier, scenario));
  const std::string kernels(blueprint.kernels->name);
  const WorkloadBlueprint then(earlier, kernels);
  refuse_if_other(
      difference(then.root_parts(earlier, content(then, earlier)), blueprint.root_parts(scenario, content(blueprint, scenario))));
  Replay replay;
  // A notice of changed members comes from the rank after the workers, also where there is no server.
  const std::size_t workers = index_of(blueprint.plan.workers), ranks = blueprint.fabric->ranks();
  replay.choices = read_choices(file, choices, ranks, std::max(ranks, workers + 1),
                                blueprint.plan.shared_stream || blueprint.plan.rebalance_every > 0 ? workers : 0);
  read_run_info(folder, replay);
  // Of a model that its scenario does not describe, the engine's name says which it was.
  if (const ModelEntry* const model = Registry<ModelEntry>::instance().find(scenario.workload.model.name);
      model && model->content && blueprint.model && replay.engine && *replay.engine != blueprint.model->engine())
    refuse_if_other("workload.model");
  if (replay.kernels.value_or(kernels) != kernels)
    throw DataError((folder / "run.json").string() + ": was computed by the kernel set " + in_quotes(*replay.kernels) +
                    ", this would be by '" + kernels + "', whose sums differ; add --kernels " + shortened(*replay.kernels, 60));
  if (blueprint.plan.versions == Versions::free_running)
    replay.makers = read_makers(folder / "order.csv", static_cast<Rank>(scenario.workers()), replay.real.has_value());
  if (!replay.real) replay.simulated = read_end(folder);
  return replay;
}

}  // namespace straggler
