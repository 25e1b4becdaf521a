// A model that people have, as a folder that runs: its layers, and a scenario that times training it on an assumed cluster.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/formats/model_file.hpp"
#include "scenarios/import/imported.hpp"
#include "scenarios/results/json.hpp"

namespace straggler {

/// Files: import.json, layers.csv and scenario.yaml. Throws DataError.
Imported import_model(const ModelFormat& format, const GivenFile& file, const Parameters& options);

/// "1.23 GFLOP".
std::string readable_flops(double flops);
/// What a table amounts to, as (label, sentence).
std::vector<std::pair<std::string, std::string>> model_totals(const CostTable& table);
/// The table, unrounded: parameters, FLOPs and bytes of all layers, and each layer with its tensors.
Json cost_json(const CostTable& table);

/// The layers for `cost.model: {kind: sizes, layers: FILE}`: whole numbers, FLOPs and activations rounded to the nearest.
std::string layers_csv(const CostTable& table);

/// What import_model writes into scenario.yaml but the model: a job that is only assumed, so that the folder runs.
struct AssumedJob {
  std::int64_t batch = 1;          // of a worker
  std::optional<double> memory{};  // bytes of a device, where those of the built-in one are too few
};
struct ModelScenario {
  std::string name, from;  // from: what figures came from, for comments
  const ModelFile* model = nullptr;
  std::vector<std::string> assumed, missing;  // sentences about the model, for comments
  const HostNetwork* hosts = nullptr;         // null: assumed ones
};
std::string scenario_yaml(const ModelScenario& scenario, const AssumedJob& job);
/// Sentences of what scenario_yaml assumes.
std::vector<std::string> assumptions_of(const ModelScenario& scenario, const AssumedJob& job);
/// A batch that fits into the device of scenario_yaml, or a device for a batch of one.
AssumedJob fitting_job(const ModelScenario& scenario);

}  // namespace straggler
