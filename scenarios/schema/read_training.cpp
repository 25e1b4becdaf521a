#include <algorithm>
#include <cmath>

#include "scenarios/schema/read_parts.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {

namespace {

constexpr double most_updates = 1e15, most_epochs = 1e9, most_samples = 1e15;

BatchSpec read_batch(Section batch) {
  BatchSpec spec;
  spec.per_worker = batch.count("per_worker", Range::between(1, most_samples));
  spec.global = batch.count("global", Range::between(1, most_samples));
  spec.drop_last = batch.flag("drop_last", false);
  batch.finish();
  if (batch.has("per_worker") == batch.has("global") && !batch.misspelt({"per_worker", "global"}))
    batch.context().problems.add(batch.place(), batch.path(),
                                 std::string(batch.has("global") ? "has both per_worker and global" : "has neither per_worker nor global") +
                                     "; write one, such as {per_worker: 256}");
  return spec;
}

ScheduleSpec read_schedule(ReadContext& context, const YamlNode* node, const std::string& path, Place parent) {
  ScheduleSpec spec;
  spec.kind = read_kind(context, node, path, parent, KindGroup::schedule, "constant", [&](Section& schedule) {
    Section warmup = schedule.section("warmup");
    spec.warmup_epochs = warmup.measure("epochs", ValueType::number, Range::between(0, most_epochs)).value_or(0);
    if (warmup.given() && warmup.node()->items.empty()) schedule.problem("warmup", "is empty; write warmup: {epochs: 1}");
    warmup.finish();
    spec.scale_with_workers = schedule.choice("scale_with_workers", {"none", "linear", "square_root"}, "none");
  });
  return spec;
}

StopSpec read_stop(Section stop) {
  StopSpec spec;
  spec.epochs = stop.measure("epochs", ValueType::number, Range::above_to(0, most_epochs));
  spec.updates = stop.count("updates", Range::between(1, most_updates));
  if (const auto rounds = stop.count("rounds", Range::between(1, most_updates)))
    spec.updates = std::min(*rounds, spec.updates.value_or(*rounds));
  spec.simulated_time = stop.measure("simulated_time", ValueType::time, some_time());
  spec.target_accuracy = stop.measure("target_accuracy", ValueType::fraction, Range::above_to(0, 1));
  spec.on_target = stop.choice("on_target", {"stop", "continue"}, "stop");
  stop.finish();
  if (stop.has("on_target") && !stop.has("target_accuracy") && !stop.misspelt({"target_accuracy"}))
    stop.problem("on_target", "says what a target does, and there is none; add target_accuracy, or remove it");
  const bool bounded = stop.has("epochs") || stop.has("updates") || stop.has("rounds") || stop.has("simulated_time");
  if (!bounded && stop.given() && !stop.misspelt({"epochs", "updates", "rounds", "simulated_time"}))
    stop.context().problems.add(
        stop.place(), stop.path(),
        stop.has("target_accuracy")
            ? "has only a target, which may never be reached; add a bound: epochs, updates, rounds or simulated_time"
            : "has no bound; write at least one of epochs, updates, rounds or simulated_time, such as {epochs: 5}");
  return spec;
}

void read_evaluate_every(Section every, EvaluateSpec& spec) {
  spec.every_epochs = every.measure("epochs", ValueType::number, Range::between(1e-6, most_epochs));
  spec.every_updates = every.count("updates", Range::between(1, most_updates));
  spec.every_simulated_time = every.measure("simulated_time", ValueType::time, Range::between(1e-9, longest_time));
  every.finish();
  if (every.given() && every.node()->items.size() != 1)
    every.context().problems.add(every.place(), every.path(),
                                 "must say one thing; write {epochs: 0.25}, {updates: 100} or {simulated_time: 10s}");
}

std::vector<double> read_thresholds(ReadContext& context, const YamlNode* node, const std::string& path) {
  std::vector<double> thresholds;
  if (node == nullptr) return thresholds;
  if (node->type != YamlNode::Type::sequence) {
    context.problems.add(node->place, path, "is " + what_stands(*node) + "; write a list of accuracies such as [0.80, 0.85]");
    return thresholds;
  }
  Parameter accuracy;
  accuracy.type = ValueType::fraction;
  accuracy.range = Range::above_to(0, 1);
  for (std::size_t i = 0; i < node->items.size(); ++i)
    if (const auto value = read_value(context, node->items[i], path + "[" + std::to_string(i) + "]", accuracy))
      thresholds.push_back(std::get<double>(*value));
  std::sort(thresholds.begin(), thresholds.end());
  if (std::adjacent_find(thresholds.begin(), thresholds.end()) != thresholds.end())
    context.problems.add(node->place, path, "has an accuracy twice; keep one");
  return thresholds;
}

EvaluateSpec read_evaluate(Section evaluate) {
  EvaluateSpec spec;
  read_evaluate_every(evaluate.section("every"), spec);
  spec.thresholds = read_thresholds(evaluate.context(), evaluate.find("thresholds"), evaluate.path_of("thresholds"));
  spec.sustain = evaluate.count("sustain", Range::between(1, 1e6)).value_or(spec.sustain);
  spec.split = evaluate.choice("split", {"test", "validation"}, "test");
  spec.train_samples = evaluate.count("train_samples", Range::between(1, most_samples)).value_or(spec.train_samples);
  evaluate.not_yet("cost");
  evaluate.finish();
  return spec;
}

AugmentSpec read_augment(Section augment) {
  AugmentSpec spec;
  spec.crop = augment.count("crop", Range::between(0, 1e4)).value_or(0);
  spec.flip = augment.flag("flip", false);
  augment.finish();
  return spec;
}

CostSpec read_cost(Section cost) {
  CostSpec spec;
  if (const YamlNode* model = cost.find("model"))
    spec.model = read_kind(cost.context(), model, cost.path_of("model"), cost.place_of("model"), KindGroup::cost_model, "");
  if (const auto bytes = cost.measure("bytes", ValueType::bytes, Range::between(1, 1e15))) spec.bytes = static_cast<std::int64_t>(*bytes);
  cost.finish();
  if (cost.given() && cost.has("model") == cost.has("bytes") && !cost.misspelt({"model", "bytes"}))
    cost.context().problems.add(cost.place(), cost.path(), "must say one thing; write {model: NAME} or {bytes: 64MiB}");
  return spec;
}

/// What PyTorch's GradScaler starts from, and when it grows.
constexpr double default_scale = 65536;
constexpr std::int64_t default_growth = 2000;

void read_precision(Section& workload, WorkloadSpec& spec) {
  spec.precision = workload.choice("precision", {"fp32", "fp16", "bf16", "mixed"}, "fp32");
  const bool dynamic = spec.precision == "mixed";
  Section scale = workload.section("loss_scale");
  spec.loss_scale = scale.measure("initial", ValueType::number, Range::between(1, 0x1p40)).value_or(dynamic ? default_scale : 1);
  spec.growth_every = scale.count("growth_every", Range::between(1, 1e6)).value_or(dynamic ? default_growth : 0);
  scale.finish();
  if (!scale.given() || scale.node()->type != YamlNode::Type::map) return;
  int exponent = 0;
  if (spec.precision != "mixed" && spec.precision != "fp16")
    workload.problem("loss_scale",
                     "is for precision: mixed or fp16, where small gradients would be lost, and this is " + spec.precision + "; remove it");
  else if (!dynamic && scale.has("growth_every"))
    scale.problem("growth_every", "the scale of precision: fp16 is fixed; take precision: mixed, or remove it");
  else if (std::frexp(spec.loss_scale, &exponent) != 0.5)
    scale.problem("initial", "is not a power of two, so that scaling would round; write 1024, 65536 or the like");
}

const Parameter* find_on_failure(const Word& scheme) {
  for (const Parameter& parameter : scheme.parameters)
    if (parameter.name == "on_failure") return &parameter;
  return nullptr;
}

/// `training.on_failure` is another place for the scheme's parameter of that name.
void read_on_failure(Section& training, Kind& scheme) {
  const YamlNode* node = training.find("on_failure");
  ReadContext& context = training.context();
  const Word* word = context.vocabulary.find(KindGroup::scheme, scheme.name);
  if (node == nullptr || word == nullptr) return;  // an unknown scheme was said
  const Parameter* parameter = find_on_failure(*word);
  if (parameter == nullptr) {
    std::vector<std::string> others;
    for (const Word& other : context.vocabulary.words.at(KindGroup::scheme))
      if (const Parameter* known = find_on_failure(other)) others.push_back(other.name + " (" + joined(known->choices) + ")");
    training.problem("on_failure", scheme.name + " does not know it; remove it" +
                                       (others.empty() ? std::string() : ", or choose one of these schemes: " + joined(others)));
    return;
  }
  const std::optional<Value> value = read_value(context, *node, training.path_of("on_failure"), *parameter);
  if (!value) return;
  const YamlNode* own = training.find("scheme");
  if (own != nullptr && own->find("on_failure") != nullptr && scheme.parameters.has("on_failure") &&
      scheme.parameters.text("on_failure") != std::get<std::string>(*value))
    training.problem("on_failure", "is " + in_quotes(std::get<std::string>(*value)) + " here and " +
                                       in_quotes(scheme.parameters.text("on_failure")) + " in training.scheme; keep one");
  else
    scheme.parameters.set("on_failure", *value);
}

/// The file beside a model's own parameters, absolute; empty: none.
std::string read_weights(Section& model) {
  Parameter parameter;
  parameter.name = "weights";
  parameter.type = ValueType::path;
  const std::optional<Value> value = model.value(parameter);
  return value ? std::get<std::string>(*value) : std::string();
}

/// Timing alone needs neither data nor a model that learns: data of the kind `none`, or none at all where `cost` says what a step costs.
bool has_no_data(Section& workload) {
  const YamlNode* data = workload.find("data");
  if (data == nullptr) return workload.has("cost");
  const YamlNode* kind = data->type == YamlNode::Type::map ? data->find("kind") : data;
  return kind != nullptr && kind->type == YamlNode::Type::scalar && kind->text == no_data;
}

void read_model(Section& workload, const YamlNode* model, WorkloadSpec& spec) {
  if (model != nullptr)
    spec.model = read_kind(workload.context(), model, workload.path_of("model"), workload.place_of("model"), KindGroup::model, "",
                           [&spec](Section& section) { spec.weights = read_weights(section); });
}

/// The data and who has which of it.
void read_data(Section& workload, WorkloadSpec& spec) {
  const auto more = [&](Section& section) {
    if (has_no_data(workload)) return;
    spec.partition = read_kind(section.context(), section.find("partition"), section.path_of("partition"), section.place_of("partition"),
                               KindGroup::partition, "iid");
    spec.reshuffle = section.flag("reshuffle", true);
    spec.augment = read_augment(section.section("augment"));
  };
  if (const YamlNode* data = workload.find("data"))
    spec.data = read_kind(workload.context(), data, workload.path_of("data"), workload.place_of("data"), KindGroup::data, "", more);
}

}  // namespace

