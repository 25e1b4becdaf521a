#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/schema/section.hpp"
#include "scenarios/search/search.hpp"
#include "scenarios/sweep/range.hpp"
#include "scenarios/sweep/read_axis.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {
namespace {

constexpr double most_repeats = 100'000, most_tries = 100'000;

Metric read_metric(Section& section, bool timing_only) {
  Metric metric;
  metric.name = section.word("metric");
  metric.path = section.path_of("metric");
  metric.place = section.place_of("metric");
  std::vector<std::string> known = known_metrics();
  if (!metric.name.empty() && !threshold_of(metric.name) && std::find(known.begin(), known.end(), metric.name) == known.end()) {
    known.emplace_back("time_to_0.8_s");
    section.problem("metric", unknown_name("metric", metric.name, known));
  }
  if (timing_only && metric_needs_math(metric.name))
    section.problem("metric", "is " + metric.name + ", which needs the math that timing_only leaves out; remove timing_only");
  const bool minimize = section.flag("minimize", false), maximize = section.flag("maximize", false);
  if (section.has("minimize") && section.has("maximize") && minimize == maximize)
    section.problem("maximize", "says the opposite of minimize; write one of them");
  metric.chosen = section.has("minimize") || section.has("maximize");
  metric.maximize = metric.chosen ? maximize || !(minimize || section.has("maximize")) : more_is_better(metric.name);
  return metric;
}

/// {from, to, scale: linear | log, whole}; without a scale: log if it spans a decade and `decades` says so.
std::optional<Setting> read_setting_range(Section range, const std::string& path, bool decades, double resolution) {
  const auto end = [&](const char* key, const char* what) {
    const YamlNode* const node = range.require(key, std::string("write where the range ") + what);
    if (node != nullptr && node->type != YamlNode::Type::scalar) range.problem(key, "is " + what_stands(*node) + "; write a number");
    return node != nullptr && node->type == YamlNode::Type::scalar ? node->text : std::string();
  };
  SettingRange written;
  written.from = end("from", "begins");
  written.to = end("to", "ends");
  const std::string scale = range.choice("scale", {"linear", "log"}, "");
  written.whole = range.flag("whole", false);
  range.finish();
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

FindSpec read_find(Section section, const Sweep& sweep) {
  FindSpec find;
  find.metric = read_metric(section, sweep.timing_only);
  section.require("over", "write the settings to choose, as over: {training.optimizer.learning_rate: {from: 0.001, to: 1, scale: log}}");
  Section over = section.section("over");
  if (over.given() && over.node()->type == YamlNode::Type::map) {
    for (std::size_t i = 0; i < over.node()->items.size(); ++i) {
      const YamlNode::Key& key = over.node()->keys[i];
      over.find(key.name);
      refuse_swept(over, key.name, key.place, key.name, sweep);
      if (auto setting = read_setting(over, over.node()->items[i], key)) find.over.push_back(std::move(*setting));
    }
    if (over.node()->items.empty()) section.problem("over", "is empty; write at least one path with its range");
  }
  find.budget = static_cast<std::size_t>(section.count("budget", Range::between(1, most_tries)).value_or(40));
  find.repeats = section.count("repeats", Range::between(1, most_repeats)).value_or(sweep.repeats);
  section.finish();
  return find;
}

/// The part of a range to which values are rounded: a tenth of the tolerance.
double fine(const YamlNode* from, const YamlNode* to, double tolerance) {
  const auto value = [](const YamlNode* end) { return end ? parse_range_end(end->text).value_or(RangeEnd{}).value : 0; };
  const double low = value(from), high = value(to);
  return low > 0 && high > low ? std::min(1e-3, tolerance / 10 / std::log(high / low)) : tolerance * 1e-3;
}

std::optional<CrossoverSpec> read_crossover(Section section, const Sweep& sweep) {
  CrossoverSpec spec{read_metric(section, sweep.timing_only), section.word("path"), {}, Setting::choices({}, {{}}), 0.02, 9, 1};
  if (spec.path.empty()) spec.path = "training.scheme";
  refuse_swept(section, "between", section.place_of("between"), spec.path, sweep);
  const YamlNode* const between = section.require("between", "write the two to compare, as between: [asgd, ssgd]");
  if (between != nullptr) spec.between = read_axis(section.context(), *between, section.path_of("between"));
  if (between != nullptr && between->type == YamlNode::Type::sequence && !between->items.empty() && spec.between.size() != 2)
    section.problem("between", fmt::format("has {} {}; write the two to compare, as [asgd, ssgd]", spec.between.size(),
                                           spec.between.size() == 1 ? "entry" : "entries"));
  section.require("along", "write the path of what is varied, as along: cluster.network.link.bandwidth");
  const std::string along = section.word("along");
  refuse_swept(section, "along", section.place_of("along"), along, sweep);
  if (!along.empty() && along == spec.path) section.problem("along", "is what is compared, too; write the path of another setting");
  spec.tolerance = section.measure("tolerance", ValueType::fraction, Range::between(1e-6, 0.5)).value_or(0.02);
  spec.grid = static_cast<std::size_t>(section.count("grid", Range::between(2, 10'000)).value_or(9));
  spec.repeats = section.count("repeats", Range::between(1, most_repeats)).value_or(sweep.repeats);
  const double resolution = fine(section.find("from"), section.find("to"), spec.tolerance);
  auto setting = read_setting_range(section, along, true, resolution);  // takes its own keys, and refuses what nobody took
  if (!setting) return std::nullopt;
  spec.along = std::move(*setting);
  return spec;
}

void read_more(Section& top, SearchFile& search, const Sweep& sweep) {
  const bool find = top.has("find"), crossover = top.has("crossover");
  top.find("find");
  top.find("crossover");
  if (find && crossover) {
    top.problem("crossover", "stands beside find; a file has one search: write the other into a file of its own");
    return;
  }
  if ((find || crossover) && sweep.until) top.problem("until_ci", "goes with axes alone; a search has a fixed number of repeats");
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
