#include "tools/straggler/model_layers.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/formats/model_file.hpp"
#include "models/zoo/architecture.hpp"
#include "models/zoo/cost_model.hpp"
#include "models/zoo/layer_list.hpp"
#include "scenarios/import/model_import.hpp"
#include "scenarios/results/json.hpp"
#include "scenarios/schema/overrides.hpp"
#include "scenarios/schema/section.hpp"
#include "scenarios/schema/source_text.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/text_lines.hpp"
#include "tools/straggler/command.hpp"

namespace straggler::cli {

namespace {

namespace fs = std::filesystem;

/// Of a model that does not fix them.
DataInfo usual_images() {
  DataInfo data;
  data.shape = {1, 28, 28};
  data.features = 28 * 28;
  data.classes = 10;
  return data;
}

struct ShownModel {
  std::string title;                         // "lenet5 of samples of 1 x 28 x 28", "config.json: gpt2 with 12 blocks of width 768"
  std::optional<Architecture> architecture;  // none: only sizes are known
  CostTable table;
};

YamlNode scalar(std::string text) {
  YamlNode node;
  node.type = YamlNode::Type::scalar;
  node.text = std::move(text);
  return node;
}

/// {kind: KIND, key: value}.
YamlNode map_of(const std::string& kind, const std::string& key = {}, YamlNode value = {}) {
  YamlNode map;
  map.type = YamlNode::Type::map;
  map.keys.push_back({"kind", whole_file});
  map.items.push_back(scalar(kind));
  if (key.empty()) return map;
  map.keys.push_back({key, value.place});
  map.items.push_back(std::move(value));
  return map;
}

bool is_known(const std::string& name) { return Registry<ModelEntry>::instance().find(name) != nullptr; }

/// The first line that is neither blank nor a comment names a column `parameters`.
bool is_table_of_sizes(std::string_view text) {
  TextLines lines(text);
  for (std::string_view line; lines.next(line);) {
    if (trimmed(line).empty() || trimmed(line).starts_with('#')) continue;
    CsvSplitter splitter;
    return splitter.split(line) && std::ranges::any_of(splitter.fields(), [](const CsvField& field) { return field.text == "parameters"; });
  }
  return false;
}

/// `text`: the whole file, in YAML.
YamlNode written_in_yaml(const std::string& text, Problems& problems) {
  std::optional<YamlNode> root = parse_yaml(text, 0, problems);
  problems.raise();
  if (root->type == YamlNode::Type::sequence) return map_of("layers", "layers", *std::move(root));
  const YamlNode* const kind = root->find("kind");
  if (root->type != YamlNode::Type::map || kind == nullptr || !is_known(kind->text)) {
    problems.add(root->place, "", "is neither a list of layers, nor a map with a `kind`; straggler list models lenet5 --yaml writes one");
    problems.raise();
  }
  return *std::move(root);
}

/// As `workload.cost.model` has it.
YamlNode written_in(const fs::path& file, Problems& problems) {
  bool recognized = false, sizes = false;
  const bool archive = for_each_file(file, [&](const GivenFile&, const FileStart& start) {
    for (const ModelFormat& format : Registry<ModelFormat>::instance().entries()) recognized = recognized || format.recognizes(start);
    sizes = is_table_of_sizes(start.bytes);
  });
  std::error_code error;
  const std::string whole = fs::absolute(file, error).string();
  if (recognized || archive) return map_of("file", "path", scalar(whole));
  if (sizes) return map_of("sizes", "layers", scalar(whole));
  const std::optional<std::string> text = read_text(file, problems, {"list of layers", "- "});
  problems.raise();
  return written_in_yaml(*text, problems);
}

/// Calls `make`; its errors come out at their places.
template <class Make>
void at_its_place(const Places& places, const Make& make) {
  try {
    make();
  } catch (const NestedError& wrong) {
    throw ScenarioErrors(places.problem(wrong.path, wrong.what()));
  } catch (const std::invalid_argument& wrong) {
    throw ScenarioErrors(places.problem(whole_file, "", wrong.what()));
  }
}

/// No name of a built-in model, but a file that is there.
bool is_model_file(const std::string& given) {
  std::error_code error;
  return !is_known(given) && fs::exists(given, error);
}

/// Throws std::invalid_argument and DataError.
ShownModel made(const Kind& kind) {
  ShownModel shown;
  const ModelEntry& entry = Registry<ModelEntry>::instance().at(kind.name);
  if (entry.cost_network)
    shown.architecture = entry.cost_network(kind.parameters);
  else if (!entry.cost_table && entry.network)
    shown.architecture = entry.network(kind.parameters, usual_images());
  if (shown.architecture)
    shown.table = cost_table(*shown.architecture);
  else if (entry.cost_table)
    shown.table = entry.cost_table(kind.parameters);
  else
    shown.table = cost_table(*entry.make(kind.parameters, usual_images(), ModelSetting{select_kernels("auto")}));
  return shown;
}

/// `given`: a name, or a file. `sets`: "PARAMETER=VALUE".
ShownModel shown_model(const std::string& given, const std::vector<std::string>& sets) {
  const bool is_file = is_model_file(given);
  std::vector<std::string> sources = {given};
  sources.insert(sources.end(), sets.begin(), sets.end());
  Places places(std::move(sources));
  Problems problems(places);
  YamlNode written = is_file ? written_in(given, problems) : map_of(given);
  for (std::size_t i = 0; i < sets.size(); ++i) apply_override(written, sets[i], static_cast<int>(i) + 1, problems);
  problems.raise();
  const auto root = std::make_shared<const YamlNode>(std::move(written));
  places.set_root(root);
  std::error_code error;
  ReadContext context{Vocabulary::from_registries(), problems, fs::absolute(given, error).parent_path()};
  const Kind kind = read_kind(context, root.get(), "", whole_file, KindGroup::cost_model, "");
  if (is_file && kind.name == "layers" && root->find("input") == nullptr)
    throw ScenarioErrors(places.problem(whole_file, "input", "is missing; give the shape of a sample, as --set \"input=[3, 32, 32]\""));
  problems.raise();

  ShownModel shown;
  at_its_place(places, [&] { shown = made(kind); });
  shown.title = is_file ? fs::path(given).filename().string() : given;
  if (kind.name == "file") shown.title += ": " + read_model_file(kind.parameters.text("path"), options_of(kind.parameters)).what;
  if (shown.architecture) shown.title += " of samples of " + shape_text(shown.architecture->input);
  return shown;
}

/// A built-in one with the defaults of its parameters. Throws UsageError if it is not a network, or wants parameters.
ShownModel network_called(const std::string& name) {
  try {
    if (ShownModel shown = shown_model(name, {}); shown.architecture) return shown;
  } catch (const ScenarioErrors&) {
  }
  throw UsageError("the model " + name + " is not a network whose layers are known; name another: straggler list models");
}

/// Totals and notes, a line each.
void print_model(const ShownModel& model) {
  print_text("{}\n", model.title);
  for (const auto& [label, text] : model_totals(model.table)) print_text("  {:<10}  {}\n", label, text);
  for (const std::string& note : model.table.notes) print_text("  {}\n", note);
}

/// Every tensor, with the FLOPs of its layer.
void print_tensors(const ShownModel& model) {
  std::vector<std::vector<std::string>> rows = {{"tensor", "shape", "bytes", "forward"}};
  for (const CostLayer& layer : model.table.layers) {
    std::string flops = layer.forward_flops > 0 ? readable_flops(layer.forward_flops) : "";
    if (layer.tensors.empty()) rows.push_back({layer.name, "", "", flops});
    for (const TensorInfo& tensor : layer.tensors) {
      rows.push_back({tensor.name, fmt::format("{}", fmt::join(tensor.shape, " x ")),
                      readable_bytes(sizeof(float) * static_cast<double>(elements(tensor.shape))), flops});
      flops.clear();  // of the layer, once
    }
  }
  const double bytes = sizeof(float) * static_cast<double>(model.table.parameters());
  rows.push_back({"all", readable_count(model.table.parameters()), readable_bytes(bytes), readable_flops(model.table.forward_flops())});
  print_text("{}\n{}", model.title, aligned(rows, 2));
}

/// As `workload.cost.model` takes it.
void print_as_yaml(const ShownModel& model) {
  if (model.architecture) {
    print_text("# {}\nkind: layers\nlayers:\n", model.title);
    for (const Nested& line : layer_list(*model.architecture).items) print_text("  - {}\n", flow_text(line));
    return;
  }
  print_text("# {}\nkind: sizes\n", model.title);
  if (model.table.input_bytes >= 1) print_text("input_bytes: {:.0f}B\n", model.table.input_bytes);
  print_text("layers:\n");
  for (const CostLayer& layer : model.table.layers) {
    Nested line;
    const auto add = [&](const char* key, double value) { line.add(key, Nested::of_word(fmt::format("{:.0f}", value))); };
    line.add("name", Nested::of_word(layer.name));
    add("parameters", static_cast<double>(layer.parameters()));
    add("flops", layer.forward_flops);
    if (model.table.knows_activations) add("activations", layer.activation_bytes / sizeof(float));
    add("operations", static_cast<double>(layer.operations));
    print_text("  - {}\n", flow_text(line));
  }
}

void print_model_json(const ShownModel& model) {
  Json json{{"model", model.title}};
  json.update(cost_json(model.table));
  json["notes"] = model.table.notes;
  print_text("{}", json_document(json));
}

}  // namespace

bool list_one_model(const Arguments& arguments) {
  const bool yaml = arguments.flag("yaml"), layers = arguments.flag("layers"), set = arguments.has("set");
  const bool one = arguments.positional().size() == 2 && arguments.positional().front() == "models";
  if (!one && (yaml || layers || set))
    throw UsageError("--yaml, --layers and --set are for one model: straggler list models lenet5 --yaml");
  if (!one) return false;
  const std::string& given = arguments.positional()[1];
  if (const fs::path path(given); !is_known(given) && (path.has_extension() || path.has_parent_path()) && !is_model_file(given))
    throw UsageError(given + ": no such file; name a file with a model, or a built-in one: straggler list models");
  if (!is_model_file(given) && !(is_known(given) && (yaml || layers || set))) return false;
  const auto sets = set ? arguments.get<std::vector<std::string>>("set") : std::vector<std::string>();
  const ShownModel model = yaml && !set && is_known(given) ? network_called(given) : shown_model(given, sets);
  if (yaml)
    print_as_yaml(model);
  else if (arguments.flag("json"))
    print_model_json(model);
  else
    layers ? print_tensors(model) : print_model(model);
  return true;
}

}  // namespace straggler::cli
