#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>

#include "models/compression/compressor.hpp"
#include "models/layers/layer.hpp"
#include "models/zoo/cost_model.hpp"
#include "scenarios/import/import_format.hpp"
#include "scenarios/schema/other_names.hpp"
#include "scenarios/schema/scenario_keys.hpp"
#include "scenarios/schema/vocabulary.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/units.hpp"
#include "sim/cluster/device_profile.hpp"
#include "sim/cluster/host_machine.hpp"
#include "sim/training/plan.hpp"
#include "sim/training/scheme.hpp"
#include "tools/straggler/command.hpp"
#include "tools/straggler/file_formats.hpp"
#include "tools/straggler/meant_words.hpp"
#include "tools/straggler/model_layers.hpp"
#include "tools/straggler/recipes.hpp"
#include "tools/straggler/scheme_page.hpp"
#include "tools/straggler/screen.hpp"

namespace straggler::cli {

namespace {

struct Entry {
  std::string name, summary, reference;
  std::vector<Parameter> parameters;
  std::vector<std::pair<std::string, std::string>> figures = {};  // of devices
  bool cost_only = false;                                         // models that workload.cost knows and workload.model does not
  const SchemeEntry* scheme = nullptr;                            // of schemes: the other facts of the registry
};

/// One group of `list`: what a scenario can name, or the formats of `import`.
struct Group {
  explicit Group(KindGroup of) : name(listed_as(of)), kind(of) {}
  explicit Group(const char* other) : name(other) {}
  std::string name;
  std::optional<KindGroup> kind;  // none: formats or frameworks
};

const std::vector<Group>& groups() {
  static const std::vector<Group> all{Group(KindGroup::scheme),       Group(KindGroup::collective),  Group(KindGroup::topology),
                                      Group(KindGroup::sharing),      Group(KindGroup::jitter),      Group(KindGroup::model),
                                      Group(KindGroup::data),         Group(KindGroup::partition),   Group(KindGroup::optimizer),
                                      Group(KindGroup::schedule),     Group(KindGroup::compression), Group(KindGroup::device),
                                      Group(KindGroup::availability), Group(KindGroup::machine),     Group(KindGroup::layer),
                                      Group(KindGroup::law),          Group("frameworks"),           Group("imports")};
  return all;
}

/// Rates as a scenario writes them under `fp16`.
std::string half_rates(const DeviceProfile& device) {
  if (device.half_peak_flops <= 0) return "none";
  return fmt::format("{{peak: {}, efficiency: {}, dense_efficiency: {}, launch: {}, issue: {}}}",
                     format_quantity(device.half_peak_flops, Dimension::compute), format_number(device.half_efficiency),
                     format_number(device.half_dense_efficiency),
                     format_quantity(device.half_launch.value_or(device.launch), Dimension::time),
                     format_quantity(device.half_issue.value_or(device.issue), Dimension::time));
}

std::vector<std::pair<std::string, std::string>> figures_of(const DeviceProfile& device) {
  const auto share = [](double value) { return value > 0 ? format_number(value) : "none"; };
  return {{"peak", format_quantity(device.peak_flops, Dimension::compute)},
          {"efficiency", format_number(device.efficiency)},
          {"dense_efficiency", share(device.dense_efficiency)},
          {"memory_bandwidth", format_quantity(device.memory_bandwidth, Dimension::rate)},
          {"memory_efficiency", share(device.memory_efficiency)},
          {"launch", format_quantity(device.launch, Dimension::time)},
          {"issue", format_quantity(device.issue, Dimension::time)},
          {"fp16", half_rates(device)},
          {"bf16", device.bfloat16 ? half_rates(device) : "none"},
          {"memory", format_quantity(device.memory, Dimension::bytes)},
          {"host_to_device", device.host_to_device > 0 ? format_quantity(device.host_to_device, Dimension::rate) : "none"},
          {"power", device.busy_watts > 0 ? format_quantity(device.busy_watts, Dimension::power) : "none"},
          {"error", device.error}};
}

/// For four workers in one rack; 0: it has no such role.
Rank aggregators_of_four(const SchemeVariant& variant) {
  TrainingPlan plan;
  plan.workers = 4;
  return variant.entry->aggregators ? variant.entry->aggregators(variant.parameters, plan) : 0;
}

const char* yes_or_no(bool value) { return value ? "yes" : "no"; }

std::vector<std::pair<std::string, std::string>> facts_of(const SchemeEntry& scheme) {
  const std::vector<SchemeVariant> variants = variants_of(scheme);
  return {{"rule", scheme.rule},
          {"exchange", either(variants, [](const SchemeVariant& variant) { return name_of(variant.exchange()); })},
          {"asynchronous", either(variants, [](const SchemeVariant& variant) { return yes_or_no(variant.asynchronous()); })},
          {"versions", either(variants, [](const SchemeVariant& variant) { return name_of(variant.versions()); })},
          {"sends gradients",
           either(variants, [](const SchemeVariant& variant) { return yes_or_no(variant.entry->sends_gradients(variant.parameters)); })},
          {"compressible",
           either(variants, [](const SchemeVariant& variant) { return yes_or_no(variant.entry->compressible(variant.parameters)); })},
          {"rolls back",
           either(variants,
                  [](const SchemeVariant& variant) { return rolls_back_choice.name_of(variant.entry->rolls_back(variant.parameters)); })},
          {"aggregators", yes_or_no(static_cast<bool>(scheme.aggregators))},
          {"waits", scheme.waits},
          {"staleness", scheme.staleness.text},
          {"bytes per update", scheme.traffic.text},
          {"real", yes_or_no(scheme.real)}};
}

std::vector<std::pair<std::string, std::string>> facts_of(const CompressorEntry& compressor) {
  return {{"formula", compressor.formula},
          {"message_bytes", compressor.message},
          {"all_reduce", compressor.all_reduce == CompressedAllReduce::sum ? "sums" : "all-gather"}};
}

std::string level_text(const HostMachine::Level& level) {
  if (level.workers == 0) return "none";
  return fmt::format("{{workers: {}, bandwidth: {}, latency: {}}}", level.workers, format_quantity(level.bandwidth, Dimension::rate),
                     format_quantity(level.latency, Dimension::time));
}

std::vector<std::pair<std::string, std::string>> figures_of(const HostMachine& machine) {
  return {{"bandwidth", format_quantity(machine.bandwidth, Dimension::rate)},
          {"latency", format_quantity(machine.latency, Dimension::time)},
          {"while_computing", format_number(machine.while_computing)},
          {"switch", level_text(machine.pcie_switch)},
          {"socket", level_text(machine.socket)},
          {"nvlink", level_text(machine.nvlink)}};
}

std::vector<Entry> entries_of_imports() {
  std::vector<Entry> entries;
  for (const ImportFormat& format : import_formats())
    entries.push_back({format.name, format.summary, "", format.parameters, {{"yields", format.yields}, {"example", format.example}}});
  return entries;
}

std::vector<Entry> entries_of_frameworks() {
  std::vector<Entry> entries;
  for (const Framework& each : frameworks()) entries.push_back({each.name, each.summary, each.source, {}, errors_of(each)});
  return entries;
}

std::vector<Entry> all_entries_of(const Group& group) {
  if (group.name == "frameworks") return entries_of_frameworks();
  if (!group.kind) return entries_of_imports();
  if (group.kind == KindGroup::machine) {
    std::vector<Entry> entries;
    for (const HostMachine& machine : Registry<HostMachine>::instance().entries())
      entries.push_back({machine.name, machine.summary, machine.source, {}, figures_of(machine)});
    return entries;
  }
  if (group.kind == KindGroup::device) {
    std::vector<Entry> entries;
    for (const DeviceProfile& device : Registry<DeviceProfile>::instance().entries())
      entries.push_back({device.name, device.summary, device.source, {}, figures_of(device)});
    return entries;
  }
  std::vector<Entry> entries;
  const auto& words = Vocabulary::from_registries().words;
  const auto found = words.find(*group.kind);
  if (found == words.end()) return entries;
  for (const Word& word : found->second) {
    Entry entry{word.name, word.summary, "", word.parameters};
    if (group.kind == KindGroup::scheme)
      if (const SchemeEntry* scheme = entry.scheme = Registry<SchemeEntry>::instance().find(word.name)) {
        entry.reference = scheme->reference;
        entry.figures = facts_of(*scheme);
      }
    if (group.kind == KindGroup::compression) {
      const CompressorEntry& compressor = Registry<CompressorEntry>::instance().at(word.name);
      entry.reference = compressor.reference;
      entry.figures = facts_of(compressor);
    }
    if (group.kind == KindGroup::model) entry.reference = Registry<ModelEntry>::instance().at(word.name).reference;
    if (group.kind == KindGroup::layer) {
      const LayerEntry* const row = Registry<LayerEntry>::instance().find(word.name);  // none: it is made of others
      entry.figures = {{"trains", yes_or_no(!row || row->forward)}};
    }
    entries.push_back(std::move(entry));
  }
  if (group.kind == KindGroup::model)
    for (const ModelEntry& model : Registry<ModelEntry>::instance().entries())
      if (!model.make)
        entries.push_back({model.name, model.summary + " (for workload.cost only)", model.reference, model.cost_parameters, {}, true});
  return entries;
}

/// Of those, only the one of this name; empty: all. Throws UsageError.
std::vector<Entry> entries_of(const Group& group, const std::string& name) {
  std::vector<Entry> entries = all_entries_of(group);
  if (name.empty()) return entries;
  std::vector<std::string> known;
  for (const Entry& entry : entries) {
    if (entry.name == name) return {entry};
    known.push_back(entry.name);
  }
  if (group.name == "frameworks") throw UsageError(unknown_word(WordKind::framework, name, known, "straggler list frameworks"));
  if (!group.kind) throw UsageError(unknown_name("format", name, known, "straggler list imports"));
  throw UsageError(unknown_kind(*group.kind, name_of(*group.kind), name, known));
}

std::vector<std::string> units_of(ValueType type) {
  const DimensionRow* const row = row_of(type);
  return row ? straggler::units_of(row->dimension) : std::vector<std::string>();
}

/// "none | inverse", "at least 1", or nothing.
std::string allowed(const Parameter& parameter) {
  if (!parameter.choices.empty()) return fmt::format("{}", fmt::join(parameter.choices, " | "));
  return parameter.range.text();
}

std::string fallback_text(const Parameter& parameter) {
  if (parameter.fallback) return "default " + *parameter.fallback;
  return parameter.required ? "required" : "optional";
}

void print_entry(const Entry& entry, std::size_t width, bool parameters) {
  print_screen("  {:<{}}  {}\n", entry.name, width, entry.summary);
  if (!parameters) return;
  if (!entry.reference.empty()) print_screen("  {:<{}}  {}\n", "", width, entry.reference);
  for (const auto& [figure, value] : entry.figures) print_screen("  {:<{}}    {}: {}\n", "", width, figure, value);
  std::size_t name_width = 0, type_width = 0, fallback_width = 0;
  for (const Parameter& parameter : entry.parameters) {
    name_width = std::max(name_width, parameter.name.size());
    type_width = std::max(type_width, name_of(parameter.type).size());
    fallback_width = std::max(fallback_width, fallback_text(parameter).size());
  }
  for (const Parameter& parameter : entry.parameters) {
    const std::string range = allowed(parameter);
    print_screen("  {:<{}}    {:<{}}  {:<{}}  {:<{}}  {}{}{}\n", "", width, parameter.name, name_width, name_of(parameter.type), type_width,
                 fallback_text(parameter), fallback_width, parameter.meaning, range.empty() ? "" : "; ", range);
  }
}

/// `name`: one entry of it; empty: all.
void print_group(const Group& group, bool parameters, const std::string& name = {}) {
  const std::vector<Entry> entries = entries_of(group, name);
  print_text("{}\n", group.name);
  if (entries.empty()) print_text("  none built in yet\n");
  std::size_t width = 0;
  for (const Entry& entry : entries) width = std::max(width, entry.name.size());
  if (group.kind != KindGroup::scheme) {
    for (const Entry& entry : entries) print_entry(entry, width, parameters);
    return;
  }
  for (const std::string& family : family_choice.names()) {
    const auto belongs = [&](const Entry& entry) { return entry.scheme && family_choice.name_of(entry.scheme->family) == family; };
    if (std::any_of(entries.begin(), entries.end(), belongs)) print_text(" {}\n", family);
    for (const Entry& entry : entries)
      if (belongs(entry)) print_entry(entry, width, parameters);
  }
}

nlohmann::ordered_json json_of(const Parameter& parameter) {
  nlohmann::ordered_json json{{"name", parameter.name}, {"type", name_of(parameter.type)}, {"units", units_of(parameter.type)}};
  json["default"] = parameter.fallback ? nlohmann::ordered_json(*parameter.fallback) : nlohmann::ordered_json();
  json["required"] = parameter.required;
  json["range"] = parameter.range.text();
  json["choices"] = parameter.choices;
  json["meaning"] = parameter.meaning;
  return json;
}

nlohmann::ordered_json json_of(const ParameterTexts& texts) {
  auto json = nlohmann::ordered_json::object();
  for (const auto& [name, text] : texts) json[name] = text;
  return json;
}

/// The worker counts from 2 to 8 with which it cannot run.
std::vector<Rank> unfit_workers(const SchemeVariant& variant) {
  std::vector<Rank> unfit;
  for (Rank workers = 2; workers <= 8; ++workers) {
    TrainingPlan plan;
    plan.workers = workers;
    if (!variant.entry->unfit(variant.parameters, plan).empty()) unfit.push_back(workers);
  }
  return unfit;
}

nlohmann::ordered_json average_of(const SchemeVariant& variant) {
  const std::optional<Average::By> by = variant.entry->average(variant.parameters);
  return by ? nlohmann::ordered_json(Average::choice.name_of(*by)) : nlohmann::ordered_json();
}

/// The facts with the defaults (required parameters as in the first example), and the other variants that the tests of all schemes use.
void add_facts(nlohmann::ordered_json& json, const SchemeEntry& scheme) {
  const std::vector<SchemeVariant> variants = variants_of(scheme);
  json["family"] = family_choice.name_of(scheme.family);
  json["other_names"] = scheme.other_names;
  json["rule"] = scheme.rule;
  json["waits"] = scheme.waits;
  json["batch_is"] = scheme.batch_is;
  json["staleness_bound"] = scheme.staleness.text;
  json["bytes_per_update"] = scheme.traffic.text;
  json["picture"] = variant_of(scheme, scheme.picture).text();
  json["needs_server"] = scheme.needs_server(variants.front().parameters);
  json["exchange"] = name_of(variants.front().exchange());
  json["asynchronous"] = variants.front().asynchronous();
  json["versions"] = name_of(variants.front().versions());
  json["rolls_back"] = rolls_back_choice.name_of(scheme.rolls_back(variants.front().parameters));
  json["average"] = average_of(variants.front());
  json["real"] = scheme.real;
  json["sends_gradients"] = scheme.sends_gradients(variants.front().parameters);
  json["compressible"] = scheme.compressible(variants.front().parameters);
  json["with_compression"] = json_of(scheme.with_compression);
  json["workers"] = scheme.only_workers ? nlohmann::ordered_json(*scheme.only_workers) : nlohmann::ordered_json();
  json["one_process"] = scheme.one_process;
  json["one_host"] = variants.front().one_host();
  json["variants"] = nlohmann::ordered_json::array();
  for (const SchemeVariant& variant : variants)
    json["variants"].push_back({{"parameters", json_of(variant.given)},
                                {"exchange", name_of(variant.exchange())},
                                {"asynchronous", variant.asynchronous()},
                                {"rolls_back", rolls_back_choice.name_of(scheme.rolls_back(variant.parameters))},
                                {"average", average_of(variant)},
                                {"unfit_workers", unfit_workers(variant)},
                                {"aggregators_of_4_workers", aggregators_of_four(variant)},
                                {"sends_gradients", scheme.sends_gradients(variant.parameters)},
                                {"compressible", scheme.compressible(variant.parameters)}});
  json["plain_sgd_alone"] = nlohmann::ordered_json::array();
  for (const ParameterTexts& given : scheme.plain_sgd_alone) json["plain_sgd_alone"].push_back(json_of(variant_of(scheme, given).given));
}

nlohmann::ordered_json json_of(const Group& group, const std::string& name = {}) {
  auto all = nlohmann::ordered_json::array();
  for (const Entry& entry : entries_of(group, name)) {
    nlohmann::ordered_json json{{"name", entry.name}, {"summary", entry.summary}};
    if (!entry.reference.empty()) json["reference"] = entry.reference;
    if (entry.scheme)
      add_facts(json, *entry.scheme);
    else
      for (const auto& [figure, value] : entry.figures) json[figure] = value;
    if (entry.cost_only) json["cost_only"] = true;
    json["parameters"] = nlohmann::ordered_json::array();
    for (const Parameter& parameter : entry.parameters) json["parameters"].push_back(json_of(parameter));
    all.push_back(std::move(json));
  }
  return all;
}

/// A meaning of the reference without its page: nothing stands below it here, and pages lie in docs/. With a blank at its end.
std::string alone(const std::string& meaning) {
  static const std::regex below("(, and|,|;) below(?=;|$)|^below(; |$)"), page("\\(([a-z_]+\\.md)");
  const std::string text = std::regex_replace(std::regex_replace(meaning, below, ""), page, "(docs/$1");
  return text.empty() ? text : text + " ";
}

/// The keys of a part of the scenario, or of a sweep or a claim, one per line.
int list_keys(const std::string& part, const Arguments& arguments) {
  std::vector<KeyRow> rows;
  try {
    const std::string first = part.substr(0, part.find('.'));
    const FileFormat* format = &file_formats().front();
    std::string below = part;
    for (const FileFormat& each : file_formats())
      if (each.name == first) {
        format = &each;
        below = part.size() > first.size() ? part.substr(first.size() + 1) : std::string();
      }
    rows = key_rows(format->keys, below);
  } catch (const std::invalid_argument& unknown) {
    throw UsageError(unknown.what());
  }
  if (arguments.flag("markdown")) {
    print_text("{}", key_table(rows));
  } else if (arguments.flag("json")) {
    auto all = nlohmann::ordered_json::array();
    for (const KeyRow& row : rows)
      all.push_back({{"key", row.path}, {"value", row.value}, {"default", row.absent}, {"meaning", row.meaning}});
    print_text("{}\n", all.dump(2));
  } else {
    std::size_t path_width = 0, value_width = 0;
    for (const KeyRow& row : rows) {
      path_width = std::max(path_width, row.path.size());
      value_width = std::max(value_width, std::min<std::size_t>(row.value.size(), 30));
    }
    for (const KeyRow& row : rows)
      print_screen("{:<{}}  {:<{}}  {}(default: {})\n", row.path, path_width, plain_text(row.value), value_width,
                   alone(plain_text(row.meaning)), plain_text(row.absent));
  }
  return Exit::done;
}

std::vector<std::string> groups_and_keys() {
  std::vector<std::string> names = list_groups();
  names.emplace_back("keys");
  return names;
}

const Group& group_called(const std::string& name) {
  for (const Group& group : groups())
    if (group.name == name) return group;
  for (const Group& group : groups())
    for (const Entry& entry : all_entries_of(group))
      if (entry.name == name) throw UsageError(fmt::format("unknown group {}; did you mean '{} {}'?", in_quotes(name), group.name, name));
  throw UsageError(unknown_word(WordKind::group, name, groups_and_keys(), "straggler list"));
}

int execute_list(const std::vector<std::string>& given) {
  boost::program_options::options_description own("Options", help_width);
  own.add_options()("json", "as JSON: an array of entries, of one NAME that entry, or without a group an object of such arrays")(
      "markdown", "keys, schemes or the kinds of a group as Markdown, as in the documentation")(
      "layers", "tensors of a model by name, with shapes, bytes and FLOPs of one sample; a model is a NAME or a FILE that describes one")(
      "yaml", "a model as a list of layers, for model: {kind: layers}; where only sizes are known, for cost.model: {kind: sizes}")(
      "set", boost::program_options::value<std::vector<std::string>>()->composing()->value_name("PARAMETER=VALUE"),
      "sets a parameter of the model; repeatable");
  Arguments arguments(list_command, own);
  if (!arguments.parse(given, 0, 2)) return Exit::done;
  const bool json = arguments.flag("json");
  if (!arguments.positional().empty() && arguments.positional().front() == "keys")
    return list_keys(arguments.positional().size() > 1 ? arguments.positional()[1] : std::string(), arguments);
  if (list_one_model(arguments)) return Exit::done;
  if (arguments.flag("markdown")) {
    const std::optional<KindGroup> kind =
        arguments.positional().size() == 1 ? group_called(arguments.positional().front()).kind : std::nullopt;
    const bool words = kind && *kind != KindGroup::device && *kind != KindGroup::machine;
    if (!words) throw UsageError("--markdown is for keys and for one group of kinds: straggler list schemes --markdown");
    *kind == KindGroup::scheme ? print_scheme_page() : print_kind_table(*kind);
    return Exit::done;
  }
  if (!arguments.positional().empty()) {
    const Group& group = group_called(arguments.positional().front());
    const std::string name = arguments.positional().size() > 1 ? arguments.positional()[1] : std::string();
    if (!json)
      print_group(group, true, name);
    else
      print_text("{}\n", (name.empty() ? json_of(group) : json_of(group, name).front()).dump(2));
    return Exit::done;
  }
  nlohmann::ordered_json all;
  for (const Group& group : groups()) json ? void(all[group.name] = json_of(group)) : print_group(group, false);
  if (json) print_text("{}\n", all.dump(2));
  return Exit::done;
}

}  // namespace

std::vector<std::string> list_groups() {
  std::vector<std::string> names;
  for (const Group& group : groups()) names.push_back(group.name);
  return names;
}

const Command list_command{
    .name = "list",
    .arguments = "[GROUP [NAME|FILE]]",
    .summary = "what is built in, with parameters: schemes, models, data, ...",
    .examples =
        "  straggler list\n"
        "  straggler list schemes\n"
        "  straggler list schemes fedavg       one of them; so of every group\n"
        "  straggler list jitter --json\n"
        "  straggler list models lenet5 --yaml its layers, as a scenario may list them\n"
        "  straggler list models config.json --layers --set sequence=512\n"
        "  straggler list models network.yaml --layers --set \"input=[3, 32, 32]\"\n"
        "  straggler list imports              formats that import reads\n"
        "  straggler list frameworks           recipes of init, and how far off they were\n"
        "  straggler list keys                 all keys of a scenario's top level; of a part: list keys cluster.network\n"
        "  straggler list keys sweep           those of a sweep file; of a claim: list keys claim\n",
    .run = execute_list,
    .words = groups_and_keys};

}  // namespace straggler::cli
