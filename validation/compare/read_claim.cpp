#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "scenarios/results/summary.hpp"
#include "scenarios/schema/file_kind.hpp"
#include "scenarios/schema/flow_yaml.hpp"
#include "scenarios/schema/section.hpp"
#include "scenarios/schema/source_text.hpp"
#include "scenarios/schema/yaml_tree.hpp"
#include "sim/base/suggest.hpp"
#include "validation/compare/claim.hpp"

namespace straggler {

namespace {

std::string item_path(const std::string& list, std::size_t index) { return list + "[" + std::to_string(index) + "]"; }

/// The items of a list, or the one value that stands in its place.
std::vector<const YamlNode*> one_or_more(const YamlNode& node) {
  std::vector<const YamlNode*> all;
  if (node.type != YamlNode::Type::sequence) return {&node};
  for (const YamlNode& item : node.items) all.push_back(&item);
  return all;
}

std::vector<std::string> read_texts(ReadContext& context, const YamlNode* node, const std::string& path, const std::string& remedy) {
  std::vector<std::string> texts;
  if (node == nullptr) return texts;
  for (const YamlNode* each : one_or_more(*node)) {
    if (each->type == YamlNode::Type::scalar && !each->text.empty())
      texts.push_back(each->text);
    else
      context.problems.add(each->place, path, "is " + what_stands(*each) + "; " + remedy);
  }
  if (node->type == YamlNode::Type::sequence && node->items.empty()) context.problems.add(node->place, path, "is an empty list; " + remedy);
  return texts;
}

/// `{column: value or list, …}`.
RowPattern read_pattern(ReadContext& context, const YamlNode* node, const std::string& path) {
  RowPattern pattern;
  pattern.path = path;
  if (node == nullptr) return pattern;
  pattern.place = node->place;
  if (node->type != YamlNode::Type::map) {
    context.problems.add(node->place, path, "is " + what_stands(*node) + "; write a map from columns to values such as {nodes: [1, 8]}");
    return pattern;
  }
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    const std::string where = path + "." + node->keys[i].name;
    pattern.conditions.push_back({node->keys[i].name,
                                  read_texts(context, &node->items[i], where, "write a value of that column, or a list of values"),
                                  node->keys[i].place});
  }
  return pattern;
}

std::vector<std::string> read_paths(Section& section) {
  const std::string remedy = "write a path of the scenario such as cluster.workers[0].count";
  if (section.find("path") == nullptr && section.find("paths") == nullptr) section.require("path", remedy);
  std::vector<std::string> all;
  for (const char* key : {"path", "paths"})
    for (std::string& text : read_texts(section.context(), section.find(key), section.path_of(key), remedy)) all.push_back(std::move(text));
  return all;
}

void read_values(ReadContext& context, const YamlNode* node, const std::string& path, Bind& bind) {
  if (node == nullptr) return;
  if (node->type != YamlNode::Type::map || node->items.empty()) {
    context.problems.add(node->place, path, "is " + what_stands(*node) + "; write a map from words of the column to values, {SGD: ssgd}");
    return;
  }
  for (std::size_t i = 0; i < node->items.size(); ++i) bind.values.emplace_back(node->keys[i].name, flow_yaml(node->items[i]));
}

Bind read_bind(ReadContext& context, const YamlNode& node, const std::string& column, const std::string& path, Place place) {
  Bind bind;
  bind.column = column;
  bind.place = place;
  if (node.type != YamlNode::Type::map) {
    bind.paths = read_texts(context, &node, path, "write a path of the scenario, a list of paths, or {path: …, values: {…}}");
    return bind;
  }
  Section section(context, &node, path, place);
  bind.paths = read_paths(section);
  read_values(context, section.find("values"), section.path_of("values"), bind);
  bind.unit = section.word("unit");
  section.finish();
  if (!bind.unit.empty()) {
    if (!bind.values.empty()) section.problem("unit", "is for columns of numbers, and values gives each word its own; remove one of them");
    try {
      unit_factor(bind.unit);
    } catch (const std::invalid_argument& error) {
      section.problem("unit", error.what());
    }
  }
  return bind;
}

void read_binds(Section& top, Claim& claim) {
  const YamlNode* node = top.find("bind");
  if (node == nullptr) return;
  if (node->type != YamlNode::Type::map) {
    top.problem("bind", "is " + what_stands(*node) + "; write a map from columns to paths such as {nodes: \"cluster.workers[0].count\"}");
    return;
  }
  for (std::size_t i = 0; i < node->items.size(); ++i)
    claim.bind.push_back(read_bind(top.context(), node->items[i], node->keys[i].name, "bind." + node->keys[i].name, node->keys[i].place));
}

void read_sets(Section& top, Claim& claim) {
  const YamlNode* node = top.find("set");
  if (node == nullptr) return;
  if (node->type != YamlNode::Type::map) {
    top.problem("set", "is " + what_stands(*node) + "; write a map from paths of the scenario to values");
    return;
  }
  for (std::size_t i = 0; i < node->items.size(); ++i)
    claim.set.push_back({node->keys[i].name, flow_yaml(node->items[i]), node->keys[i].place});
}

void check_metric(Section& compare, const char* key, const std::string& name) {
  const std::vector<std::string>& known = metric_names();
  if (!name.empty() && std::find(known.begin(), known.end(), name) == known.end())
    compare.problem(key, unknown_name("metric", name, known));
}

/// The unit must measure what the metric is. Where no unit of ours does (a count a second), the column has none.
void check_unit(Section& compare, const Compared& spec) {
  const std::optional<Dimension> of_unit = unit_dimension(spec.unit), by = metric_dimension(spec.divide_by);
  std::optional<Dimension> is = metric_dimension(spec.metric);
  std::string what = spec.metric;
  bool has_unit = true;
  if (!spec.divide_by.empty()) {
    what += " divided by " + spec.divide_by;
    if (is == by)
      is = std::nullopt;
    else if (is == Dimension::bytes && by == Dimension::time)
      is = Dimension::rate;
    else
      has_unit = !by;
  }
  if (spec.unit.empty() || (has_unit && is == of_unit)) return;
  const std::string kind = has_unit ? noun_of(is) : "a quantity that no unit here measures";
  std::string remedy = "remove the unit";
  if (has_unit && is) remedy = "write a unit of that kind: " + joined(units_of(*is)) + ", or another metric";
  compare.problem("unit",
                  what + " is " + kind + ", and " + spec.unit + " measures " + (of_unit ? noun_of(of_unit) : "a share") + "; " + remedy);
}

Compared read_compare(Section compare) {
  Compared spec;
  spec.place = compare.place();
  compare.require("column", "write the name of the measured column");
  compare.require("metric", "write a number of summary.json such as simulated_seconds, or update_seconds");
  spec.column = compare.word("column");
  spec.metric = compare.word("metric");
  spec.divide_by = compare.word("divide_by");
  spec.unit = compare.word("unit");
  spec.scale = compare.measure("scale", ValueType::number, Range::above(0)).value_or(1);
  check_metric(compare, "metric", spec.metric);
  check_metric(compare, "divide_by", spec.divide_by);
  try {
    spec.factor = unit_factor(spec.unit);
    const std::vector<std::string>& known = metric_names();
    if (std::find(known.begin(), known.end(), spec.metric) != known.end()) check_unit(compare, spec);
  } catch (const std::invalid_argument& error) {
    compare.problem("unit", error.what());
  }
  if (const YamlNode* node = compare.find("relative_to")) {
    spec.relative_to = read_pattern(compare.context(), node, compare.path_of("relative_to"));
    if (node->type == YamlNode::Type::map && node->items.empty())
      compare.problem("relative_to", "is an empty map; name the row to compare with, as {nodes: 1}");
  }
  compare.finish();
  return spec;
}

Amount read_amount(Section& section, const char* key) {
  const YamlNode* node = section.require(key, "write a value such as 0.5, 10ms, 25MiB or 1Gbps");
  if (node == nullptr) return {};
  try {
    if (node->type != YamlNode::Type::scalar)
      throw std::invalid_argument("is " + what_stands(*node) + "; write a value such as 0.5 or 10ms");
    return parse_amount(node->text);
  } catch (const std::invalid_argument& error) {
    section.context().problems.add(node->place, section.path_of(key), error.what());
    return {};
  }
}

FitParameter read_parameter(Section section) {
  FitParameter parameter;
  parameter.place = section.place();
  parameter.paths = read_paths(section);
  const Amount from = read_amount(section, "from"), to = read_amount(section, "to");
  parameter.dimension = to.dimension ? to.dimension : from.dimension;
  parameter.from = from.value;
  parameter.to = to.value;
  const std::string scale = section.choice("scale", {"log", "linear"}, from.value > 0 ? "log" : "linear");
  parameter.log = scale == "log";
  section.finish();
  if (!section.node()->find("from") || !section.node()->find("to")) return parameter;
  if (from.dimension != to.dimension)
    section.problem("to", "is not of the kind that from is; write both with units of one kind");
  else if (!(from.value < to.value))
    section.problem("to", "is not above from; write the lower bound in from and the upper one in to");
  else if (parameter.log && !(from.value > 0))
    section.problem("scale", "is log, and from is not above 0; raise from, or write scale: linear");
  return parameter;
}

/// The items of `key`, which must be a list that is not empty.
const std::vector<YamlNode>& list_of(Section& section, const char* key, const std::string& remedy) {
  static const std::vector<YamlNode> none;
  const YamlNode* node = section.require(key, remedy);
  if (node == nullptr) return none;
  if (node->type == YamlNode::Type::sequence && !node->items.empty()) return node->items;
  section.problem(key,
                  "is " + (node->type == YamlNode::Type::sequence ? std::string("an empty list") : what_stands(*node)) + "; " + remedy);
  return none;
}

Fit read_fit(Section section) {
  Fit fit;
  const auto& parameters =
      list_of(section, "parameters", "write a list such as [{path: devices.node.compute.affine.per_sample, from: 1us, to: 1s}]");
  for (std::size_t i = 0; i < parameters.size(); ++i)
    fit.parameters.push_back(
        read_parameter(Section(section.context(), &parameters[i], item_path(section.path_of("parameters"), i), parameters[i].place)));
  const auto& rows = list_of(section, "rows", "write the rows to fit on, as [{nodes: 1}, {nodes: 8}]");
  for (std::size_t i = 0; i < rows.size(); ++i)
    fit.rows.push_back(read_pattern(section.context(), &rows[i], item_path(section.path_of("rows"), i)));
  fit.log_errors = section.choice("errors", {"log", "relative"}, "log") == "log";
  section.finish();
  return fit;
}

/// Above 1 only with %: `5` may be meant as 5 %, and would be 500 %.
std::optional<double> read_share(Section& section, const char* key) {
  const std::optional<double> share = section.measure(key, ValueType::fraction, Range::above(0));
  if (!share || *share <= 1) return share;
  const std::string& text = section.find(key)->text;
  if (text.find('%') == std::string::npos)
    section.problem(key, in_quotes(text) + " is a share above 1; write " + text + "%, or " + fmt::format("{:.6g}", *share * 100) +
                             "% if that is meant");
  return share;
}

void read_bound(Section section, Claim& claim) {
  claim.bound_mape = read_share(section, "mape");
  claim.bound_max = read_share(section, "max");
  section.finish();
  if (section.given() && !section.has("mape") && !section.has("max") && !section.misspelt({"mape", "max"}))
    section.context().problems.add(section.place(), section.path(), "bounds nothing; write {mape: 2%, max: 4%} or one of them");
}

std::filesystem::path read_path(Section& top, const char* key, const char* remedy) {
  const YamlNode* node = top.require(key, remedy);
  Parameter parameter;
  parameter.name = key;
  parameter.type = ValueType::path;
  const std::optional<Value> value = node == nullptr ? std::nullopt : read_value(top.context(), *node, key, parameter);
  return value ? std::get<std::string>(*value) : std::string();
}

/// `later` replaces what `earlier` has set: the same path, or one above it.
bool replaces(const std::string& later, const std::string& earlier) {
  return earlier.starts_with(later) && (earlier.size() == later.size() || earlier[later.size()] == '.' || earlier[later.size()] == '[');
}

/// A change that a later one replaces does nothing, though the claim says that it does.
void check_replaced(Section& top, const Claim& claim) {
  struct Change {
    std::string path, who;
  };
  std::vector<Change> earlier;
  const auto add = [&](const std::vector<std::string>& paths, const std::string& who, Place place) {
    std::vector<Change> own;
    for (const std::string& path : paths) {
      const auto replaced = [&](const Change& change) { return replaces(path, change.path); };
      for (const std::vector<Change>* changes : {&earlier, &own})
        if (const auto found = std::find_if(changes->begin(), changes->end(), replaced); found != changes->end())
          top.context().problems.add(place, who, path + " replaces what " + found->who + " sets; keep one of them");
      own.push_back({path, who});
    }
    earlier.insert(earlier.end(), own.begin(), own.end());
  };
  for (const Bind& bind : claim.bind) add(bind.paths, "bind." + bind.column, bind.place);
  if (!claim.fit) return;
  for (std::size_t i = 0; i < claim.fit->parameters.size(); ++i)
    add(claim.fit->parameters[i].paths, item_path("fit.parameters", i), claim.fit->parameters[i].place);
}

void read_top(Section& top, Claim& claim) {
  const YamlNode* version = top.require("claim", "write 'claim: 1', the version of the format");
  if (version != nullptr && (version->type != YamlNode::Type::scalar || version->quoted || version->text != "1"))
    top.context().problems.add(version->place, "claim",
                               "is " + what_stands(*version) + "; this program reads version 1 of the format only");
  top.require("title", "write what is claimed, in a line");
  claim.title = top.word("title");
  claim.source = top.word("source");
  claim.scenario = read_path(top, "scenario", "write the path of the scenario that predicts");
  claim.measured = read_path(top, "measured", "write the path of the measured table (CSV)");
  claim.scenario_place = top.place_of("scenario");
  claim.measured_place = top.place_of("measured");
  read_sets(top, claim);
  read_binds(top, claim);
  claim.where = read_pattern(top.context(), top.find("where"), "where");
  const auto part = [&](const char* key) { return Section(top.context(), top.find(key), key, top.place_of(key)); };
  if (top.require("compare", "write compare: {column: …, metric: …}") != nullptr) claim.compare = read_compare(part("compare"));
  if (top.find("fit") != nullptr) claim.fit = read_fit(part("fit"));
  if (top.require("bound", "write how far off the held-out rows may be, as bound: {mape: 2%, max: 4%}") != nullptr)
    read_bound(part("bound"), claim);
  if (top.find("timing_only") != nullptr) claim.timing_only = top.flag("timing_only", true);
  top.finish();
  check_replaced(top, claim);
  if (claim.timing_only.value_or(false) && (needs_math(claim.compare.metric) || needs_math(claim.compare.divide_by)))
    top.problem("timing_only", "is true, and " + claim.compare.metric + " needs the math; remove it, or compare times");
}

bool only_comments(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t first = line.find_first_not_of(" \t"); first != std::string::npos && line[first] != '#') return false;
  return true;
}

}  // namespace

