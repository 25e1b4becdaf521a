#include <algorithm>

#include "scenarios/schema/other_names.hpp"
#include "scenarios/schema/read_parts.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {

namespace {

ComputeSpec read_affine(Section affine) {
  ComputeSpec compute;
  compute.overhead = affine.measure("overhead", ValueType::time, any_time()).value_or(0);
  compute.per_sample = affine.measure("per_sample", ValueType::time, any_time()).value_or(0);
  affine.finish();
  const bool both_read = affine.has("overhead") || affine.has("per_sample");
  if (compute.overhead < 1e-12 && compute.per_sample < 1e-12 && (affine.node()->items.empty() || both_read) &&
      !affine.misspelt({"overhead", "per_sample"}))
    affine.context().problems.add(affine.place(), affine.path(),
                                  "takes no time at all; write overhead: 2ms, per_sample: 0.35ms or the like");
  return compute;
}

ComputeSpec read_table(ReadContext& context, const YamlNode& node, const std::string& path) {
  ComputeSpec compute;
  compute.form = ComputeSpec::Form::table;
  if (node.type != YamlNode::Type::map || node.items.empty()) {
    context.problems.add(node.place, path,
                         "is " + std::string(node.items.empty() && node.type == YamlNode::Type::map ? "empty" : what_stands(node)) +
                             "; write a map from batch sizes to times such as {32: 13ms, 128: 45ms}");
    return compute;
  }
  Parameter size, seconds;
  size.type = ValueType::count;
  size.range = Range::between(1, 1e9);
  seconds.type = ValueType::time;
  seconds.range = some_time();
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    YamlNode key;
    key.type = YamlNode::Type::scalar;
    key.text = node.keys[i].name;
    key.place = node.keys[i].place;
    if (const std::string spaced = with_blank_after_colon(key.text); !spaced.empty()) {
      context.problems.add(key.place, path,
                           "has " + in_quotes(key.text) + "; write " + in_quotes(spaced) + ", with a blank after the colon");
      continue;
    }
    const std::string where = path + "." + key.text.substr(0, 20);
    const std::optional<Value> samples = read_value(context, key, where, size), time = read_value(context, node.items[i], where, seconds);
    if (samples && time) compute.table.emplace_back(std::get<std::int64_t>(*samples), std::get<double>(*time));
  }
  std::sort(compute.table.begin(), compute.table.end());
  const auto twice =
      std::adjacent_find(compute.table.begin(), compute.table.end(), [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice != compute.table.end())
    context.problems.add(node.place, path, "has the batch size " + std::to_string(twice->first) + " twice; keep one");
  return compute;
}

Range any_peak() { return Range::between(1e6, 1e24); }

/// What `key` (fp16 or bf16) says over `base`; without it, `base`. Efficiency and launch are `roofline`'s where nothing says otherwise.
std::optional<HalfRates> read_half_rates(Section& roofline, const char* key, const std::optional<HalfRates>& base,
                                         const ComputeSpec& whole) {
  Section half = roofline.section(key);
  if (!half.given()) return base;
  HalfRates rates = base.value_or(HalfRates{0, whole.efficiency, whole.launch});
  if (!base) half.require("peak", "write a compute rate such as 125TFLOPS: dense, without sparsity");
  rates.peak = half.measure("peak", ValueType::flops, any_peak()).value_or(rates.peak);
  rates.efficiency = half.measure("efficiency", ValueType::fraction, Range::above_to(0, 1)).value_or(rates.efficiency);
  rates.launch = half.measure("launch", ValueType::time, any_time()).value_or(rates.launch);
  half.finish();
  return rates;
}

/// `base`: a roofline (a built-in device's), whose figures stand where none is written; null: peak and memory_bandwidth must be.
ComputeSpec read_roofline(Section roofline, const ComputeSpec* base) {
  ComputeSpec compute;
  if (base != nullptr) compute = *base;
  compute.form = ComputeSpec::Form::roofline;
  if (base == nullptr) {
    roofline.require("peak", "write a compute rate such as 14TFLOPS");
    roofline.require("memory_bandwidth", "write a rate such as 900GB/s");
  }
  compute.peak = roofline.measure("peak", ValueType::flops, any_peak()).value_or(compute.peak);
  compute.efficiency = roofline.measure("efficiency", ValueType::fraction, Range::above_to(0, 1)).value_or(compute.efficiency);
  compute.memory_bandwidth = roofline.measure("memory_bandwidth", ValueType::rate, any_rate()).value_or(compute.memory_bandwidth);
  compute.launch = roofline.measure("launch", ValueType::time, any_time()).value_or(compute.launch);
  compute.fp16 = read_half_rates(roofline, "fp16", compute.fp16, compute);
  compute.bf16 = read_half_rates(roofline, "bf16", compute.bf16, compute);
  roofline.finish();
  return compute;
}

/// `base`: a built-in device's roofline; null: there is none.
ComputeSpec read_compute(Section compute, const ComputeSpec* base) {
  const auto part = [&](const char* key) {
    return Section(compute.context(), compute.find(key), compute.path_of(key), compute.place_of(key));
  };
  std::string forms;
  for (const char* form : {"affine", "table", "roofline"})
    if (compute.find(form) != nullptr) forms += (forms.empty() ? "" : " and ") + std::string(form);
  const std::optional<double> forward = compute.measure("forward_fraction", ValueType::fraction, Range{0, 1, true, true});
  const std::optional<double> launch = compute.measure("launch", ValueType::time, any_time());
  compute.finish();
  ComputeSpec spec;
  if (base != nullptr) spec = *base;
  const auto problem = [&](const std::string& what) { compute.context().problems.add(compute.place(), compute.path(), what); };
  if (forms.find(' ') != std::string::npos)
    problem("has both " + forms + "; keep one");
  else if (forms == "affine")
    spec = read_affine(part("affine"));
  else if (forms == "table")
    spec = read_table(compute.context(), *compute.find("table"), compute.path_of("table"));
  else if (forms == "roofline")
    spec = read_roofline(part("roofline"), base);
  else if (base == nullptr && !compute.misspelt({"affine", "table", "roofline"}))
    problem("does not say how long a batch takes; write affine: {overhead: 2ms, per_sample: 0.35ms} or table: {32: 13ms, 128: 45ms}");
  if (compute.has("launch") && !compute.has("table") && !compute.misspelt({"table"}))
    compute.problem("launch", "stands beside a table only; with affine write it as overhead, with a roofline inside that");
  else if (launch)
    spec.launch = *launch;
  if (forward) spec.forward_fraction = *forward;
  return spec;
}

JitterEvery read_every(ReadContext& context, const YamlNode* node, const std::string& path) {
  JitterEvery every;
  if (node == nullptr) return every;
  if (node->type == YamlNode::Type::scalar && node->text == "call") {
    every.unit = JitterEvery::Unit::call;
    return every;
  }
  if (node->type == YamlNode::Type::scalar && node->text == "batch") return every;
  if (node->type != YamlNode::Type::map || node->items.size() != 1) {
    context.problems.add(node->place, path, "is " + what_stands(*node) + "; write batch, call, {samples: 32} or {time: 100ms}");
    return every;
  }
  Section section(context, node, path, node->place);
  if (const auto samples = section.count("samples", Range::between(1, 1e12))) {
    every.unit = JitterEvery::Unit::samples;
    every.samples = *samples;
  }
  if (const auto time = section.measure("time", ValueType::time, Range::between(1e-9, longest_time))) {
    every.unit = JitterEvery::Unit::time;
    every.seconds = *time;
  }
  section.finish();
  return every;
}

std::optional<LoaderSpec> read_loader(Section loader) {
  if (!loader.given()) return std::nullopt;
  LoaderSpec spec;
  spec.per_sample = loader.required_measure("per_sample", ValueType::time, some_time(), "write a time such as 100us");
  spec.workers = loader.count("workers", Range::between(0, 1e6)).value_or(spec.workers);
  spec.prefetch = loader.count("prefetch", Range::between(1, 1e6)).value_or(spec.prefetch);
  spec.start = loader.measure("start", ValueType::time, any_time()).value_or(0);
  spec.hand_over = loader.measure("hand_over", ValueType::time, any_time()).value_or(0);
  loader.finish();
  return spec;
}

/// Fills in what the device has from its profile. False: it names none that is known.
bool read_profile(Section& device, DeviceSpec& spec) {
  const YamlNode* node = device.find("profile");
  if (node == nullptr) return false;
  const std::string name = device.word("profile");
  if (node->type != YamlNode::Type::scalar) return false;  // said
  const std::optional<DeviceSpec> built_in = built_in_device(device.context(), name);
  if (built_in)
    spec = *built_in;
  else
    device.context().problems.add(
        node->place, device.path_of("profile"),
        unknown_kind(KindGroup::device, name_of(KindGroup::device), name, device.context().vocabulary.names(KindGroup::device)));
  return built_in.has_value();
}

DeviceSpec read_device(Section device) {
  DeviceSpec spec;
  ReadContext& context = device.context();
  const bool profile = read_profile(device, spec);
  const YamlNode* compute = device.find("compute");
  spec.jitter = read_kind(context, device.find("jitter"), device.path_of("jitter"), device.place_of("jitter"), KindGroup::jitter, "none",
                          [&](Section& jitter) { spec.every = read_every(context, jitter.find("every"), jitter.path_of("every")); });
  spec.update = device.measure("update", ValueType::rate, any_rate());
  spec.loader = read_loader(device.section("loader"));
  if (const auto copy = device.measure("host_to_device", ValueType::rate, any_rate())) spec.host_to_device = copy;
  if (const auto memory = device.measure("memory", ValueType::bytes, Range::at_least(1))) spec.memory = memory;
  device.finish();
  const bool meant_profile = profile || device.has("profile") || device.misspelt({"profile"});
  if (compute != nullptr) {
    const ComputeSpec base = spec.compute;
    spec.compute =
        read_compute(Section(context, compute, device.path_of("compute"), device.place_of("compute")), meant_profile ? &base : nullptr);
  } else if (!meant_profile && !device.misspelt({"compute"})) {
    device.problem("compute",
                   "is missing; write compute: {affine: {overhead: 2ms, per_sample: 0.35ms}} or compute: {table: {32: 13ms, 128: 45ms}}, "
                   "or profile: NAME for a built-in device");
  }
  return spec;
}

}  // namespace

