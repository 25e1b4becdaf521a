#include "validation/compare/claim_parts.hpp"

#include <algorithm>
#include <stdexcept>

#include "scenarios/schema/yaml_tree.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {

namespace {

using Shape = ScenarioKey::Shape;

/// The items of a list, or a single value.
std::vector<const YamlNode*> one_or_more(const YamlNode& node) {
  std::vector<const YamlNode*> all;
  if (node.type != YamlNode::Type::sequence) return {&node};
  for (const YamlNode& item : node.items) all.push_back(&item);
  return all;
}

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// A worker's metric may be divided by one of the run, to compare a share of the whole.
std::vector<std::string> known_metrics(const Compared& spec, bool divisor) {
  if (!spec.of_a_worker()) return metric_names();
  std::vector<std::string> names = worker_metric_names();
  if (divisor)
    for (const std::string& name : metric_names())
      if (!is_among(names, name)) names.push_back(name);
  return names;
}

void check_metric(Section& compare, const char* key, const Compared& spec) {
  const bool divisor = std::string_view(key) == "divide_by";
  const std::string& name = divisor ? spec.divide_by : spec.metric;
  const std::vector<std::string> known = known_metrics(spec, divisor);
  if (name.empty() || is_among(known, name)) return;
  if (spec.of_a_worker() && is_among(metric_names(), name))
    compare.problem(key, in_quotes(name) +
                             " is a metric of the whole run, and compare.rank names a worker; remove rank, or compare one of " +
                             joined(known));
  else if (!spec.of_a_worker() && is_among(worker_metric_names(), name))
    compare.problem(key, in_quotes(name) + " is a metric of one worker; name the worker, or the column that does, in compare.rank");
  else
    compare.problem(key, unknown_name("metric", name, known));
}

/// A column's name, or a number for all rows.
struct ColumnOrNumber {
  std::string column;
  std::optional<double> number;
};
ColumnOrNumber column_or_number(Section& section, const char* key) {
  const YamlNode* node = section.find(key);
  if (node == nullptr) return {};
  if (node->type != YamlNode::Type::scalar || node->text.empty()) {
    section.problem(key, "is " + what_stands(*node) + "; write a number, or the name of a column");
    return {};
  }
  try {
    return {{}, parse_number(node->text)};
  } catch (const std::invalid_argument&) {
    return {node->text, {}};
  }
}

void read_repeats(Section& compare, Compared& spec) {
  const ColumnOrNumber given = column_or_number(compare, "repeats");
  spec.repeats_column = given.column;
  spec.repeats = given.number;
  if (given.number && !(*given.number >= 1)) compare.problem("repeats", "is below 1; write the number of measurements that a row averages");
}

void read_rank(Section& compare, Compared& spec) {
  const ColumnOrNumber given = column_or_number(compare, "rank");
  spec.rank_column = given.column;
  if (!given.number) return;
  spec.rank = static_cast<std::int64_t>(*given.number);
  if (!(*given.number >= 0) || static_cast<double>(*spec.rank) != *given.number)
    compare.problem("rank", "is not the number of a worker; write 0, 1, 2, …, or the name of the column that has them");
}

/// The unit must have the metric's dimension. Where no known unit has it (counts per second), the column has none.
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

void read_relative_to(Section& compare, Compared& spec) {
  const YamlNode* node = compare.find("relative_to");
  if (node == nullptr) return;
  spec.relative_to = read_pattern(compare.context(), node, compare.path_of("relative_to"));
  if (node->type == YamlNode::Type::map && node->items.empty())
    compare.problem("relative_to", "is an empty map; name the row to compare with, as {nodes: 1}");
}

/// A parameter of the fit as it is written.
struct WrittenParameter {
  std::vector<std::string> paths;
  Amount from, to;
  std::string scale;
};
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
Part<WrittenParameter> parameter_part() {
  std::vector<Field<WrittenParameter>> fields = path_fields<WrittenParameter>();
  const auto end = [](const char* name, const char* meaning) {
    return ScenarioKey{.name = name, .type = ValueType::text, .meaning = meaning, .required = true, .form = "number or quantity"};
  };
  fields.push_back(read_by<WrittenParameter>(
      end("from", "lower bound"), [](Section& section, WrittenParameter& written) { written.from = read_amount(section, "from"); }));
  fields.push_back(read_by<WrittenParameter>(end("to", "upper bound"),
                                             [](Section& section, WrittenParameter& written) { written.to = read_amount(section, "to"); }));
  fields.push_back(field(&WrittenParameter::scale, {.name = "scale",
                                                    .type = ValueType::choice,
                                                    .meaning = "scale of the search",
                                                    .otherwise = "`log` if `from` is above 0",
                                                    .choices = {"log", "linear"}}));
  return Part<WrittenParameter>(std::move(fields));
}

FitParameter read_parameter(Section section) {
  WrittenParameter written;
  parameter_part().read(section, written);
  section.finish();
  const Amount &from = written.from, &to = written.to;
  FitParameter parameter;
  parameter.place = section.place();
  parameter.paths = std::move(written.paths);
  parameter.dimension = to.dimension ? to.dimension : from.dimension;
  parameter.from = from.value;
  parameter.to = to.value;
  parameter.log = written.scale.empty() ? from.value > 0 : written.scale == "log";
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

void read_parameters(Section& section, Fit& fit) {
  const auto& parameters =
      list_of(section, "parameters", "write a list such as [{path: devices.node.compute.affine.per_sample, from: 1us, to: 1s}]");
  for (std::size_t i = 0; i < parameters.size(); ++i)
    fit.parameters.push_back(
        read_parameter(Section(section.context(), &parameters[i], item_path(section.path_of("parameters"), i), parameters[i].place)));
}

void read_fit_rows(Section& section, Fit& fit) {
  const auto& rows = list_of(section, "rows", "write the rows to fit on, as [{nodes: 1}, {nodes: 8}]");
  for (std::size_t i = 0; i < rows.size(); ++i)
    fit.rows.push_back(read_pattern(section.context(), &rows[i], item_path(section.path_of("rows"), i)));
}

}  // namespace

std::string item_path(const std::string& list, std::size_t index) { return list + "[" + std::to_string(index) + "]"; }

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

std::vector<ScenarioKey> one_or_more_texts() {
  const ScenarioKey text{.type = ValueType::text};
  return {text, {.shape = Shape::list_of, .keys = {text}}};
}

std::vector<std::string> read_paths(Section& section) {
  const std::string remedy = "write a path of the scenario such as cluster.workers[0].count";
  if (section.find("path") == nullptr && section.find("paths") == nullptr) section.require("path", remedy);
  std::vector<std::string> all;
  for (const char* key : {"path", "paths"})
    for (std::string& text : read_texts(section.context(), section.find(key), section.path_of(key), remedy)) all.push_back(std::move(text));
  return all;
}

Part<Compared> compare_part() {
  return Part<Compared>({
      field(&Compared::column, {.name = "column",
                                .type = ValueType::text,
                                .meaning = "the measured column",
                                .required = true,
                                .remedy = "write the name of the measured column",
                                .form = "column"}),
      field(&Compared::unit,
            {.name = "unit",
             .type = ValueType::text,
             .meaning = "unit of that column, of the same kind as the metric: a time, a size, a rate (bytes divided by seconds), or `%`",
             .form = "unit"}),
      field(&Compared::metric,
            {.name = "metric",
             .type = ValueType::text,
             .meaning = "a number of `summary.json`; `update_seconds`, the simulated seconds per update; or `blocked_seconds_per_update`, "
                        "the part of them in which a worker communicated or was idle",
             .required = true,
             .remedy = "write a number of summary.json such as simulated_seconds, or update_seconds",
             .form = "name"}),
      field(&Compared::divide_by,
            {.name = "divide_by", .type = ValueType::text, .meaning = "another such number; the metric is divided by it", .form = "name"}),
      field(&Compared::scale,
            {.name = "scale", .type = ValueType::number, .range = Range::above(0), .meaning = "factor on the prediction"}),
      read_by<Compared>(
          {.name = "relative_to",
           .meaning = "compares ratios: each row to the row with this value and the same other bound cells, which itself does not count",
           .form = "`{COLUMN: value}`",
           .shape = Shape::entries_of,
           .keys = {pattern_form()}},
          read_relative_to),
      field(&Compared::deviation,
            {.name = "std",
             .type = ValueType::text,
             .meaning = "standard deviation of a single measurement, in the unit of `column`: the fit weights rows by "
                        "1 / variance, and the claim reports the error of noise alone",
             .form = "column"}),
      read_by<Compared>(
          {.name = "repeats",
           .type = ValueType::text,
           .meaning =
               "number of measurements averaged in `column`: `std` is divided by its square root; without `std` it is the row's weight",
           .otherwise = "`1`",
           .form = "column or number"},
          read_repeats),
      read_by<Compared>(
          {.name = "rank",
           .type = ValueType::text,
           .meaning = "number of the measured worker, from 0; `metric` is then a number of `workers.csv`, and `divide_by` may be one",
           .otherwise = "the whole run",
           .form = "column or number"},
          read_rank),
  });
}

void check_compare(Section& compare, Compared& spec) {
  spec.place = compare.place();
  check_metric(compare, "metric", spec);
  check_metric(compare, "divide_by", spec);
  try {
    spec.factor = unit_factor(spec.unit);
    if (is_among(known_metrics(spec, false), spec.metric)) check_unit(compare, spec);
  } catch (const std::invalid_argument& error) {
    compare.problem("unit", error.what());
  }
}
Part<Fit> fit_part() {
  return Part<Fit>({
      read_by<Fit>({.name = "parameters",
                    .meaning = "values to fit",
                    .required = true,
                    .shape = Shape::list_of,
                    .keys = {{.name = "PARAMETER", .shape = Shape::map, .keys = parameter_part().keys()}}},
                   read_parameters),
      read_by<Fit>({.name = "rows",
                    .meaning = "the rows to fit on",
                    .required = true,
                    .form = "list of maps as `where` has them",
                    .shape = Shape::list_of,
                    .keys = {{.name = "ROW", .shape = Shape::entries_of, .keys = {pattern_form()}}}},
                   read_fit_rows),
      two_words(&Fit::log_errors,
                {.name = "errors",
                 .meaning = "what is squared and summed: log(predicted / measured), or predicted / measured - 1",
                 .choices = {"log", "relative"}},
                "log", "relative"),
  });
}

}  // namespace straggler
