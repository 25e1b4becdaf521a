#include "scenarios/serve/knobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "scenarios/schema/reader.hpp"
#include "scenarios/schema/writer.hpp"
#include "scenarios/serve/cluster_edits.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/units.hpp"
#include "sim/cluster/compute.hpp"
#include "sim/training/scheme.hpp"

namespace straggler {

using Json = nlohmann::ordered_json;

namespace {

constexpr double least_bandwidth = 1.25e5, most_bandwidth = 5e10;  // 1 Mbps, 400 Gbps
constexpr double least_latency = 1e-7, most_latency = 1;
constexpr std::int64_t usual_most_workers = 1024, usual_most_batch = 4096;
constexpr double usual_most_times_slower = 20;
constexpr double most_count = 9e15;

bool is_number(ValueType type) {
  if (const DimensionRow* const row = row_of(type)) return !row->bare;
  return type == ValueType::count || type == ValueType::number || type == ValueType::fraction;
}

/// Paths and texts are not offered: a knob must not read files.
bool is_offered(ValueType type) { return is_number(type) || type == ValueType::choice || type == ValueType::boolean; }

double number_of(const Value& value) {
  if (const auto* count = std::get_if<std::int64_t>(&value)) return static_cast<double>(*count);
  return std::get<double>(value);
}

struct Span {
  double low, high;
  bool logarithmic;
};

double usual_value(ValueType type) {
  if (const DimensionRow* const row = row_of(type)) return row->usual;
  switch (type) {
    case ValueType::count:
      return 8;
    case ValueType::fraction:
      return 0.5;
    default:
      return 1;
  }
}

/// Around `reference`, within the parameter's bounds.
Span span_of(const Parameter& parameter, double reference) {
  const Range& range = parameter.range;
  Span span{0, 1, false};
  if (parameter.type == ValueType::count) {
    span = {0, std::max(64.0, 8 * reference), false};
  } else if (parameter.type == ValueType::number) {
    span = reference > 0 ? Span{reference / 20, 20 * reference, true} : Span{0, 10, false};
  } else if (parameter.type != ValueType::fraction) {
    const double around = reference > 0 ? reference : usual_value(parameter.type);
    span = {around / 100, 100 * around, true};
  }
  span.low = std::max(span.low, range.low);
  span.high = std::min(span.high, range.high);
  const double margin = (span.high - span.low) / 1000;
  if (range.low_open && span.low == range.low) span.low += margin;
  if (range.high_open && span.high == range.high) span.high -= margin;
  span.logarithmic = span.logarithmic && span.low > 0;
  return span;
}

/// As the page's script knows it.
const char* type_name(ValueType type) {
  if (const DimensionRow* const row = row_of(type)) return row->on_page;
  switch (type) {
    case ValueType::count:
      return "count";
    case ValueType::fraction:
      return "share";
    case ValueType::boolean:
      return "switch";
    case ValueType::choice:
      return "choice";
    default:
      return "number";
  }
}

std::string spoken(std::string_view name) {
  std::string words(name);
  std::ranges::replace(words, '_', ' ');
  std::ranges::replace(words, '.', ' ');
  return words;
}

/// A value of every required parameter: the smallest one that is allowed and at least 1, and so on by type.
Parameters with_required(const std::vector<Parameter>& declared) {
  Parameters given;
  for (const Parameter& parameter : declared) {
    if (!parameter.required) continue;
    const double one = std::clamp(1.0, parameter.range.low, parameter.range.high);
    if (parameter.type == ValueType::count)
      given.set(parameter.name, static_cast<std::int64_t>(one));
    else if (is_number(parameter.type))
      given.set(parameter.name, one);
    else if (parameter.type == ValueType::choice)
      given.set(parameter.name, parameter.choices.front());
  }
  return given;
}

bool is_hidden(const Parameter& parameter, const Scenario& scenario, const SchemeEntry* scheme) {
  if (!is_offered(parameter.type)) return true;
  if (parameter.name == "on_failure") return scenario.cluster.faults.empty();
  return scheme && scheme->with_compression.contains(parameter.name) && scenario.training.compression.name == "none";
}

/// A knob for each parameter of `kind` that can be turned. `prefix`: "scheme."
void add_parameters(std::vector<Knob>& knobs, const std::string& prefix, const std::vector<Parameter>& declared, const Kind& kind,
                    const Kind& base, const Scenario& scenario, const SchemeEntry* scheme) {
  for (const Parameter& parameter : declared) {
    if (is_hidden(parameter, scenario, scheme)) continue;
    const Parameters& given = kind.parameters;
    Knob knob{prefix + parameter.name, spoken(parameter.name), parameter.meaning, parameter.type};
    knob.is_set = given.has(parameter.name);
    if (is_number(parameter.type)) {
      double reference = usual_value(parameter.type);
      if (base.name == kind.name && base.parameters.has(parameter.name))
        reference = base.parameters.number(parameter.name);
      else if (parameter.fallback)
        reference = number_of(parse_value(parameter, *parameter.fallback));
      const Span span = span_of(parameter, reference);
      knob.value = knob.is_set ? given.number(parameter.name) : span.low;
      knob.low = std::min(span.low, knob.value);
      knob.high = std::max(span.high, knob.value);
      knob.logarithmic = span.logarithmic && knob.low > 0;
    } else if (parameter.type == ValueType::boolean) {
      knob.on = knob.is_set && given.flag(parameter.name);
    } else {
      knob.choices = parameter.choices;
      if (knob.is_set) knob.chosen = given.text(parameter.name);
    }
    knobs.push_back(std::move(knob));
  }
}

const DeviceSpec& first_device(const Scenario& scenario) { return scenario.devices.at(scenario.cluster.workers.front().device); }

/// Kinds that need no file.
std::vector<std::string> jitter_names(const std::string& own) {
  std::vector<std::string> names;
  for (const JitterEntry& entry : Registry<JitterEntry>::instance().entries()) {
    const bool needs_file = std::ranges::any_of(entry.parameters, [](const Parameter& each) {
      return each.required && (each.type == ValueType::path || each.type == ValueType::text);
    });
    if (!needs_file || entry.name == own) names.push_back(entry.name);
  }
  return names;
}

bool has_rows(const Scenario& scenario) {
  return std::ranges::any_of(scenario.cluster.workers, [](const WorkerGroup& group) { return !group.rows.empty(); });
}

bool links_are_given(const Scenario& scenario) { return scenario.cluster.network.topology.name != "file"; }

/// The value of a knob or parameter, of its type. Throws std::invalid_argument.
Value value_of(const Parameter& parameter, const Json& given) {
  const auto refuse = [&](const std::string& right) -> Value {
    throw std::invalid_argument(fmt::format("{} is {}; it must be {}", parameter.name, given.dump(), right));
  };
  switch (parameter.type) {
    case ValueType::boolean:
      return given.is_boolean() ? Value(given.get<bool>()) : refuse("true or false");
    case ValueType::choice:
      if (!given.is_string() || std::ranges::find(parameter.choices, given.get<std::string>()) == parameter.choices.end())
        return refuse("one of " + joined(parameter.choices));
      return given.get<std::string>();
    case ValueType::count: {
      const double number = given.is_number() ? given.get<double>() : NAN;
      if (!(std::abs(number) < most_count) || number != std::floor(number)) return refuse("a whole number");
      return static_cast<std::int64_t>(number);
    }
    default:
      break;
  }
  const double number = is_number(parameter.type) && given.is_number() ? given.get<double>() : NAN;
  return std::isfinite(number) ? Value(number) : refuse("a number");
}

double number_within(const std::string& name, ValueType type, const Json& given, double low, double high) {
  const double value = number_of(value_of({.name = name, .type = type}, given));
  if (value < low || value > high)
    throw std::invalid_argument(fmt::format("{} is {:g}; it must be between {:g} and {:g}", name, value, low, high));
  return value;
}

/// The parameters of `settings` under `prefix` into `kind`.
void set_parameters(Kind& kind, const std::string& prefix, const std::vector<Parameter>& declared, const Json& settings) {
  for (const Parameter& parameter : declared) {
    const auto given = settings.find(prefix + parameter.name);
    if (given == settings.end()) continue;
    if (!is_offered(parameter.type)) throw std::invalid_argument(fmt::format("{}{} cannot be changed here", prefix, parameter.name));
    kind.parameters.set(parameter.name, value_of(parameter, *given));
  }
  try {
    kind.parameters = complete(declared, kind.parameters);
  } catch (const std::invalid_argument& wrong) {
    throw std::invalid_argument(fmt::format("{}{}", prefix, wrong.what()));
  }
}

template <class Entry>
const Entry& entry_of(const Json& name, const char* what) {
  const Registry<Entry>& registry = Registry<Entry>::instance();
  if (const Entry* entry = name.is_string() ? registry.find(name.get<std::string>()) : nullptr) return *entry;
  throw std::invalid_argument(fmt::format("{} is {}; it must be one of {}", what, name.dump(), registry.names()));
}

void set_scheme(Scenario& scenario, const Json& settings, std::vector<std::string>& notes) {
  Kind& scheme = scenario.training.scheme;
  if (const auto name = settings.find("scheme"); name != settings.end() && *name != scheme.name) {
    const SchemeEntry& entry = entry_of<SchemeEntry>(*name, "scheme");
    scheme = {entry.name, variant_of(entry, {}).parameters};
  }
  const SchemeEntry& entry = Registry<SchemeEntry>::instance().at(scheme.name);
  set_parameters(scheme, "scheme.", entry.parameters, settings);
  if (entry.needs_server(scheme.parameters) && scenario.cluster.servers.count == 0) {
    scenario.cluster.servers.count = 1;
    notes.push_back(fmt::format("{} needs a server, and the scenario has none: one is added, on a host of its own.", scheme.name));
  }
  if (entry.cell_chunks(scheme.parameters))
    for (WorkerGroup& group : scenario.cluster.workers) {
      if (group.per_host < scenario.workers()) group.per_host = scenario.workers();
      group.same_host = &group != &scenario.cluster.workers.front();
    }
}

void set_jitter(Scenario& scenario, const Json& settings) {
  const bool touched = std::ranges::any_of(settings.items(), [](const auto& item) { return item.key().starts_with("jitter"); });
  if (!touched) return;
  Kind jitter = first_device(scenario).jitter;
  if (const auto name = settings.find("jitter"); name != settings.end() && *name != jitter.name) {
    const JitterEntry& entry = entry_of<JitterEntry>(*name, "jitter");
    const std::vector<std::string> offered = jitter_names({});
    if (std::ranges::find(offered, entry.name) == offered.end())
      throw std::invalid_argument(fmt::format("jitter {} needs a file; write it in the scenario", entry.name));
    jitter = {entry.name, with_required(entry.parameters)};
  }
  set_parameters(jitter, "jitter.", Registry<JitterEntry>::instance().at(jitter.name).parameters, settings);
  for (auto& [name, device] : scenario.devices) device.jitter = jitter;
}

std::int64_t most_workers(const Scenario& base) { return std::max(usual_most_workers, 4 * base.workers()); }
std::int64_t& batch_of(BatchSpec& batch) { return batch.per_worker ? *batch.per_worker : *batch.global; }
std::int64_t most_batch(const Scenario& base) {
  BatchSpec batch = base.training.batch;
  return std::max(usual_most_batch, 4 * batch_of(batch));
}
double most_times_slower(const Scenario& base) { return std::max(usual_most_times_slower, 2 * slow_of(base).times); }

}  // namespace

Json json_of(const Knob& knob) {
  Json out = {{"key", knob.key}, {"label", knob.label}, {"meaning", knob.meaning}, {"type", type_name(knob.type)}, {"is_set", knob.is_set}};
  if (knob.type == ValueType::choice) {
    out["choices"] = knob.choices;
    if (!knob.families.empty()) out["families"] = knob.families;
    out["value"] = knob.chosen;
  } else if (knob.type == ValueType::boolean) {
    out["value"] = knob.on;
  } else {
    out["value"] = knob.value;
    out["low"] = knob.low;
    out["high"] = knob.high;
    out["logarithmic"] = knob.logarithmic;
    out["zero"] = knob.zero;
  }
  return out;
}

std::vector<Knob> knobs_of(const Scenario& now, const Scenario& base) {
  std::vector<Knob> knobs;
  const auto number = [&](const char* key, const char* label, ValueType type, double value, double low, double high, bool logarithmic) {
    Knob knob{key, label, {}, type};
    knob.value = value;
    knob.low = std::min(low, value);
    knob.high = std::max(high, value);
    knob.logarithmic = logarithmic;
    if (logarithmic) knob.low = std::min(low, value > 0 ? value : low);
    knobs.push_back(std::move(knob));
  };
  const auto choice = [&](const char* key, std::vector<std::string> choices, const std::string& chosen, const std::string& meaning) {
    Knob knob{key, key, meaning, ValueType::choice};
    knob.choices = std::move(choices);
    knob.chosen = chosen;
    knobs.push_back(std::move(knob));
  };
  number("workers", "workers", ValueType::count, static_cast<double>(now.workers()), 1, static_cast<double>(most_workers(base)), true);
  if (!has_rows(base)) {
    const Slow slow = slow_of(now);
    number("slow_workers", "slow workers", ValueType::count, static_cast<double>(slow.workers), 0, static_cast<double>(now.workers()),
           false);
    number("times_slower", "times slower", ValueType::number, slow.times, 1, most_times_slower(base), true);
  }
  if (links_are_given(base)) {
    number("bandwidth", "bandwidth", ValueType::rate, now.cluster.network.link.up, least_bandwidth, most_bandwidth, true);
    number("latency", "latency", ValueType::time, now.cluster.network.link.latency, least_latency, most_latency, true);
    knobs.back().zero = true;
  }
  BatchSpec batch = now.training.batch;
  number("batch", batch.per_worker ? "batch of a worker" : "batch of all", ValueType::count, static_cast<double>(batch_of(batch)), 1,
         static_cast<double>(most_batch(base)), true);
  const Kind &jitter = first_device(now).jitter, &scheme = now.training.scheme;
  const JitterEntry& jitter_entry = Registry<JitterEntry>::instance().at(jitter.name);
  choice("jitter", jitter_names(first_device(base).jitter.name), jitter.name, jitter_entry.summary);
  add_parameters(knobs, "jitter.", jitter_entry.parameters, jitter, first_device(base).jitter, now, nullptr);
  std::vector<const SchemeEntry*> entries;
  for (const SchemeEntry& entry : Registry<SchemeEntry>::instance().entries()) entries.push_back(&entry);
  std::ranges::stable_sort(entries, {}, [](const SchemeEntry* entry) { return entry->family; });
  std::vector<std::string> schemes, families;
  for (const SchemeEntry* const entry : entries) {
    schemes.push_back(entry->name);
    families.emplace_back(family_choice.name_of(entry->family));
  }
  const SchemeEntry& scheme_entry = Registry<SchemeEntry>::instance().at(scheme.name);
  choice("scheme", std::move(schemes), scheme.name, scheme_entry.summary);
  knobs.back().families = std::move(families);
  add_parameters(knobs, "scheme.", scheme_entry.parameters, scheme, base.training.scheme, now, &scheme_entry);
  return knobs;
}

Scenario changed(const Scenario& base, const Json& settings, std::vector<std::string>& notes) {
  if (!settings.is_object()) throw std::invalid_argument("settings must be an object of names and values");
  Scenario scenario = base;
  const auto given = [&](const char* key) { return settings.contains(key); };
  const auto number = [&](const char* key, ValueType type, double low, double high) {
    return number_within(key, type, settings.at(key), low, high);
  };
  if (given("workers"))
    set_workers(scenario, std::llround(number("workers", ValueType::count, 1, static_cast<double>(most_workers(base)))));
  if (given("slow_workers") || given("times_slower")) {
    if (has_rows(base)) throw std::invalid_argument("the workers of this scenario come from a population file, which gives their speeds");
    const Slow own = slow_of(scenario);
    const std::int64_t all = scenario.workers();
    const std::int64_t slow = given("slow_workers")
                                  ? std::llround(number("slow_workers", ValueType::count, 0, static_cast<double>(most_workers(base))))
                                  : own.workers;
    const double times = given("times_slower") ? number("times_slower", ValueType::number, 1, most_times_slower(base)) : own.times;
    set_slow_workers(scenario, std::min(slow, all), times);
  }
  if ((given("bandwidth") || given("latency")) && !links_are_given(base))
    throw std::invalid_argument("the topology of this scenario comes from a file, which gives bandwidth and latency of every cable");
  if (given("bandwidth")) set_bandwidth(scenario, number("bandwidth", ValueType::rate, 1, 1e15));
  if (given("latency")) set_latency(scenario, number("latency", ValueType::time, 0, 1e6));
  if (given("batch"))
    batch_of(scenario.training.batch) = std::llround(number("batch", ValueType::count, 1, static_cast<double>(most_batch(base))));
  set_jitter(scenario, settings);
  set_scheme(scenario, settings, notes);
  std::vector<std::string> known;
  for (const Knob& knob : knobs_of(scenario, base)) known.push_back(knob.key);
  for (const auto& [key, value] : settings.items())
    if (std::ranges::find(known, key) == known.end()) throw std::invalid_argument(unknown_name("setting", key, known));
  return read_scenario_text(write_scenario(scenario), base.file);
}

}  // namespace straggler
