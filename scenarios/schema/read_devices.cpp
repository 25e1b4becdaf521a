#include <algorithm>

#include "scenarios/schema/costs_part.hpp"
#include "scenarios/schema/other_names.hpp"
#include "scenarios/schema/part.hpp"
#include "scenarios/schema/read_parts.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {

namespace {

Part<ComputeSpec> affine_part() {
  return Part<ComputeSpec>({
      field(&ComputeSpec::overhead, {.name = "overhead",
                                     .type = ValueType::time,
                                     .range = any_time(),
                                     .meaning = "a mini-batch of b samples takes `overhead + b * per_sample`; not both may be 0"}),
      field(&ComputeSpec::per_sample, {.name = "per_sample", .type = ValueType::time, .range = any_time(), .meaning = "time per sample"}),
  });
}

ComputeSpec read_affine(Section affine) {
  ComputeSpec compute;
  affine_part().read(affine, compute);
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

ScenarioKey launch_key() {
  return {.name = "launch", .type = ValueType::time, .range = any_time(), .meaning = "only with `table`: no computation takes less"};
}
ScenarioKey forward_key() {
  return {.name = "forward_fraction",
          .type = ValueType::fraction,
          .range = Range{0, 1, true, true},
          .meaning = "forward's part of a batch's time; the rest is backward, which makes gradients ready layer by layer",
          .otherwise = "1/3"};
}

Part<HalfRates> half_part() {
  const std::string otherwise = "the profile's, or the roofline's";
  return Part<HalfRates>({
      field(&HalfRates::peak, {.name = "peak",
                               .type = ValueType::flops,
                               .range = any_peak(),
                               .meaning = "dense, without sparsity",
                               .otherwise = "required, or the profile's"}),
      field(&HalfRates::efficiency, {.name = "efficiency",
                                     .type = ValueType::fraction,
                                     .range = Range::above_to(0, 1),
                                     .meaning = "share of that peak",
                                     .otherwise = otherwise}),
      field(&HalfRates::dense_efficiency, {.name = "dense_efficiency",
                                           .type = ValueType::fraction,
                                           .range = Range::above_to(0, 1),
                                           .meaning = "the same of linear layers and attention",
                                           .otherwise = otherwise + ", or `efficiency`"}),
      field(
          &HalfRates::launch,
          {.name = "launch", .type = ValueType::time, .range = any_time(), .meaning = "added to each computation", .otherwise = otherwise}),
      written_if<HalfRates>([](const HalfRates& rates) { return rates.issue > 0; },
                            field(&HalfRates::issue, {.name = "issue",
                                                      .type = ValueType::time,
                                                      .range = any_time(),
                                                      .meaning = "the host's time to issue one operation",
                                                      .otherwise = otherwise})),
  });
}

/// The values of `key` (fp16 or bf16), over those of the spec. Efficiency and launch default to the roofline's.
Field<ComputeSpec> half_field(const char* key, const char* when, std::optional<HalfRates> ComputeSpec::*member) {
  Field<ComputeSpec> made = map(member, {.name = key, .meaning = when, .otherwise = "the profile's, or none"}, half_part());
  made.read = [key, member](Section& roofline, ComputeSpec& whole) {
    Section half = roofline.section(key);
    if (!half.given()) return;
    const std::optional<HalfRates>& base = whole.*member;
    HalfRates rates = base.value_or(HalfRates{0, whole.efficiency, whole.launch, whole.issue, whole.dense_efficiency});
    if (!base) half.require("peak", "write a compute rate such as 125TFLOPS: dense, without sparsity");
    half_part().read(half, rates);
    half.finish();
    whole.*member = rates;
  };
  return made;
}

Part<ComputeSpec> roofline_part() {
  return Part<ComputeSpec>({
      field(&ComputeSpec::peak, {.name = "peak",
                                 .type = ValueType::flops,
                                 .range = any_peak(),
                                 .meaning = "FP32 operations a second; a batch takes `launch + max(FLOPs / (peak * efficiency), bytes / "
                                            "memory_bandwidth, operations * issue)`, counted from the model's layers",
                                 .otherwise = "required, or the profile's"}),
      field(&ComputeSpec::efficiency, {.name = "efficiency",
                                       .type = ValueType::fraction,
                                       .range = Range::above_to(0, 1),
                                       .meaning = "share of the peak that training reaches",
                                       .otherwise = "`1`, or the profile's"}),
      field(&ComputeSpec::dense_efficiency,
            {.name = "dense_efficiency",
             .type = ValueType::fraction,
             .range = Range::above_to(0, 1),
             .meaning = "the same of linear layers and attention; `efficiency` is then that of convolutions",
             .otherwise = "`efficiency`, or the profile's"}),
      field(&ComputeSpec::memory_bandwidth, {.name = "memory_bandwidth",
                                             .type = ValueType::rate,
                                             .range = any_rate(),
                                             .meaning = "bandwidth of the device's memory",
                                             .otherwise = "required, or the profile's"}),
      field(&ComputeSpec::memory_efficiency,
            {.name = "memory_efficiency",
             .type = ValueType::fraction,
             .range = Range::above_to(0, 1),
             .meaning = "share of it at which activations move; their time and that of the FLOPs then add up",
             .otherwise = "none: the slower of both governs; or the profile's"}),
      field(&ComputeSpec::launch, {.name = "launch",
                                   .type = ValueType::time,
                                   .range = any_time(),
                                   .meaning = "added to each computation",
                                   .otherwise = "`0s`, or the profile's"}),
      written_if<ComputeSpec>([](const ComputeSpec& spec) { return spec.issue > 0; },
                              field(&ComputeSpec::issue, {.name = "issue",
                                                          .type = ValueType::time,
                                                          .range = any_time(),
                                                          .meaning = "the host's time to issue one operation of the network (a layer, an "
                                                                     "activation, a pool), its backward and its update",
                                                          .otherwise = "`0s`, or the profile's"})),
      half_field("fp16", "instead of the above with `precision: fp16` or `mixed`", &ComputeSpec::fp16),
      half_field("bf16", "the same with `precision: bf16`", &ComputeSpec::bf16),
  });
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
  roofline_part().read(roofline, compute);
  roofline.finish();
  return compute;
}

/// Its keys and its text. The choice of the three forms, and the values from a profile, are read by hand.
Part<ComputeSpec> compute_part() {
  const auto form = [](ComputeSpec::Form form) { return [form](const ComputeSpec& spec) { return spec.form == form; }; };
  Field<ComputeSpec> table;
  table.key = {.name = "table",
               .meaning = "measured times by batch size, as `{32: 13ms, 128: 45ms}`; sizes 1 to 1e9, times above 0",
               .otherwise = "one of `affine`, `table` and `roofline`, or `profile`",
               .form = "map: count to time",
               .shape = ScenarioKey::Shape::other,
               .keys = {{.name = "*", .type = ValueType::time, .range = some_time()}}};
  table.write = [](Texts& out, const ComputeSpec& spec, const WriteContext&) {
    Texts texts;
    for (const auto& [samples, seconds] : spec.table) texts.emplace_back(std::to_string(samples), text_of_value(ValueType::time, seconds));
    out.emplace_back("table", flow_map(texts));
  };
  table.same = [](const ComputeSpec& a, const ComputeSpec& b) { return a.table == b.table; };
  return Part<ComputeSpec>({
      written_if<ComputeSpec>(form(ComputeSpec::Form::affine), map<ComputeSpec>({.name = "affine"}, affine_part())),
      written_if<ComputeSpec>(form(ComputeSpec::Form::table), table),
      written_if<ComputeSpec>(form(ComputeSpec::Form::table), field(&ComputeSpec::launch, launch_key())),
      written_if<ComputeSpec>(form(ComputeSpec::Form::roofline), map<ComputeSpec>({.name = "roofline"}, roofline_part())),
      field(&ComputeSpec::forward_fraction, forward_key()),
  });
}

/// `base`: a built-in device's roofline; null: there is none.
ComputeSpec read_compute(Section compute, const ComputeSpec* base) {
  const auto part = [&](const char* key) {
    return Section(compute.context(), compute.find(key), compute.path_of(key), compute.place_of(key));
  };
  std::string forms;
  for (const char* form : {"affine", "table", "roofline"})
    if (compute.find(form) != nullptr) forms += (forms.empty() ? "" : " and ") + std::string(form);
  const std::optional<Value> forward = compute.value(forward_key().parameter()), launch = compute.value(launch_key().parameter());
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
    compute.problem("launch", "goes only with a table; with affine write it as overhead, with a roofline inside that");
  else if (launch)
    spec.launch = std::get<double>(*launch);
  if (forward) spec.forward_fraction = std::get<double>(*forward);
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

Field<DeviceSpec> every_field() {
  Field<DeviceSpec> made;
  made.key = {.name = "every",
              .meaning = "how much work shares one factor",
              .fallback = "batch",
              .form = "`batch`, `call`, `{samples: 32}` or `{time: 100ms}`",
              .choices = {"batch", "call"},
              .shape = ScenarioKey::Shape::other,
              .keys = {{.name = "samples", .type = ValueType::count, .range = Range::between(1, 1e12)},
                       {.name = "time", .type = ValueType::time, .range = Range::between(1e-9, longest_time)}}};
  made.read = [](Section& jitter, DeviceSpec& spec) {
    spec.every = read_every(jitter.context(), jitter.find("every"), jitter.path_of("every"));
  };
  made.write = [](Texts& out, const DeviceSpec& spec, const WriteContext&) {
    const JitterEvery& every = spec.every;
    std::string text = every.unit == JitterEvery::Unit::call ? "call" : "batch";
    if (every.unit == JitterEvery::Unit::time) text = flow_map({{"time", text_of_value(ValueType::time, every.seconds)}});
    if (every.unit == JitterEvery::Unit::samples) text = flow_map({{"samples", std::to_string(every.samples)}});
    out.emplace_back("every", text);
  };
  made.same = [](const DeviceSpec& a, const DeviceSpec& b) { return a.every == b.every; };
  return made;
}

Part<LoaderSpec> loader_part() {
  return Part<LoaderSpec>({
      field(&LoaderSpec::per_sample, {.name = "per_sample",
                                      .type = ValueType::time,
                                      .range = some_time(),
                                      .meaning = "time of one loader process per sample",
                                      .required = true,
                                      .remedy = "write a time such as 100us"}),
      field(&LoaderSpec::workers, {.name = "workers",
                                   .type = ValueType::count,
                                   .range = Range::between(0, 1e6),
                                   .meaning = "loader processes of a worker; `0`: it prepares each batch itself, when it needs it"}),
      field(&LoaderSpec::prefetch, {.name = "prefetch",
                                    .type = ValueType::count,
                                    .range = Range::between(1, 1e6),
                                    .meaning = "batches that each process prepares in advance"}),
      field(&LoaderSpec::start,
            {.name = "start",
             .type = ValueType::time,
             .range = any_time(),
             .meaning = "time to start one process; if given, all restart in each epoch, one after another, with nothing prepared"}),
      field(&LoaderSpec::hand_over, {.name = "hand_over",
                                     .type = ValueType::time,
                                     .range = any_time(),
                                     .meaning = "the worker's own time to take a batch from a process"}),
  });
}

Part<MemoryTraffic> traffic_part() {
  return Part<MemoryTraffic>({
      field(&MemoryTraffic::overhead,
            {.name = "overhead",
             .type = ValueType::bytes,
             .range = Range::at_least(0),
             .meaning = "a mini-batch of b samples moves `overhead + b * per_sample` bytes to and from the host's memory"}),
      field(&MemoryTraffic::per_sample,
            {.name = "per_sample", .type = ValueType::bytes, .range = Range::at_least(0), .meaning = "bytes per sample"}),
  });
}

/// Fills in the device's values from its profile. False: the profile is unknown.
bool read_profile(Section& device, DeviceSpec& spec) {
  const YamlNode* node = device.find("profile");
  if (node == nullptr) return false;
  const std::string name = device.word("profile");
  if (node->type != YamlNode::Type::scalar) return false;  // reported already
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
  device_part().read(device, spec);
  device.finish();
  const YamlNode* compute = device.find("compute");
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

/// `profile` and `compute` are read separately: the other keys build on `profile`, and `compute` needs all of them.
const Part<DeviceSpec>& device_part() {
  static const Part<DeviceSpec> part = [] {
    Field<DeviceSpec> profile =
        field(&DeviceSpec::profile, {.name = "profile",
                                     .type = ValueType::text,
                                     .meaning = "takes compute, memory and copy from it; keys beside it override single figures",
                                     .otherwise = "none",
                                     .form = "name of a built-in device"});
    profile.read = [](Section& device, DeviceSpec&) { device.find("profile"); };
    Field<DeviceSpec> compute = map(&DeviceSpec::compute, {.name = "compute"}, compute_part());
    compute.read = [](Section& device, DeviceSpec&) { device.find("compute"); };
    return Part<DeviceSpec>({
        profile,
        compute,
        kind(&DeviceSpec::jitter,
             {.name = "jitter", .meaning = "factor on compute times, below", .kind = KindGroup::jitter, .fallback_kind = "none"},
             Part<DeviceSpec>({every_field()})),
        field(&DeviceSpec::update, {.name = "update",
                                    .type = ValueType::rate,
                                    .range = any_rate(),
                                    .meaning = "bytes of parameters per second in this worker's own optimizer steps",
                                    .otherwise = "free"}),
        field(&DeviceSpec::compress, {.name = "compress",
                                      .type = ValueType::rate,
                                      .range = any_rate(),
                                      .meaning = "bytes of parameters per second while this worker encodes or decodes one message of "
                                                 "`training.compression`",
                                      .otherwise = "free"}),
        map(&DeviceSpec::loader, {.name = "loader", .otherwise = "batches are there at once"}, loader_part()),
        field(&DeviceSpec::host_to_device, {.name = "host_to_device",
                                            .type = ValueType::rate,
                                            .range = any_rate(),
                                            .meaning = "rate of copying a batch's inputs to the device",
                                            .otherwise = "free, or the profile's"}),
        field(&DeviceSpec::memory,
              {.name = "memory",
               .type = ValueType::bytes,
               .range = Range::at_least(1),
               .meaning =
                   "a batch that does not fit is refused, with what would; `check` lists what training holds ([memory](model.md#memory))",
               .otherwise = "unlimited, or the profile's"}),
        map(&DeviceSpec::memory_traffic,
            {.name = "memory_traffic",
             .meaning = "only where `workers[i].memory_bandwidth` limits a host",
             .otherwise = "the bytes of a roofline, counted from the model's layers"},
            traffic_part()),
        field(&DeviceSpec::price_per_hour,
              price_key("price of an hour of one worker, in any currency ([money and energy](money.md))", "not counted")),
        power_field(&DeviceSpec::power, "power of one worker by what it does ([money and energy](money.md))", &DeviceSpec::known_busy),
    });
  }();
  return part;
}

const HalfRates* ComputeSpec::half_rates(NumberFormat precision) const {
  if (form != Form::roofline || precision == NumberFormat::fp32) return nullptr;
  const std::optional<HalfRates>& rates = precision == NumberFormat::bf16 ? bf16 : fp16;
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
