#include "scenarios/import/model_import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/csv.hpp"
#include "sim/base/readable.hpp"

namespace straggler {
namespace {

/// Sentences name options as a scenario does: `sequence`, `fused_attention: true`.
std::string with_options(std::string sentence) {
  for (const Parameter& option : model_file_options())
    for (const std::string end : {"`", ": true`"}) {
      const std::string told = "`" + option.name + end;
      for (std::size_t at = sentence.find(told); at != std::string::npos; at = sentence.find(told))
        sentence.replace(at, told.size(), "--" + option_name(option.name));
    }
  return sentence;
}

std::vector<std::string> with_options(const std::vector<std::string>& sentences) {
  std::vector<std::string> all;
  for (const std::string& sentence : sentences) all.push_back(on_one_line(with_options(sentence)));
  return all;
}

Json json_of(const CostTable& table, const CostLayer& layer) {
  Json tensors = Json::array();
  for (const TensorInfo& tensor : layer.tensors) tensors.push_back({{"name", tensor.name}, {"shape", tensor.shape}});
  return {{"name", layer.name},
          {"parameters", layer.parameters()},
          {"flops", layer.forward_flops},
          {"bytes", sizeof(float) * layer.parameters()},
          {"activation_bytes", table.knows_activations ? Json(layer.activation_bytes) : Json()},
          {"operations", layer.operations},
          {"tensors", std::move(tensors)}};
}

}  // namespace

std::string readable_flops(double flops) {
  for (const auto& [unit, size] : {std::pair("TFLOP", 1e12), std::pair("GFLOP", 1e9), std::pair("MFLOP", 1e6), std::pair("kFLOP", 1e3)})
    if (flops >= size) return readable_number(flops / size) + " " + unit;
  return readable_number(flops) + " FLOP";
}

std::vector<std::pair<std::string, std::string>> model_totals(const CostTable& table) {
  const std::string kept = table.knows_activations ? ", " + readable_bytes(table.activation_bytes()) + " kept for backward" : "";
  return {{"parameters", fmt::format("{} in {} layers, {} in FP32", readable_count(table.parameters()), readable_count(table.layers.size()),
                                     readable_bytes(sizeof(float) * static_cast<double>(table.parameters())))},
          {"a sample", readable_flops(table.forward_flops()) + " forward" + kept}};
}

Json cost_json(const CostTable& table) {
  Json layers = Json::array();
  for (const CostLayer& layer : table.layers) layers.push_back(json_of(table, layer));
  return {{"parameters", table.parameters()}, {"bytes", sizeof(float) * table.parameters()},
          {"flops", table.forward_flops()},   {"activation_bytes", table.knows_activations ? Json(table.activation_bytes()) : Json()},
          {"input_bytes", table.input_bytes}, {"layers", std::move(layers)}};
}

std::string layers_csv(const CostTable& table) {
  std::string csv = "name,parameters,flops,operations";
  const bool convolutions = !std::ranges::all_of(table.layers, &CostLayer::dense);
  csv += fmt::format("{}{}\n", table.knows_activations ? ",activations" : "", convolutions ? ",convolution" : "");
  for (const CostLayer& layer : table.layers) {
    csv += fmt::format("{},{},{:.0f},{}", csv_text(on_one_line(layer.name)), layer.parameters(), layer.forward_flops, layer.operations);
    if (table.knows_activations) csv += fmt::format(",{:.0f}", layer.activation_bytes / sizeof(float));
    if (convolutions) csv += layer.dense() ? ",0" : ",1";
    csv += "\n";
  }
  return csv;
}

namespace {

Imported model_on(const HostNetwork* hosts, const ModelFormat& format, const GivenFile& file, const Parameters& options) {
  const ModelFile model = read_model_file(format, file, options_of(options));
  const CostTable& table = model.table;
  const std::string from = on_one_line(file.shown().filename().string());
  const ModelScenario scenario{
      import_name(file, {"config", "model", "summary"}), from, &model, with_options(model.assumed), with_options(model.missing), hosts};
  const AssumedJob job = fitting_job(scenario);
  std::vector<std::string> assumed = scenario.assumed, missing = scenario.missing;
  for (std::string& sentence : assumptions_of(scenario, job)) assumed.push_back(std::move(sentence));

  Imported imported;
  imported.name = scenario.name;
  imported.said = {{"model", fmt::format("{} ({})", model.what, format.name)}};
  for (auto& line : model_totals(table)) imported.said.push_back(std::move(line));
  for (const std::string& sentence : assumed) imported.said.emplace_back("assumed", sentence);
  for (const std::string& sentence : missing) imported.said.emplace_back("missing", sentence);

  missing.emplace_back("the cluster, the batch and the optimizer: scenario.yaml assumes them");
  Json json{{"format", format.name}, {"yields", "model"}, {"files", {from}}, {"describes", model.what}};
  json.update(cost_json(table));
  json["numbers_that_do_not_learn"] = model.other_numbers;
  if (hosts) json["hosts"] = {{"file", hosts->file}, {"gpus", hosts->gpus}, {"machine", text_or_null(hosts->machine)}};
  json["missing"] = missing;
  json["assumed"] = assumed;
  imported.files = {
      {"import.json", json_document(json)}, {"layers.csv", layers_csv(table)}, {"scenario.yaml", scenario_yaml(scenario, job)}};
  imported.next = "scenario.yaml";
  return imported;
}

}  // namespace

Imported import_model(const ModelFormat& format, const GivenFile& file, const Parameters& options) {
  Imported imported = model_on(nullptr, format, file, options);
  imported.on_hosts = [&format, file, options](const HostNetwork& hosts) { return model_on(&hosts, format, file, options); };
  return imported;
}

}  // namespace straggler