Claim read_claim(const std::filesystem::path& file) {
  const auto places = std::make_shared<Places>(std::vector<std::string>{file.string()});
  Problems problems(*places);
  Claim claim;
  claim.file = file;
  claim.places = places;
  const std::optional<std::string> text = read_text(file, problems, {"claim", "claim: 1"});
  std::optional<YamlNode> root;
  if (text && only_comments(*text))
    problems.add(whole_file, {}, "there is nothing in it; write a claim that begins with 'claim: 1'");
  else if (text)
    root = parse_yaml(*text, 0, problems);
  if (root && root->type != YamlNode::Type::map) {
    problems.add(root->place, "claim", "is " + what_stands(*root) + "; write a map (keys with values) that begins with 'claim: 1'");
  } else if (root && !is_of_another_kind(*root, FileKind::claim, file, problems)) {
    ReadContext context{Vocabulary::from_registries(), problems, file.parent_path()};
    Section top(context, &*root, "", Place{});
    read_top(top, claim);
  }
  problems.raise();
  return claim;
}

ScenarioErrors named_by_claim(const Claim& claim, Place place, const char* key, const std::filesystem::path& file,
                              const ScenarioErrors& errors) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(file, ignored)) return errors;
  std::vector<Problem> problems;
  for (const Problem& problem : errors.problems) problems.push_back(claim.places->problem(place, key, problem.line()));
  return ScenarioErrors(std::move(problems));
}

}  // namespace straggler
