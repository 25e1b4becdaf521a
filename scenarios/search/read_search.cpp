#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/schema/part.hpp"
#include "scenarios/search/search.hpp"
#include "scenarios/sweep/range.hpp"
#include "scenarios/sweep/read_axis.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {
namespace {

constexpr double most_repeats = 100'000, most_tries = 100'000;

/// A part of a search as it is written: of either kind.
struct WrittenSearch {
  const Sweep* sweep = nullptr;
  Metric metric;
  std::vector<Setting> over;                    // find
  std::string path = "training.scheme", along;  // crossover
  std::vector<AxisValue> between;               // crossover
  double tolerance = 0.02;                      // crossover
  std::int64_t budget = 40, grid = 9;
  std::optional<std::int64_t> repeats;
};

Metric read_metric(Section& section, bool timing_only) {
  Metric metric;
  metric.name = section.word("metric");
  metric.path = section.path_of("metric");
  metric.place = section.place_of("metric");
  const std::vector<std::string> known = known_metrics();
  if (!metric.name.empty() && !threshold_of(metric.name) && std::find(known.begin(), known.end(), metric.name) == known.end()) {
    section.problem("metric", unknown_name("metric", metric.name, known) +
                                  ", or time_to_ACCURACY_s, price_to_ACCURACY, energy_to_ACCURACY_joules or bytes_to_ACCURACY");
  }
  if (timing_only && metric_needs_math(metric.name))
    section.problem("metric", "is " + metric.name + ", which needs the math that timing_only leaves out; remove timing_only");
  const bool minimize = section.flag("minimize", false), maximize = section.flag("maximize", false);
  if (section.has("minimize") && section.has("maximize") && minimize == maximize)
    section.problem("maximize", "contradicts minimize; write one of them");
  metric.chosen = section.has("minimize") || section.has("maximize");
  metric.maximize = metric.chosen ? maximize || !(minimize || section.has("maximize")) : more_is_better(metric.name);
  return metric;
}

std::string read_end(Section& range, const char* key, const char* what) {
  const YamlNode* const node = range.require(key, std::string("write where the range ") + what);
  if (node != nullptr && node->type != YamlNode::Type::scalar) range.problem(key, "is " + what_stands(*node) + "; write a number");
  return node != nullptr && node->type == YamlNode::Type::scalar ? node->text : std::string();
}

/// A range of settings as it is written.
struct WrittenSettings {
  SettingRange range;
  std::string scale;
};

std::vector<Field<WrittenSettings>> setting_fields(const std::string& usual_scale) {
  return {
      read_by<WrittenSettings>(
          {.name = "from", .type = ValueType::text, .meaning = "lower bound", .required = true, .form = "number or quantity"},
          [](Section& range, WrittenSettings& written) { written.range.from = read_end(range, "from", "begins"); }),
      read_by<WrittenSettings>(
          {.name = "to", .type = ValueType::text, .meaning = "upper bound", .required = true, .form = "number or quantity"},
          [](Section& range, WrittenSettings& written) { written.range.to = read_end(range, "to", "ends"); }),
      field(&WrittenSettings::scale, {.name = "scale",
                                      .type = ValueType::choice,
                                      .meaning = "scale in which values are drawn, or bisected",
                                      .otherwise = usual_scale,
                                      .choices = {"linear", "log"}}),
      read_by<WrittenSettings>({.name = "whole", .type = ValueType::boolean, .meaning = "whole numbers only", .fallback = "false"},
                               [](Section& range, WrittenSettings& written) { written.range.whole = range.flag("whole", false); }),
  };
}

Part<WrittenSettings> settings_part() { return Part<WrittenSettings>(setting_fields("`linear`")); }

/// {from, to, scale: linear | log, whole}; the default scale is log if `decades` and the range spans a decade.
std::optional<Setting> read_setting_range(Section range, const std::string& path, bool decades, double resolution) {
  WrittenSettings given;
  settings_part().read(range, given);
  range.finish();
  SettingRange& written = given.range;
  const std::string& scale = given.scale;
  if (written.from.empty() || written.to.empty()) return std::nullopt;
  const auto from = parse_range_end(written.from), to = parse_range_end(written.to);
  written.logarithmic = scale == "log" || (scale.empty() && decades && from && to && from->value > 0 && to->value >= 10 * from->value);
  try {
    return Setting::range(path, written, range.place(), resolution);
  } catch (const SettingError& error) {
    range.problem(error.key, error.what());
    return std::nullopt;
  }
}

void refuse_swept(Section& section, std::string_view key, Place place, const std::string& path, const Sweep& sweep) {
  const std::vector<std::string> swept = sweep.columns();
  if (std::find(swept.begin(), swept.end(), path) != swept.end())
    section.context().problems.add(place, section.path_of(key), path + " is varied by the axes, too; name each path once");
}

std::optional<Setting> read_setting(Section& over, const YamlNode& node, const YamlNode::Key& key) {
  const std::string where = over.path_of(key.name);
  if (node.type == YamlNode::Type::map) return read_setting_range(Section(over.context(), &node, where, node.place), key.name, false, 1e-3);
  if (node.type == YamlNode::Type::sequence) {
    std::vector<AxisValue> values = read_axis(over.context(), node, where);
    return values.empty() ? std::nullopt : std::optional(Setting::choices(key.name, std::move(values)));
  }
  over.context().problems.add(node.place, where,
                              "is " + what_stands(node) + "; write a range such as {from: 1, to: 64, whole: true}, or a list");
  return std::nullopt;
}

void read_over(Section& section, WrittenSearch& written) {
  section.require("over", "write the settings to choose, as over: {training.optimizer.learning_rate: {from: 0.001, to: 1, scale: log}}");
  Section over = section.section("over");
  if (!over.given() || over.node()->type != YamlNode::Type::map) return;
  for (std::size_t i = 0; i < over.node()->items.size(); ++i) {
    const YamlNode::Key& key = over.node()->keys[i];
    over.find(key.name);
    refuse_swept(over, key.name, key.place, key.name, *written.sweep);
    if (auto setting = read_setting(over, over.node()->items[i], key)) written.over.push_back(std::move(*setting));
  }
  if (over.node()->items.empty()) section.problem("over", "is empty; write at least one path with its range");
}

std::vector<Field<WrittenSearch>> metric_fields() {
  return {
      read_by<WrittenSearch>(
          {.name = "metric",
           .type = ValueType::text,
           .meaning =
               "a number of `summary.json`, or `time_to_ACCURACY_s`, `price_to_ACCURACY`, `energy_to_ACCURACY_joules`, `bytes_to_ACCURACY`",
           .otherwise = "the time to the target, or samples per second",
           .form = "name"},
          [](Section& section, WrittenSearch& written) { written.metric = read_metric(section, written.sweep->timing_only); }),
      read_before<WrittenSearch>(
          {.name = "minimize", .type = ValueType::boolean, .meaning = "less is better", .otherwise = "as the metric has it"}),
      read_before<WrittenSearch>(
          {.name = "maximize", .type = ValueType::boolean, .meaning = "more is better", .otherwise = "as the metric has it"}),
      field(&WrittenSearch::repeats, {.name = "repeats",
                                      .type = ValueType::count,
                                      .range = Range::between(1, most_repeats),
                                      .meaning = "runs of each setting",
                                      .otherwise = "the sweep's"}),
  };
}

Part<WrittenSearch> find_part() {
  using Shape = ScenarioKey::Shape;
  std::vector<Field<WrittenSearch>> fields = metric_fields();
  const ScenarioKey range{.name = "RANGE", .shape = Shape::map, .keys = settings_part().keys()};
  const ScenarioKey path{.name = "PATH", .shape = Shape::one_of, .keys = {range, axis_forms().front()}};
  fields.push_back(read_by<WrittenSearch>({.name = "over",
                                           .meaning = "the settings to choose",
                                           .required = true,
                                           .form = "map from paths to ranges or lists",
                                           .shape = Shape::entries_of,
                                           .keys = {path}},
                                          read_over));
  fields.push_back(field(&WrittenSearch::budget, {.name = "budget",
                                                  .type = ValueType::count,
                                                  .range = Range::between(1, most_tries),
                                                  .meaning = "number of settings to try, each `repeats` times"}));
  return Part<WrittenSearch>(std::move(fields));
}

FindSpec read_find(Section section, const Sweep& sweep) {
  WrittenSearch written;
  written.sweep = &sweep;
  find_part().read(section, written);
  section.finish();
  return {std::move(written.metric), std::move(written.over), static_cast<std::size_t>(written.budget),
          written.repeats.value_or(sweep.repeats)};
}

/// The part of a range to which values are rounded: a tenth of the tolerance.
double fine(const YamlNode* from, const YamlNode* to, double tolerance) {
  const auto value = [](const YamlNode* end) { return end ? parse_range_end(end->text).value_or(RangeEnd{}).value : 0; };
  const double low = value(from), high = value(to);
  return low > 0 && high > low ? std::min(1e-3, tolerance / 10 / std::log(high / low)) : tolerance * 1e-3;
}

void read_between(Section& section, WrittenSearch& written) {
  refuse_swept(section, "between", section.place_of("between"), written.path, *written.sweep);
  const YamlNode* const between = section.require("between", "write the two to compare, as between: [asgd, ssgd]");
  if (between == nullptr) return;
  written.between = read_axis(section.context(), *between, section.path_of("between"));
  if (between->type == YamlNode::Type::sequence && !between->items.empty() && written.between.size() != 2)
    section.problem("between", fmt::format("has {} {}; write the two to compare, as [asgd, ssgd]", written.between.size(),
                                           written.between.size() == 1 ? "entry" : "entries"));
}

void read_along(Section& section, WrittenSearch& written) {
  section.require("along", "write the path path that is varied, as along: cluster.network.link.bandwidth");
  written.along = section.word("along");
  refuse_swept(section, "along", section.place_of("along"), written.along, *written.sweep);
  if (!written.along.empty() && written.along == written.path)
    section.problem("along", "is the setting that is compared; write the path of another setting");
}

Part<WrittenSearch> crossover_part() {
  std::vector<Field<WrittenSearch>> fields = metric_fields();
  fields.push_back(
      field(&WrittenSearch::path,
            {.name = "path", .type = ValueType::text, .meaning = "path of the two values to compare", .form = "path of the scenario"}));
  ScenarioKey between = axis_forms().front();
  between.name = "between";
  between.meaning = "the two to compare";
  between.required = true;
  fields.push_back(read_by<WrittenSearch>(between, read_between));
  fields.push_back(read_by<WrittenSearch>(
      {.name = "along", .type = ValueType::text, .meaning = "path that is varied", .required = true, .form = "path of the scenario"},
      read_along));
  fields.push_back(
      field(&WrittenSearch::tolerance, {.name = "tolerance",
                                        .type = ValueType::fraction,
                                        .range = Range::between(1e-6, 0.5),
                                        .meaning = "width of the interval that contains the crossing, relative to its upper end"}));
  fields.push_back(
      field(&WrittenSearch::grid,
            {.name = "grid", .type = ValueType::count, .range = Range::between(2, 10'000), .meaning = "values to look at first"}));
  return Part<WrittenSearch>(std::move(fields));
}

std::vector<ScenarioKey> crossover_keys() {
  std::vector<ScenarioKey> keys = crossover_part().keys();
  for (const Field<WrittenSettings>& each : setting_fields("`log` if the range spans a decade")) keys.push_back(each.key);
  return keys;
}

std::optional<CrossoverSpec> read_crossover(Section section, const Sweep& sweep) {
  WrittenSearch written;
  written.sweep = &sweep;
  crossover_part().read(section, written);
  const double resolution = fine(section.find("from"), section.find("to"), written.tolerance);
  auto along = read_setting_range(section, written.along, true, resolution);  // takes its own keys, and refuses the rest
  if (!along) return std::nullopt;
  return CrossoverSpec{std::move(written.metric),
                       std::move(written.path),
                       std::move(written.between),
                       std::move(*along),
                       written.tolerance,
                       static_cast<std::size_t>(written.grid),
                       written.repeats.value_or(sweep.repeats)};
}

void read_more(Section& top, SearchFile& search, const Sweep& sweep) {
  const bool find = top.has("find"), crossover = top.has("crossover");
  top.find("find");
  top.find("crossover");
  if (find && crossover) {
    top.problem("crossover", "cannot be combined with find; put one of them in a separate file");
    return;
  }
  if ((find || crossover) && sweep.until) top.problem("until_ci", "works with axes only; a search has a fixed number of repeats");
  if (find) search.find = read_find(top.section("find"), sweep);
  if (crossover) search.crossover = read_crossover(top.section("crossover"), sweep);
}

std::string described(const Setting& setting) {
  return setting.path() + ": " + setting.value(0).yaml + " to " + setting.value(1).yaml + (setting.logarithmic() ? ", log" : "") +
         (setting.count() > 0 ? ", " + std::to_string(setting.count()) + " values" : "");
}

std::string described(const Metric& metric) {
  return (metric.name.empty() ? "the usual metric" : metric.name) + (metric.chosen ? metric.maximize ? ", most" : ", least" : "");
}

}  // namespace

std::vector<ScenarioKey> search_file_keys() {
  using Shape = ScenarioKey::Shape;
  std::vector<ScenarioKey> keys = sweep_keys();
  keys.push_back({.name = "find", .meaning = "searches for the best setting", .shape = Shape::map, .keys = find_part().keys()});
  keys.push_back({.name = "crossover",
                  .meaning = "searches for the value at which the winner changes",
                  .shape = Shape::map,
                  .keys = crossover_keys()});
  return keys;
}

SearchFile read_search(const std::filesystem::path& file) {
  SearchFile search;
  search.sweep = read_sweep(file, [&](Section& top, Sweep& sweep) { read_more(top, search, sweep); });
  return search;
}

Description describe_search(const SearchFile& search) {
  Description description;
  if (const auto& find = search.find) {
    description.add(Described::find, fmt::format("{}, {} settings, {} repeats", described(find->metric), find->budget, find->repeats));
    for (const Setting& setting : find->over) description.add(Described::find_over, described(setting));
  }
  if (const auto& crossover = search.crossover) {
    description.add(Described::crossover, fmt::format("{}, {} repeats, grid {}, tolerance {}", described(crossover->metric),
                                                      crossover->repeats, crossover->grid, crossover->tolerance));
    for (const AxisValue& each : crossover->between) description.add(Described::crossover_value, crossover->path + ": " + each.yaml);
    description.add(Described::crossover_along, described(crossover->along));
  }
  return description;
}

}  // namespace straggler
