#include "scenarios/schema/writer.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sim/base/quantity.hpp"

namespace straggler {

namespace {

/// A word as YAML: bare if nothing in it could be taken for something else, in double quotes otherwise.
std::string scalar(const std::string& text) {
  static constexpr const char* taken[] = {"true", "false", "null",  "yes",  "no",   "on",   "off",  "y",
                                          "n",    "True",  "False", "Null", "NULL", "TRUE", "FALSE"};
  constexpr const char* letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const bool plain = !text.empty() && std::string_view(letters).find(text[0]) != std::string_view::npos &&
                     text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") == std::string::npos &&
                     std::find(std::begin(taken), std::end(taken), text) == std::end(taken);
  if (plain) return text;
  std::string out = "\"";
  static constexpr char digits[] = "0123456789abcdef";
  for (const char c : text) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string time(double seconds) { return format_quantity(seconds, Dimension::time); }
std::string rate(double bytes_per_second) { return format_quantity(bytes_per_second, Dimension::rate); }
std::string number(double value) { return format_number(value); }
std::string number(std::int64_t value) { return std::to_string(value); }

/// `{key: value, …}`, in the order of add().
class FlowMap {
 public:
  FlowMap& add(const std::string& key, const std::string& value) {
    text_ += (text_.empty() ? "" : ", ") + key + ": " + value;
    return *this;
  }
  std::string text() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

FlowMap kind_map(const Kind& kind, KindGroup group, const Vocabulary& vocabulary) {
  FlowMap map;
  map.add("kind", scalar(kind.name));
  const Word* word = vocabulary.find(group, kind.name);
  for (const auto& [name, value] : kind.parameters.all()) {
    const auto matches = [&, key = &name](const Parameter& parameter) { return parameter.name == *key; };
    if (word == nullptr || std::none_of(word->parameters.begin(), word->parameters.end(), matches))
      throw std::logic_error("write_scenario: " + kind.name + " has no parameter " + name);
  }
  if (word == nullptr) return map;
  for (const Parameter& parameter : word->parameters) {
    if (!kind.parameters.has(parameter.name)) continue;
    const std::string text = format_value(parameter.type, kind.parameters.all().at(parameter.name));
    const bool words = parameter.type == ValueType::text || parameter.type == ValueType::path || parameter.type == ValueType::choice;
    map.add(parameter.name, words ? scalar(text) : text);
  }
  return map;
}

std::string link(const LinkSpec& spec) {
  return FlowMap().add("bandwidth", rate(spec.bandwidth)).add("latency", time(spec.latency)).text();
}

std::string compute(const ComputeSpec& spec) {
  if (spec.form == ComputeSpec::Form::affine)
    return FlowMap().add("affine", FlowMap().add("overhead", time(spec.overhead)).add("per_sample", time(spec.per_sample)).text()).text();
  FlowMap table;
  for (const auto& [size, seconds] : spec.table) table.add(number(size), time(seconds));
  return FlowMap().add("table", table.text()).add("launch", time(spec.launch)).text();
}

std::string every(const JitterEvery& spec) {
  if (spec.unit == JitterEvery::Unit::call) return "call";
  if (spec.unit == JitterEvery::Unit::time) return FlowMap().add("time", time(spec.seconds)).text();
  return spec.samples == 0 ? "batch" : FlowMap().add("samples", number(spec.samples)).text();
}

FlowMap jitter_map(const DeviceSpec& device, const Vocabulary& vocabulary) {
  return kind_map(device.jitter, KindGroup::jitter, vocabulary).add("every", every(device.every));
}

std::string devices(const Scenario& scenario, const Vocabulary& vocabulary) {
  std::string out = "devices:\n";
  for (const auto& [name, device] : scenario.devices) {
    out += "  " + scalar(name) + ":\n";
    out += "    compute: " + compute(device.compute) + "\n";
    out += "    jitter: " + jitter_map(device, vocabulary).text() + "\n";
    if (device.update) out += "    update: " + rate(*device.update) + "\n";
  }
  return out;
}

std::string cluster(const ClusterSpec& spec, const Vocabulary& vocabulary) {
  std::string out = "cluster:\n  workers:\n";
  for (const WorkerGroup& group : spec.workers) {
    FlowMap map;
    map.add("count", number(group.count)).add("device", scalar(group.device)).add("slowdown", number(group.slowdown));
    if (group.link) map.add("link", link(*group.link));
    out += "    - " + map.text() + "\n";
  }
  FlowMap servers;
  servers.add("count", number(spec.servers.count));
  if (spec.servers.update) servers.add("update", rate(*spec.servers.update));
  servers.add("per_message", time(spec.servers.per_message));
  if (spec.servers.link) servers.add("link", link(*spec.servers.link));
  out += "  servers: " + servers.text() + "\n  network:\n";
  out += "    topology: " + kind_map(spec.network.topology, KindGroup::topology, vocabulary).text() + "\n";
  out += "    link: " + link(spec.network.link) + "\n";
  out += "    sharing: " + scalar(spec.network.sharing) + "\n";
  FlowMap collective;
  collective.add("algorithm", scalar(spec.network.collective.algorithm)).add("fidelity", scalar(spec.network.collective.fidelity));
  if (spec.network.collective.reduce_rate) collective.add("reduce_rate", rate(*spec.network.collective.reduce_rate));
  out += "    collective: " + collective.text() + "\n";
  return out + "  faults: []\n";
}

std::string workload(const WorkloadSpec& spec, const Vocabulary& vocabulary) {
  std::string out = "workload:\n  model: " + kind_map(spec.model, KindGroup::model, vocabulary).text() + "\n";
  FlowMap data = kind_map(spec.data, KindGroup::data, vocabulary);
  data.add("partition", kind_map(spec.partition, KindGroup::partition, vocabulary).text())
      .add("reshuffle", spec.reshuffle ? "true" : "false");
  out += "  data: " + data.text() + "\n  precision: fp32\n  fuse: " + (spec.fuse ? "auto" : "off") + "\n";
  if (spec.cost.model)
    out += "  cost: " + FlowMap().add("model", kind_map(*spec.cost.model, KindGroup::model, vocabulary).text()).text() + "\n";
  if (spec.cost.bytes)
    out += "  cost: " + FlowMap().add("bytes", format_quantity(static_cast<double>(*spec.cost.bytes), Dimension::bytes)).text() + "\n";
  return out;
}

std::string stop(const StopSpec& spec) {
  FlowMap map;
  if (spec.epochs) map.add("epochs", number(*spec.epochs));
  if (spec.updates) map.add("updates", number(*spec.updates));
  if (spec.simulated_time) map.add("simulated_time", time(*spec.simulated_time));
  if (spec.target_accuracy) map.add("target_accuracy", number(*spec.target_accuracy)).add("on_target", spec.on_target);
  return map.text();
}

std::string evaluate(const EvaluateSpec& spec) {
  FlowMap map;
  if (spec.every_epochs) map.add("every", FlowMap().add("epochs", number(*spec.every_epochs)).text());
  if (spec.every_updates) map.add("every", FlowMap().add("updates", number(*spec.every_updates)).text());
  if (spec.every_simulated_time) map.add("every", FlowMap().add("simulated_time", time(*spec.every_simulated_time)).text());
  std::string thresholds;
  for (const double threshold : spec.thresholds) thresholds += (thresholds.empty() ? "" : ", ") + number(threshold);
  map.add("thresholds", "[" + thresholds + "]").add("sustain", number(spec.sustain)).add("split", scalar(spec.split));
  return map.add("train_samples", number(spec.train_samples)).text();
}

std::string training(const TrainingSpec& spec, const Vocabulary& vocabulary) {
  FlowMap batch;
  if (spec.batch.per_worker) batch.add("per_worker", number(*spec.batch.per_worker));
  if (spec.batch.global) batch.add("global", number(*spec.batch.global));
  batch.add("drop_last", spec.batch.drop_last ? "true" : "false");
  FlowMap schedule = kind_map(spec.schedule.kind, KindGroup::schedule, vocabulary);
  schedule.add("warmup", FlowMap().add("epochs", number(spec.schedule.warmup_epochs)).text());
  schedule.add("scale_with_workers", scalar(spec.schedule.scale_with_workers));
  std::string out = "training:\n  scheme: " + kind_map(spec.scheme, KindGroup::scheme, vocabulary).text() + "\n";
  out += "  batch: " + batch.text() + "\n";
  out += "  optimizer: " + kind_map(spec.optimizer, KindGroup::optimizer, vocabulary).text() + "\n";
  out += "  schedule: " + schedule.text() + "\n";
  out += "  compression: {kind: none}\n";
  out += "  stop: " + stop(spec.stop) + "\n";
  return out + "  evaluate: " + evaluate(spec.evaluate) + "\n";
}

}  // namespace

std::string write_jitter(const DeviceSpec& device, const Vocabulary& vocabulary) {
  return device.jitter.name == "none" ? "none" : jitter_map(device, vocabulary).text();
}

std::string write_scenario(const Scenario& scenario, const Vocabulary& vocabulary) {
  std::string out = "straggler: 1\n";
  out += "name: " + scalar(scenario.name) + "\n";
  out += "seed: " + std::to_string(scenario.seed) + "\n";
  out += devices(scenario, vocabulary);
  out += cluster(scenario.cluster, vocabulary);
  out += workload(scenario.workload, vocabulary);
  return out + training(scenario.training, vocabulary);
}

}  // namespace straggler
