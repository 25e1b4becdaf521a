#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <sstream>

#include "scenarios/results/summary.hpp"
#include "scenarios/schema/file_kind.hpp"
#include "scenarios/schema/flow_yaml.hpp"
#include "scenarios/schema/part.hpp"
#include "scenarios/schema/scenario_keys.hpp"
#include "scenarios/schema/source_text.hpp"
#include "scenarios/sweep/range.hpp"
#include "scenarios/sweep/read_axis.hpp"
#include "scenarios/sweep/scaling_axis.hpp"
#include "scenarios/sweep/sweep.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {
namespace {

bool is_labelled(const YamlNode& node) {
  return node.type == YamlNode::Type::map && node.keys.size() == 2 && node.find("label") != nullptr && node.find("value") != nullptr;
}

bool is_range(const YamlNode& node) {
  return node.type == YamlNode::Type::map && (node.find("from") != nullptr || node.find("to") != nullptr);
}

AxisValue read_axis_value(ReadContext& context, const YamlNode& node, const std::string& path) {
  if (is_labelled(node)) {
    const YamlNode &label = *node.find("label"), &value = *node.find("value");
    if (label.type != YamlNode::Type::scalar || label.text.empty())
      context.problems.add(label.place, path, "label is " + what_stands(label) + "; write a short word for tables");
    return {label.text, flow_yaml(value), value.place};
  }
  if (node.type == YamlNode::Type::null) context.problems.add(node.place, path, "is empty; write a value");
  AxisValue value{{}, flow_yaml(node), node.place};
  const YamlNode* const kind = node.type == YamlNode::Type::map ? node.find("kind") : nullptr;
  value.label = kind && kind->type == YamlNode::Type::scalar ? kind->text : node.type == YamlNode::Type::scalar ? node.text : value.yaml;
  return value;
}

/// Two values that are called alike and are not are called by all that they are.
void tell_apart(std::vector<AxisValue>& values) {
  std::map<std::string, std::set<std::string>> seen;
  for (const AxisValue& value : values) seen[value.label].insert(value.yaml);
  for (AxisValue& value : values)
    if (seen[value.label].size() > 1) value.label = value.yaml;
}

/// Values of a list or a range, some of which may be the same.
std::vector<AxisValue> read_values(ReadContext& context, const YamlNode& node, const std::string& path) {
  std::vector<AxisValue> values;
  if (is_range(node)) {
    for (std::string& text : read_range(Section(context, &node, path, node.place))) values.push_back({text, text, node.place});
    return values;
  }
  if (node.type != YamlNode::Type::sequence) {
    context.problems.add(node.place, path,
                         "is " + what_stands(node) + "; write a list of values, or a range such as {from: 1, to: 64, times: 2}");
    return values;
  }
  if (node.items.empty()) context.problems.add(node.place, path, "is an empty list; write at least one value");
  for (std::size_t i = 0; i < node.items.size(); ++i)
    values.push_back(read_axis_value(context, node.items[i], path + "[" + std::to_string(i) + "]"));
  tell_apart(values);
  return values;
}

/// [values][paths]: the values of each path that stand together.
void refuse_repeats(ReadContext& context, const std::vector<std::vector<AxisValue>>& values, const std::string& path) {
  std::set<std::vector<std::string>> different;
  for (const std::vector<AxisValue>& together : values) {
    std::vector<std::string> texts;
    for (const AxisValue& value : together) texts.push_back(value.yaml);
    if (different.insert(texts).second) continue;
    context.problems.add(together.front().place, path,
                         texts.size() == 1 ? texts.front() + " stands there twice; write each value once"
                                           : "has " + joined(texts) + " together twice; write each combination once");
  }
}

void read_crossed(ReadContext& context, const YamlNode* axes, Sweep& sweep) {
  if (axes == nullptr) return;
  if (axes->type != YamlNode::Type::map) {
    context.problems.add(axes->place, "axes", "is " + what_stands(*axes) + "; write a map from paths of the scenario to lists of values");
    return;
  }
  for (std::size_t i = 0; i < axes->items.size(); ++i) {
    if (axes->keys[i].name == scaling_axis) {
      read_scaling(context, axes->items[i], sweep);
      continue;
    }
    Axis axis{{axes->keys[i].name}, {}};
    for (AxisValue& value : read_axis(context, axes->items[i], "axes." + axes->keys[i].name)) axis.values.push_back({std::move(value)});
    sweep.axes.push_back(std::move(axis));
  }
}

void read_zipped(ReadContext& context, const YamlNode* zips, Sweep& sweep) {
  if (zips == nullptr) return;
  const char* const remedy = "; write a list of maps from paths to lists of equal length, as [{a.b: [1, 2], a.c: [3, 4]}]";
  if (zips->type != YamlNode::Type::sequence) {
    context.problems.add(zips->place, "zip", "is " + what_stands(*zips) + remedy);
    return;
  }
  for (std::size_t z = 0; z < zips->items.size(); ++z) {
    const YamlNode& zip = zips->items[z];
    const std::string where = "zip[" + std::to_string(z) + "]";
    if (zip.type != YamlNode::Type::map || zip.items.empty()) {
      context.problems.add(zip.place, where, "is " + what_stands(zip) + remedy);
      continue;
    }
    Axis axis;
    for (std::size_t i = 0; i < zip.items.size(); ++i) {
      std::vector<AxisValue> values = read_values(context, zip.items[i], where + "." + zip.keys[i].name);
      if (i == 0) axis.values.resize(values.size());
      if (values.size() != axis.values.size()) {
        context.problems.add(zip.keys[i].place, where + "." + zip.keys[i].name,
                             "has " + std::to_string(values.size()) + " values, the previous list " + std::to_string(axis.values.size()) +
                                 "; lists that vary together have equal lengths");
        break;
      }
      axis.paths.push_back(zip.keys[i].name);
      for (std::size_t v = 0; v < values.size(); ++v) axis.values[v].push_back(std::move(values[v]));
    }
    if (axis.paths.size() == zip.items.size()) refuse_repeats(context, axis.values, where);
    sweep.axes.push_back(std::move(axis));
  }
}

void refuse_double_paths(ReadContext& context, const Sweep& sweep, Place place) {
  std::set<std::string> seen;
  for (const Axis& axis : sweep.axes)
    for (const std::string& path : axis.paths)
      if (!seen.insert(path).second) context.problems.add(place, "axes", path + " is varied twice; name each path once");
}

Part<UntilInterval> until_part() {
  return Part<UntilInterval>({
      field(&UntilInterval::relative, {.name = "relative",
                                       .type = ValueType::fraction,
                                       .range = Range::above_to(0, 1),
                                       .meaning = "half of the interval, as a share of the mean",
                                       .required = true,
                                       .remedy = "write the width of the interval, such as 2%"}),
      field(&UntilInterval::metric, {.name = "metric",
                                     .type = ValueType::text,
                                     .meaning = "a number of `summary.json`",
                                     .otherwise = "the time to the target, or samples per second",
                                     .form = "name"}),
      field(&UntilInterval::most,
            {.name = "most", .type = ValueType::count, .range = Range::between(2, 100'000), .meaning = "largest number of repeats"}),
  });
}

void check_until(Section& section, UntilInterval& until) {
  std::vector<std::string> known;
  for (const SummaryField& field : summarize(RunRecord())) known.push_back(field.key);
  if (!until.metric.empty() && std::find(known.begin(), known.end(), until.metric) == known.end())
    section.problem("metric", unknown_name("metric", until.metric, known));
}

/// The inline scenario, back as text: it is read like a file of its own.
std::string base_text(const YamlNode& base) {
  std::string text;
  for (std::size_t i = 0; i < base.items.size(); ++i) text += base.keys[i].name + ": " + flow_yaml(base.items[i]) + "\n";
  return text;
}

void read_name(Section& top, Sweep& sweep) {
  top.require("name", "write a name for the results, as worker-counts");
  sweep.name = top.word("name");
  const auto legal = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; };
  if (!std::all_of(sweep.name.begin(), sweep.name.end(), legal))
    top.problem("name", "has characters other than letters, digits, - and _; a folder is named after it");
}

/// The scenario, by name or inline.
void read_scenario(Section& top, Sweep& sweep) {
  const YamlNode* const base = top.find("base");
  const std::string scenario = top.word("scenario");
  if ((base != nullptr) == !scenario.empty())
    top.problem(base ? "base" : "sweep", "needs either scenario: FILE or an inline base: {…}; write one of them");
  if (!scenario.empty()) sweep.scenario = (sweep.folder / scenario).lexically_normal();
  if (base != nullptr && base->type != YamlNode::Type::map)
    top.problem("base", "is " + what_stands(*base) + "; write a whole scenario there");
  else if (base != nullptr)
    sweep.base = base_text(*base);
}

void read_set(Section& top, Sweep& sweep) {
  const YamlNode* const set = top.find("set");
  if (set == nullptr) return;
  if (set->type != YamlNode::Type::map)
    return top.problem("set", "is " + what_stands(*set) + "; write a map from paths of the scenario to values");
  for (std::size_t i = 0; i < set->items.size(); ++i) sweep.set.emplace_back(set->keys[i].name, flow_yaml(set->items[i]));
}

Part<Sweep> sweep_part() {
  using Shape = ScenarioKey::Shape;
  std::vector<ScenarioKey> forms = axis_forms();
  forms.push_back(scaling_form());
  const ScenarioKey axes{.name = "PATH", .shape = Shape::one_of, .keys = forms};
  return Part<Sweep>({
      read_before<Sweep>({.name = "sweep",
                          .type = ValueType::count,
                          .meaning = "version of the format",
                          .required = true,
                          .form = "`1`",
                          .choices = {"1"}}),
      read_by<Sweep>({.name = "name",
                      .type = ValueType::text,
                      .meaning = "names the results, and their folder `results/NAME`: letters, digits, `-` and `_`",
                      .required = true,
                      .form = "name"},
                     read_name),
      read_by<Sweep>({.name = "scenario",
                      .type = ValueType::path,
                      .meaning = "the scenario to vary, relative to the sweep's folder",
                      .otherwise = "required, unless there is a `base`"},
                     read_scenario),
      read_before<Sweep>({.name = "base",
                          .meaning = "a whole scenario, inline",
                          .otherwise = "required, unless there is a `scenario`",
                          .own_table = true,
                          .shape = Shape::map,
                          .keys = scenario_keys()}),
      read_by<Sweep>({.name = "axes",
                      .meaning = "paths to vary, crossed; the last path varies fastest. A value may be any YAML, or `{label: WORD, value: "
                                 "…}`. `scaling: {kind: weak or strong, "
                                 "workers: [1, 2, 4]}`: the workers of the one group, with the batch that then [stays](scaling.md)",
                      .otherwise = "nothing varies",
                      .form = "map from paths to lists or ranges",
                      .own_table = true,
                      .shape = Shape::entries_of,
                      .keys = {axes}},
                     [](Section& top, Sweep& sweep) { read_crossed(top.context(), top.find("axes"), sweep); }),
      read_by<Sweep>({.name = "zip",
                      .meaning = "paths that vary together, with lists of equal length",
                      .form = "list of such maps",
                      .own_table = true,
                      .shape = Shape::list_of,
                      .keys = {{.shape = Shape::entries_of, .keys = {axes}}}},
                     [](Section& top, Sweep& sweep) { read_zipped(top.context(), top.find("zip"), sweep); }),
      field(&Sweep::repeats, {.name = "repeats",
                              .type = ValueType::count,
                              .range = Range::between(1, 100'000),
                              .meaning = "runs of each setting, with seeds `seed`, `seed` + 1, …"}),
      map(&Sweep::until, {.name = "until_ci", .meaning = "repeats a setting until the 95 % confidence interval of a metric is narrow"},
          until_part(), check_until),
      field(&Sweep::timing_only, {.name = "timing_only", .meaning = "leaves out the math"}),
      read_by<Sweep>({.name = "set",
                      .meaning = "fixed changes of the scenario, for every point",
                      .form = "map from paths to values",
                      .shape = Shape::entries_of,
                      .keys = {{.name = "PATH", .shape = Shape::any}}},
                     read_set),
  });
}

}  // namespace

std::vector<ScenarioKey> sweep_keys() { return sweep_part().keys(); }

std::vector<ScenarioKey> axis_forms() {
  using Shape = ScenarioKey::Shape;
  const ScenarioKey labelled{.name = "VALUE",
                             .shape = Shape::map,
                             .keys = {{.name = "label", .type = ValueType::text, .meaning = "its name in tables", .required = true},
                                      {.name = "value", .meaning = "value in the scenario", .required = true, .shape = Shape::any}}};
  return {{.name = "LIST", .shape = Shape::list_of, .keys = {labelled, {.name = "VALUE", .shape = Shape::any}}},
          {.name = "RANGE", .shape = Shape::map, .keys = range_keys()}};
}

std::vector<AxisValue> read_axis(ReadContext& context, const YamlNode& node, const std::string& path) {
  std::vector<AxisValue> values = read_values(context, node, path);
  std::vector<std::vector<AxisValue>> alone;
  for (const AxisValue& value : values) alone.push_back({value});
  refuse_repeats(context, alone, path);
  return values;
}

std::vector<std::string> Sweep::columns() const {
  std::vector<std::string> all;
  for (const Axis& axis : axes) all.insert(all.end(), axis.paths.begin(), axis.paths.end());
  return all;
}

Sweep read_sweep(const std::filesystem::path& file, const MoreKeys& more) {
  const auto places = std::make_shared<Places>(std::vector<std::string>{file.string()});
  Problems problems(*places);
  Sweep sweep;
  sweep.file = file;
  sweep.folder = file.parent_path();
  sweep.places = places;
  std::optional<YamlNode> root;
  if (const std::optional<std::string> text = read_text(file, problems, {"sweep", "sweep: 1"})) root = parse_yaml(*text, 0, problems);
  if (root && root->type != YamlNode::Type::map) {
    problems.add(root->place, "sweep", "is " + what_stands(*root) + "; write a map (keys with values) that begins with 'sweep: 1'");
  } else if (root && !is_of_another_kind(*root, FileKind::sweep, file, problems)) {
    ReadContext context{Vocabulary::from_registries(), problems, sweep.folder};
    Section top(context, &*root, "", Place{});
    if (is_of_another_version(top, FileKind::sweep)) problems.raise();
    sweep_part().read(top, sweep);
    complete_scaling(context, sweep);
    refuse_double_paths(context, sweep, top.place_of("axes"));
    if (more) more(top, sweep);
    top.finish();
  }
  problems.raise();
  return sweep;
}

}  // namespace straggler