WorkloadSpec read_workload(Section workload) {
  WorkloadSpec spec;
  spec.partition.name = "iid";
  const YamlNode* const model = workload.find("model");
  if (has_no_data(workload)) {
    spec.data.name = no_data;
    if (!workload.has("cost"))
      workload.problem("data", "without data nobody knows what a step costs; add workload.cost: {model: NAME}, or name a data set");
  } else {
    workload.require("model", "write model: {kind: mlp, hidden: [200, 200]} or the like");
    workload.require("data", "write data: {kind: fashion_mnist} or the like, or, for timing alone, cost: {model: NAME}");
  }
  read_model(workload, model, spec);
  read_data(workload, spec);
  read_precision(workload, spec);
  spec.serial_per_epoch = workload.measure("serial_per_epoch", ValueType::time, any_time()).value_or(0);
  spec.fuse = workload.choice("fuse", {"auto", "off"}, "auto") == "auto";
  Section batch_norm = workload.section("batch_norm");
  spec.exchange_statistics = batch_norm.flag("exchange", false);
  batch_norm.finish();
  spec.cost = read_cost(workload.section("cost"));
  workload.finish();
  return spec;
}

TrainingSpec read_training(Section training) {
  TrainingSpec spec;
  ReadContext& context = training.context();
  if (const YamlNode* scheme = training.require("scheme", "write scheme: {kind: ssgd} or the like"))
    spec.scheme = read_kind(context, scheme, training.path_of("scheme"), training.place_of("scheme"), KindGroup::scheme, "");
  read_on_failure(training, spec.scheme);
  if (const YamlNode* batch = training.require("batch", "write batch: {per_worker: 256} or batch: {global: 2048}"))
    spec.batch = read_batch(Section(context, batch, training.path_of("batch"), training.place_of("batch")));
  spec.optimizer = read_kind(context, training.find("optimizer"), training.path_of("optimizer"), training.place_of("optimizer"),
                             KindGroup::optimizer, "sgd");
  spec.schedule = read_schedule(context, training.find("schedule"), training.path_of("schedule"), training.place_of("schedule"));
  spec.compression = read_kind(context, training.find("compression"), training.path_of("compression"), training.place_of("compression"),
                               KindGroup::compression, "none");
  training.not_yet("initial_broadcast", "false");
  training.not_yet("report_from_epoch");
  if (const YamlNode* stop = training.require("stop", "write stop: {epochs: 5} or the like; a run must end"))
    spec.stop = read_stop(Section(context, stop, training.path_of("stop"), training.place_of("stop")));
  spec.evaluate = read_evaluate(training.section("evaluate"));
  training.finish();
  return spec;
}

}  // namespace straggler
