#include "scenarios/experiment/replay.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "models/data/dataset.hpp"
#include "scenarios/schema/reader.hpp"

namespace straggler {

namespace {

/// What decides the numbers besides the order of events.
const char* difference(const Scenario& a, const Scenario& b) {
  if (a.seed != b.seed) return "seed";
  if (a.workers() != b.workers()) return "number of workers";
  if (a.training.scheme != b.training.scheme) return "training.scheme";
  if (a.training.batch != b.training.batch) return "training.batch";
  if (a.training.optimizer != b.training.optimizer) return "training.optimizer";
  if (a.training.schedule != b.training.schedule) return "training.schedule";
  if (a.workload.model != b.workload.model) return "workload.model";
  if (a.workload.weights != b.workload.weights) return "workload.model.weights";
  if (a.workload.exchange_statistics != b.workload.exchange_statistics) return "workload.batch_norm.exchange";
  if (a.workload.data != b.workload.data) return "workload.data";
  if (a.workload.partition != b.workload.partition) return "workload.data.partition";
  if (a.workload.precision != b.workload.precision) return "workload.precision";
  if (a.workload.loss_scale != b.workload.loss_scale || a.workload.growth_every != b.workload.growth_every) return "workload.loss_scale";
  if (a.workload.reshuffle != b.workload.reshuffle) return "workload.data.reshuffle";
  if (a.workload.fuse != b.workload.fuse) return "workload.fuse";
  if (a.training.evaluate.split != b.training.evaluate.split) return "training.evaluate.split";
  return nullptr;
}

nlohmann::json read_json(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw DataError(file.string() + ": cannot be read; --replay takes the whole result folder of an earlier run");
  try {
    return nlohmann::json::parse(in);
  } catch (const nlohmann::json::exception&) {
    throw DataError(file.string() + ": is not JSON; --replay takes the result folder of an earlier run as it was written");
  }
}

std::optional<RealRun> read_real(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "run.json";
  if (!std::filesystem::exists(file)) return std::nullopt;
  const nlohmann::json info = read_json(file);
  if (!info.is_object() || !info.contains("real")) return std::nullopt;
  try {
    if (const std::string reduction = info.at("real").at("reduction"); reduction != "ring")
      throw DataError(file.string() + ": real.reduction is '" + reduction + "'; a replay can follow 'ring'");
    const nlohmann::json summary = read_json(folder / "summary.json");
    return RealRun{info.at("kernels"), summary.at("updates"), summary.at("weights_key")};
  } catch (const nlohmann::json::exception& wrong) {
    throw DataError(file.string() + ": does not say how the real run was made (" + wrong.what() + "); take the folder as it was written");
  }
}

/// None where the summary does not say: a replay needs the choices alone.
std::optional<EarlierEnd> read_end(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder / "summary.json")) return std::nullopt;
  const nlohmann::json summary = read_json(folder / "summary.json");
  try {
    return EarlierEnd{summary.at("updates"), summary.at("weights_key"), summary.at("final_train_loss").is_null()};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

std::vector<std::vector<std::int32_t>> read_choices(const std::filesystem::path& file, std::ifstream& in, const Scenario& scenario) {
  std::vector<std::vector<std::int32_t>> choices(static_cast<std::size_t>(scenario.workers() + scenario.cluster.servers.count));
  std::string line;
  std::getline(in, line);
  if (line != "process,choice") throw DataError(file.string() + ":1: is not a table of choices; its first line would be 'process,choice'");
  for (std::size_t number = 2; std::getline(in, line); ++number) {
    std::size_t process = 0;
    std::int32_t choice = 0;
    const char *begin = line.data(), *end = begin + line.size();
    const auto first = std::from_chars(begin, end, process);
    const bool comma = first.ec == std::errc() && first.ptr != end && *first.ptr == ',';
    const auto second = comma ? std::from_chars(first.ptr + 1, end, choice) : first;
    if (!comma || second.ec != std::errc() || second.ptr != end || process >= choices.size() || choice < 0 ||
        static_cast<std::size_t>(choice) >= std::max<std::size_t>(2, choices.size()))
      throw DataError(file.string() + ":" + std::to_string(number) + ": '" + line +
                      "' is not a choice; a row is 'process,choice', both numbers of this cluster");
    choices[process].push_back(choice);
  }
  return choices;
}

}  // namespace

Replay read_replay(const std::filesystem::path& folder, const Scenario& scenario) {
  const std::filesystem::path file = folder / "choices.csv", described = folder / "scenario.yaml";
  std::ifstream in(file);
  if (!in) throw DataError(file.string() + ": cannot be read; --replay takes the result folder of an earlier run");
  const Scenario earlier = read_scenario(described);
  if (const char* what = difference(earlier, scenario))
    throw DataError(described.string() + ": is of another scenario: its " + what + " differs; replay the scenario that was run");
  Replay replay;
  replay.choices = read_choices(file, in, scenario);
  replay.real = read_real(folder);
  if (!replay.real) replay.simulated = read_end(folder);
  return replay;
}

}  // namespace straggler