const HalfRates* ComputeSpec::half_rates(std::string_view precision) const {
  if (form != Form::roofline || precision == "fp32") return nullptr;
  const std::optional<HalfRates>& rates = precision == "bf16" ? bf16 : fp16;
  return rates ? &*rates : nullptr;
}

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > 100) return false;
  return text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == std::string_view::npos;
}

std::optional<DeviceSpec> built_in_device(ReadContext& context, const std::string& name) {
  const Word* word = context.vocabulary.find(KindGroup::device, name);
  if (word == nullptr || !word->fill) return std::nullopt;
  DeviceSpec spec;
  word->fill(spec);
  spec.jitter = read_kind(context, nullptr, "devices." + name + ".jitter", Place{}, KindGroup::jitter, "none");
  return spec;
}

std::map<std::string, DeviceSpec> read_devices(Section devices) {
  std::map<std::string, DeviceSpec> all;
  for (const YamlNode::Key& key : devices.node()->keys) {
    if (!is_name(key.name))
      devices.context().problems.add(key.place, devices.path_of(key.name.substr(0, 60)),
                                     "is not a name; write letters, digits, - and _, at most 100");
    all[key.name] = read_device(Section(devices.context(), devices.node()->find(key.name), devices.path_of(key.name), key.place));
  }
  return all;
}

}  // namespace straggler
