#include "scenarios/schema/writer.hpp"

#include <algorithm>
#include <cmath>
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
std::string size(double bytes) { return format_quantity(bytes, Dimension::bytes); }
std::string flag(bool on) { return on ? "true" : "false"; }
std::string number(double value) { return format_number(value); }
std::string number(std::int64_t value) { return std::to_string(value); }

/// `{key: value, …}`, in the order of add().
class FlowMap {
 public:
  FlowMap& add(const std::string& key, const std::string& value) {
    texts_.emplace_back(key, value);
    return *this;
  }
  std::string text() const { return "{" + flow_text(texts_) + "}"; }

 private:
  std::vector<std::pair<std::string, std::string>> texts_;
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

FlowMap link_map(const LinkSpec& spec) {
  FlowMap map;
  if (spec.up == spec.down)
    map.add("bandwidth", rate(spec.up));
  else
    map.add("up", rate(spec.up)).add("down", rate(spec.down));
  map.add("latency", time(spec.latency));
  if (spec.burst) map.add("burst", size(*spec.burst));
  if (spec.peak) map.add("peak", rate(*spec.peak));
  return map;
}

/// On top of the network's: what it has not, but the network's has, must be written too.
std::string link_override(const LinkSpec& spec, const LinkSpec& base) {
  FlowMap map = link_map(spec);
  if (!spec.burst && base.burst) map.add("burst", size(0));
  return map.text();
}

std::string half_rates(const HalfRates& rates) {
  FlowMap map;
  map.add("peak", format_quantity(rates.peak, Dimension::compute)).add("efficiency", number(rates.efficiency));
  return map.add("launch", time(rates.launch)).text();
}

std::string compute(const ComputeSpec& spec) {
  FlowMap map;
  if (spec.form == ComputeSpec::Form::affine) {
    map.add("affine", FlowMap().add("overhead", time(spec.overhead)).add("per_sample", time(spec.per_sample)).text());
  } else if (spec.form == ComputeSpec::Form::table) {
    FlowMap table;
    for (const auto& [samples, seconds] : spec.table) table.add(number(samples), time(seconds));
    map.add("table", table.text()).add("launch", time(spec.launch));
  } else {
    FlowMap roofline;
    roofline.add("peak", format_quantity(spec.peak, Dimension::compute)).add("efficiency", number(spec.efficiency));
    roofline.add("memory_bandwidth", rate(spec.memory_bandwidth)).add("launch", time(spec.launch));
    if (spec.fp16) roofline.add("fp16", half_rates(*spec.fp16));
    if (spec.bf16) roofline.add("bf16", half_rates(*spec.bf16));
    map.add("roofline", roofline.text());
  }
  return map.add("forward_fraction", number(spec.forward_fraction)).text();
}

std::string every(const JitterEvery& spec) {
  if (spec.unit == JitterEvery::Unit::call) return "call";
  if (spec.unit == JitterEvery::Unit::time) return FlowMap().add("time", time(spec.seconds)).text();
  if (spec.unit == JitterEvery::Unit::samples) return FlowMap().add("samples", number(spec.samples)).text();
  return "batch";
}

FlowMap jitter_map(const DeviceSpec& device, const Vocabulary& vocabulary) {
  return kind_map(device.jitter, KindGroup::jitter, vocabulary).add("every", every(device.every));
}

std::string loader(const LoaderSpec& spec) {
  FlowMap map;
  map.add("per_sample", time(spec.per_sample)).add("workers", number(spec.workers)).add("prefetch", number(spec.prefetch));
  return map.add("start", time(spec.start)).add("hand_over", time(spec.hand_over)).text();
}

std::string devices(const Scenario& scenario, const Vocabulary& vocabulary) {
  std::string out = "devices:\n";
  for (const auto& [name, device] : scenario.devices) {
    out += "  " + scalar(name) + ":\n";
    if (!device.profile.empty()) out += "    profile: " + scalar(device.profile) + "\n";
    out += "    compute: " + compute(device.compute) + "\n";
    out += "    jitter: " + jitter_map(device, vocabulary).text() + "\n";
    if (device.update) out += "    update: " + rate(*device.update) + "\n";
    if (device.loader) out += "    loader: " + loader(*device.loader) + "\n";
    if (device.host_to_device) out += "    host_to_device: " + rate(*device.host_to_device) + "\n";
    if (device.memory) out += "    memory: " + size(*device.memory) + "\n";
  }
  return out;
}

std::string group(const WorkerGroup& spec, const LinkSpec& network) {
  FlowMap map;
  map.add("count", number(spec.count)).add("device", scalar(spec.device)).add("slowdown", number(spec.slowdown));
  // What belongs to the host is the group's before.
  if (spec.same_host) map.add("same_host", flag(true));
  if (spec.link && !spec.same_host) map.add("link", link_override(*spec.link, network));
  map.add("per_host", number(spec.per_host));
  if (spec.cores_per_host) map.add("cores_per_host", number(*spec.cores_per_host));
  map.add("waiting", spec.busy_waiting ? "busy" : "yield");
  if (!spec.population.empty()) map.add("population", scalar(spec.population));
  return map.text();
}

std::string servers(const ServerSpec& spec, const LinkSpec& network) {
  FlowMap map;
  map.add("count", number(spec.count));
  if (spec.update) map.add("update", rate(*spec.update));
  map.add("per_message", time(spec.per_message));
  if (spec.link) map.add("link", link_override(*spec.link, network));
  if (spec.host_of_worker) map.add("host", FlowMap().add("worker", number(*spec.host_of_worker)).text());
  return map.text();
}

std::string aggregators(const AggregatorSpec& spec, const LinkSpec& network) {
  FlowMap map;
  map.add("host", spec.host);
  if (spec.link) map.add("link", link_override(*spec.link, network));
  return map.text();
}

std::string collective(const CollectiveSpec& spec, const Vocabulary& vocabulary) {
  const bool bare = spec.parameters.all().empty();
  FlowMap map;
  map.add("algorithm",
          bare ? scalar(spec.algorithm) : kind_map({spec.algorithm, spec.parameters}, KindGroup::collective, vocabulary).text());
  map.add("fidelity", scalar(spec.fidelity));
  if (spec.fidelity == "stepwise") map.add("start", scalar(spec.start));
  if (spec.eager_up_to) map.add("eager_up_to", size(*spec.eager_up_to));
  if (spec.reduce_rate) map.add("reduce_rate", rate(*spec.reduce_rate));
  if (spec.bucket) map.add("bucket", size(*spec.bucket));
  if (spec.first_bucket) map.add("first_bucket", size(*spec.first_bucket));
  return map.add("overlap", flag(spec.overlap)).text();
}

/// A list of flow maps: `[]`, or one a line.
std::string list(const std::string& indent, const std::vector<FlowMap>& items) {
  if (items.empty()) return " []\n";
  std::string out = "\n";
  for (const FlowMap& item : items) out += indent + "- " + item.text() + "\n";
  return out;
}

std::string protocol(const ProtocolSpec& spec) {
  std::vector<FlowMap> segments;
  for (const SegmentSpec& segment : spec.segments) {
    FlowMap& map = segments.emplace_back();
    if (std::isfinite(segment.up_to)) map.add("up_to", size(segment.up_to));
    map.add("latency_factor", number(segment.latency_factor)).add("bandwidth_factor", number(segment.bandwidth_factor));
  }
  std::string handling = "\n      per_message: " + time(spec.per_message);
  if (spec.copy_rate) handling += "\n      copy_rate: " + rate(*spec.copy_rate);
  if (spec.cores) handling += "\n      cores: " + number(*spec.cores);
  return "    protocol:" + handling + "\n      segments:" + list("        ", segments);
}

std::string background(const std::vector<BackgroundSpec>& flows) {
  std::vector<FlowMap> maps;
  for (const BackgroundSpec& flow : flows) {
    FlowMap& map = maps.emplace_back();
    map.add("from", scalar(flow.from)).add("to", scalar(flow.to)).add("on", time(flow.on)).add("off", time(flow.off));
    map.add("start", time(flow.start)).add("random", flag(flow.random));
    if (flow.rate) map.add("rate", rate(*flow.rate));
  }
  return "    background:" + list("      ", maps);
}

std::string network(const NetworkSpec& spec, const Vocabulary& vocabulary) {
  std::string out = "  network:\n";
  out += "    topology: " + kind_map(spec.topology, KindGroup::topology, vocabulary).text() + "\n";
  out += "    link: " + link_map(spec.link).add("duplex", spec.half_duplex ? "half" : "full").text() + "\n";
  if (spec.intra)
    out += "    intra: " + FlowMap().add("bandwidth", rate(spec.intra->up)).add("latency", time(spec.intra->latency)).text() + "\n";
  out += "    sharing: " + kind_map(spec.sharing, KindGroup::sharing, vocabulary).text() + "\n";
  out += protocol(spec.protocol) + background(spec.background);
  return out + "    collective: " + collective(spec.collective, vocabulary) + "\n";
}

FlowMap fault(const FaultSpec& spec) {
  static constexpr const char* names[] = {"crash", "slow", "link", "join", "leave"};
  FlowMap map;
  map.add("kind", names[static_cast<std::size_t>(spec.kind)]);
  if (spec.worker >= 0) map.add("worker", number(spec.worker));
  if (spec.server >= 0) map.add("server", number(spec.server));
  if (!spec.link.empty()) map.add("link", scalar(spec.link));
  if (spec.kind == FaultSpec::Kind::slow || spec.kind == FaultSpec::Kind::link)
    map.add("from", time(spec.from)).add("to", time(spec.to));
  else
    map.add("at", time(spec.at));
  if (spec.restart_after) map.add("restart_after", time(*spec.restart_after));
  if (spec.kind == FaultSpec::Kind::slow) map.add("times_slower", number(spec.times_slower));
  if (spec.kind == FaultSpec::Kind::link) map.add("bandwidth_factor", number(spec.bandwidth_factor));
  return map;
}

std::string cluster(const ClusterSpec& spec, const Vocabulary& vocabulary) {
  std::string out = "cluster:\n  workers:\n";
  for (const WorkerGroup& workers : spec.workers) out += "    - " + group(workers, spec.network.link) + "\n";
  out += "  servers: " + servers(spec.servers, spec.network.link) + "\n";
  if (spec.aggregators != AggregatorSpec{}) out += "  aggregators: " + aggregators(spec.aggregators, spec.network.link) + "\n";
  out += network(spec.network, vocabulary);
  std::vector<FlowMap> faults;
  for (const FaultSpec& one : spec.faults) faults.push_back(fault(one));
  return out + "  faults:" + list("    ", faults);
}

std::string workload(const WorkloadSpec& spec, const Vocabulary& vocabulary) {
  FlowMap model = kind_map(spec.model, KindGroup::model, vocabulary);
  if (!spec.weights.empty()) model.add("weights", scalar(spec.weights));
  std::string out = "workload:\n";
  if (!spec.model.name.empty()) out += "  model: " + model.text() + "\n";
  FlowMap data = kind_map(spec.data, KindGroup::data, vocabulary);
  if (spec.data.name != no_data)
    data.add("partition", kind_map(spec.partition, KindGroup::partition, vocabulary).text()).add("reshuffle", flag(spec.reshuffle));
  if (spec.augment.any()) data.add("augment", FlowMap().add("crop", number(spec.augment.crop)).add("flip", flag(spec.augment.flip)).text());
  out += "  data: " + data.text() + "\n  precision: " + spec.precision + "\n";
  FlowMap scale;
  scale.add("initial", number(spec.loss_scale));
  if (spec.growth_every > 0) scale.add("growth_every", number(spec.growth_every));
  if (spec.precision == "fp16" || spec.precision == "mixed") out += "  loss_scale: " + scale.text() + "\n";
  out += "  fuse: " + std::string(spec.fuse ? "auto" : "off") + "\n";
  out += "  batch_norm: " + FlowMap().add("exchange", flag(spec.exchange_statistics)).text() + "\n";
  out += "  serial_per_epoch: " + time(spec.serial_per_epoch) + "\n";
  if (spec.cost.model)
    out += "  cost: " + FlowMap().add("model", kind_map(*spec.cost.model, KindGroup::cost_model, vocabulary).text()).text() + "\n";
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
  batch.add("drop_last", flag(spec.batch.drop_last));
  FlowMap schedule = kind_map(spec.schedule.kind, KindGroup::schedule, vocabulary);
  schedule.add("warmup", FlowMap().add("epochs", number(spec.schedule.warmup_epochs)).text());
  schedule.add("scale_with_workers", scalar(spec.schedule.scale_with_workers));
  std::string out = "training:\n  scheme: " + kind_map(spec.scheme, KindGroup::scheme, vocabulary).text() + "\n";
  out += "  batch: " + batch.text() + "\n";
  out += "  optimizer: " + kind_map(spec.optimizer, KindGroup::optimizer, vocabulary).text() + "\n";
  out += "  schedule: " + schedule.text() + "\n";
  out += "  compression: " + kind_map(spec.compression, KindGroup::compression, vocabulary).text() + "\n";
  out += "  stop: " + stop(spec.stop) + "\n";
  return out + "  evaluate: " + evaluate(spec.evaluate) + "\n";
}

}  // namespace

std::string write_jitter(const DeviceSpec& device, const Vocabulary& vocabulary) {
  return device.jitter.name == "none" ? "none" : jitter_map(device, vocabulary).text();
}

std::string write_partition(const WorkloadSpec& workload, const Vocabulary& vocabulary) {
  const Kind& kind = workload.partition;
  return kind.parameters.all().empty() ? kind.name : kind_map(kind, KindGroup::partition, vocabulary).text();
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
