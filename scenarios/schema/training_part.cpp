#include <algorithm>

#include "scenarios/schema/other_names.hpp"
#include "scenarios/schema/part.hpp"
#include "scenarios/schema/read_parts.hpp"
#include "scenarios/schema/recovery_part.hpp"
#include "scenarios/schema/sharding_part.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {

namespace {

constexpr double most_updates = 1e15, most_epochs = 1e9, most_samples = 1e15;

void problem_of(Section& section, const std::string& what) { section.context().problems.add(section.place(), section.path(), what); }

const Parameter* find_on_failure(const Word& scheme) {
  for (const Parameter& parameter : scheme.parameters)
    if (parameter.name == "on_failure") return &parameter;
  return nullptr;
}

/// `training.on_failure` is another place for the scheme's parameter of that name.
void read_on_failure(Section& training, TrainingSpec& spec) {
  Kind& scheme = spec.scheme;
  const YamlNode* node = training.find("on_failure");
  ReadContext& context = training.context();
  const Word* word = context.vocabulary.find(KindGroup::scheme, scheme.name);
  if (node == nullptr || word == nullptr) return;  // an unknown scheme was reported
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

Field<TrainingSpec> on_failure_field() {
  Field<TrainingSpec> field;
  field.key = {.name = "on_failure",
               .type = ValueType::choice,
               .meaning = "the same as `scheme.on_failure`; refused if both are given and differ, or if the scheme has none",
               .otherwise = "the scheme's",
               .choices = {"wait", "drop", "abort"}};
  field.read = read_on_failure;
  field.write = [](Texts&, const TrainingSpec&, const WriteContext&) {};
  field.same = [](const TrainingSpec&, const TrainingSpec&) { return true; };  // it is in the scheme
  return field;
}

constexpr ChoiceTable<BatchSpec::Split> split_of_batch("split",
                                                       {{BatchSpec::Split::equal, "equal"}, {BatchSpec::Split::by_speed, "by_speed"}});

/// A list, or a map, is meant for batches that differ between workers.
Field<BatchSpec> per_worker_field() {
  Field<BatchSpec> made = field(&BatchSpec::per_worker, {.name = "per_worker",
                                                         .type = ValueType::count,
                                                         .range = Range::between(1, most_samples),
                                                         .meaning = "samples of a worker's batch",
                                                         .otherwise = "this or `global`"});
  made.read = [read = made.read](Section& batch, BatchSpec& spec) {
    const YamlNode* node = batch.find("per_worker");
    const bool several = node != nullptr && (node->type == YamlNode::Type::sequence || node->type == YamlNode::Type::map);
    const std::string absent = several ? not_modelled("batches", batch.path()) : std::string();
    if (absent.empty())
      read(batch, spec);
    else
      batch.context().problems.add(node->place, batch.path_of("per_worker"), "is " + what_stands(*node) + ": " + absent);
  };
  return made;
}

/// Of {rebalance: {every: {updates: 100}}}: at either level.
void check_rebalance(Section& map, BatchSpec&) {
  if (map.given() && map.node()->items.empty() && !map.context().problems.any())
    problem_of(map, "is empty; write rebalance: {every: {updates: 100}}");
}

Part<BatchSpec> batch_part() {
  const Part<BatchSpec> every({field(&BatchSpec::rebalance_every,
                                     {.name = "updates",
                                      .type = ValueType::count,
                                      .range = Range::between(1, most_updates),
                                      .meaning = "after as many updates each batch b_i becomes b_i t̄/t_i, t_i its mean time in them ([live "
                                                 "rebalancing](model.md#unequal-batches)); `ssgd`, data `shared`",
                                      .otherwise = "batches stay",
                                      .decides = true})});
  const Part<BatchSpec> rebalance({map<BatchSpec>({.name = "every"}, every, check_rebalance)});
  return Part<BatchSpec>({
      per_worker_field(),
      field(&BatchSpec::global, {.name = "global",
                                 .type = ValueType::count,
                                 .range = Range::between(1, most_samples),
                                 .meaning = "divided over all workers, the first take the remainder; at least one sample each",
                                 .otherwise = "this or `per_worker`"}),
      field(&BatchSpec::drop_last,
            {.name = "drop_last",
             .meaning = "skips the last, smaller batch of a worker's epoch (or mini-batch, if these divide the batch); skipped samples do "
                        "not count in an epoch. If batches of two sizes share a pool, the last one of a pass may still be smaller"}),
      written_if<BatchSpec>(
          [](const BatchSpec& spec) { return spec.split != BatchSpec::Split::unstated; },
          field(&BatchSpec::split, split_of_batch,
                {.meaning = "who computes how many samples of `global`: `by_speed`, so that all workers end as nearly together as whole "
                            "samples allow; the batches then count in means ([unequal batches](#unequal-batches))",
                 .otherwise = "`equal`, and all workers count the same",
                 .decides = true})),
      map<BatchSpec>({.name = "rebalance"}, rebalance, check_rebalance),
      written_if<BatchSpec>(
          [](const BatchSpec& spec) { return spec.accumulate > 1; },
          field(
              &BatchSpec::accumulate,
              {.name = "accumulate",
               .type = ValueType::count,
               .range = Range::between(1, 10'000),
               .meaning = "gradient accumulation: micro-batches in which a worker computes its batch, which stays the whole; one exchange "
                          "after the last ([accumulation](model.md#gradient-accumulation)). For schemes that send gradients",
               .decides = true})),
  });
}

void check_batch(Section& batch, BatchSpec&) {
  const bool splits = batch.has("split") && !batch.has("global") && !batch.misspelt({"global"});
  if (splits)
    batch.problem("split", "says how a global batch is divided, and there is none; write {global: 1000, split: by_speed}");
  else if (batch.has("per_worker") == batch.has("global") && !batch.misspelt({"per_worker", "global"}))
    problem_of(batch, std::string(batch.has("global") ? "has both per_worker and global" : "has neither per_worker nor global") +
                          "; write one, such as {per_worker: 256}");
}

constexpr ChoiceTable<RateScaling> scaling_choice("scale_with_workers", {{RateScaling::none, "none"},
                                                                         {RateScaling::linear, "linear"},
                                                                         {RateScaling::square_root, "square_root"}});

Field<ScheduleSpec> schedule_field() {
  const Part<ScheduleSpec> warmup(
      {field(&ScheduleSpec::warmup_epochs,
             {.name = "epochs",
              .type = ValueType::number,
              .range = Range::between(0, most_epochs),
              .meaning = "length of the linear rise to the full rate, from the unscaled rate or, if nothing scales, from 1 %"})});
  const auto check = [](Section& inside, ScheduleSpec&) {
    if (inside.given() && inside.node()->items.empty()) problem_of(inside, "is empty; write warmup: {epochs: 1}");
  };
  const Part<ScheduleSpec> beside({
      map<ScheduleSpec>({.name = "warmup"}, warmup, check),
      field(&ScheduleSpec::scale_with_workers, scaling_choice,
            {.meaning = "rate times n or √n; n: gradients averaged in an update (`ssgd` p, others 1)"}),
  });
  return kind(&ScheduleSpec::kind,
              {.name = "schedule",
               .meaning = "factor on the learning rate over time; below",
               .decides = true,
               .kind = KindGroup::schedule,
               .fallback_kind = "constant"},
              beside);
}

constexpr ChoiceTable<StopSpec::OnTarget> on_target_choice("on_target",
                                                           {{StopSpec::OnTarget::stop, "stop"}, {StopSpec::OnTarget::go_on, "continue"}});

/// `rounds` is another word for `updates`, in schemes whose updates are rounds (check_together refuses it in others).
template <class Spec>
Field<Spec> rounds_field(std::optional<std::int64_t> Spec::*updates, std::string meaning, std::string otherwise) {
  const ScenarioKey key{.name = "rounds",
                        .type = ValueType::count,
                        .range = Range::between(1, most_updates),
                        .meaning = std::move(meaning),
                        .otherwise = std::move(otherwise)};
  Field<Spec> field;
  field.key = key;
  field.read = [key, updates](Section& section, Spec& spec) {
    if (const std::optional<Value> rounds = section.value(key.parameter()))
      spec.*updates = std::min(std::get<std::int64_t>(*rounds), (spec.*updates).value_or(std::get<std::int64_t>(*rounds)));
  };
  field.write = [](Texts&, const Spec&, const WriteContext&) {};
  field.same = [](const Spec&, const Spec&) { return true; };
  return field;
}

Part<StopSpec> stop_part() {
  return Part<StopSpec>({
      field(&StopSpec::epochs,
            {.name = "epochs",
             .type = ValueType::number,
             .range = Range::above_to(0, most_epochs),
             .meaning = "samples in published updates / samples of the training set; the run ends with the update that gets there",
             .otherwise = "no such bound"}),
      field(&StopSpec::updates, {.name = "updates",
                                 .type = ValueType::count,
                                 .range = Range::between(1, most_updates),
                                 .meaning = "published updates",
                                 .otherwise = "no such bound"}),
      rounds_field(&StopSpec::updates,
                   "a synonym of `updates` where these are rounds, so not in asynchronous schemes; the smaller one counts",
                   "no such bound"),
      field(&StopSpec::simulated_time, {.name = "simulated_time",
                                        .type = ValueType::time,
                                        .range = some_time(),
                                        .meaning = "ends exactly then",
                                        .otherwise = "no such bound"}),
      field(&StopSpec::target_accuracy,
            {.name = "target_accuracy",
             .type = ValueType::fraction,
             .range = Range::above_to(0, 1),
             .meaning = "ends when test accuracy has held this for `evaluate.sustain` evaluations; never with `--timing-only`",
             .otherwise = "no target"}),
      written_if<StopSpec>([](const StopSpec& spec) { return spec.target_accuracy.has_value(); },
                           field(&StopSpec::on_target, on_target_choice,
                                 {.meaning = "`continue`: records when the target was reached, and continues to the other bound"})),
  });
}

void check_stop(Section& stop, StopSpec&) {
  if (stop.has("on_target") && !stop.has("target_accuracy") && !stop.misspelt({"target_accuracy"}))
    stop.problem("on_target", "needs a target, and there is none; add target_accuracy, or remove it");
  const bool bounded = stop.has("epochs") || stop.has("updates") || stop.has("rounds") || stop.has("simulated_time");
  if (!bounded && stop.given() && !stop.misspelt({"epochs", "updates", "rounds", "simulated_time"}))
    problem_of(stop, stop.has("target_accuracy")
                         ? "has only a target, which may never be reached; add a bound: epochs, updates, rounds or simulated_time"
                         : "has no bound; write at least one of epochs, updates, rounds or simulated_time, such as {epochs: 5}");
}

void check_every(Section& every, EvaluateSpec&) {
  if (every.given() && every.node()->items.size() != 1 && !every.misspelt({}))
    problem_of(every, "must have one key; write {epochs: 0.25}, {updates: 100} or {simulated_time: 10s}");
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

Field<EvaluateSpec> thresholds_field() {
  Field<EvaluateSpec> field;
  field.key = {.name = "thresholds",
               .type = ValueType::fraction,
               .range = Range::above_to(0, 1),
               .meaning = "accuracies whose times are recorded in `thresholds.csv`",
               .fallback = "[]",
               .form = "list of shares",
               .shape = ScenarioKey::Shape::values};
  field.read = [](Section& evaluate, EvaluateSpec& spec) {
    spec.thresholds = read_thresholds(evaluate.context(), evaluate.find("thresholds"), evaluate.path_of("thresholds"));
  };
  field.write = [](Texts& out, const EvaluateSpec& spec, const WriteContext&) {
    std::string text;
    for (const double threshold : spec.thresholds) text += (text.empty() ? "" : ", ") + format_value(ValueType::fraction, threshold);
    out.emplace_back("thresholds", "[" + text + "]");
  };
  field.same = [](const EvaluateSpec& a, const EvaluateSpec& b) { return a.thresholds == b.thresholds; };
  return field;
}

constexpr ChoiceTable<EvaluateSpec::Split> split_choice("split", {{EvaluateSpec::Split::test, "test"},
                                                                  {EvaluateSpec::Split::validation, "validation"}});

Part<EvaluateSpec> evaluate_part() {
  const std::string only = "at the end only";
  const Part<EvaluateSpec> every({
      field(&EvaluateSpec::every_epochs, {.name = "epochs",
                                          .type = ValueType::number,
                                          .range = Range::between(1e-6, most_epochs),
                                          .meaning = "interval between evaluations (one of these keys); also evaluates at time 0",
                                          .otherwise = only}),
      field(&EvaluateSpec::every_updates, {.name = "updates",
                                           .type = ValueType::count,
                                           .range = Range::between(1, most_updates),
                                           .meaning = "interval in published updates",
                                           .otherwise = only}),
      rounds_field(&EvaluateSpec::every_updates, "a synonym of `updates`, as in `stop`", only),
      field(&EvaluateSpec::every_simulated_time, {.name = "simulated_time",
                                                  .type = ValueType::time,
                                                  .range = Range::between(1e-9, longest_time),
                                                  .meaning = "interval in simulated time",
                                                  .otherwise = only}),
  });
  return Part<EvaluateSpec>({
      map<EvaluateSpec>({.name = "every"}, every, check_every),
      thresholds_field(),
      field(&EvaluateSpec::sustain,
            {.name = "sustain",
             .type = ValueType::count,
             .range = Range::between(1, 1e6),
             .meaning = "evaluations in a row for which an accuracy must hold; the recorded time is that of the first of them"}),
      field(&EvaluateSpec::split, split_choice,
            {.meaning = "`validation`: a random tenth of the training set is held out; target and thresholds use it", .decides = true}),
      field(&EvaluateSpec::train_samples, {.name = "train_samples",
                                           .type = ValueType::count,
                                           .range = Range::between(1, most_samples),
                                           .meaning = "size of the fixed random subset for the training columns of `curve.csv`"}),
      written_if<EvaluateSpec>(
          [](const EvaluateSpec& spec) { return spec.noise_scale; },
          field(&EvaluateSpec::noise_scale, {.name = "noise_scale", .meaning = "also measures the gradient noise scale"})),
  });
}

constexpr ChoiceTable<TrainingSpec::ClipAt> clip_at_choice("clip_at", {{TrainingSpec::ClipAt::server, "server"},
                                                                       {TrainingSpec::ClipAt::worker, "worker"}});

void check_clip(Section& training) {
  if (training.has("clip_at") && !training.has("clip") && !training.misspelt({"clip"}))
    training.problem("clip_at", "needs a norm to clip to, and there is none; add clip: 1.0, or remove it");
}

/// With `without: shrink` the others go on, which is what a scheme that is not told otherwise does then.
void follow_recovery(Section& training, TrainingSpec& spec) {
  if (!spec.recovery || spec.recovery->without != RecoverySpec::Without::shrink) return;
  const YamlNode* const scheme = training.find("scheme");
  if (training.has("on_failure") || (scheme != nullptr && scheme->find("on_failure") != nullptr)) return;
  const Word* const word = training.context().vocabulary.find(KindGroup::scheme, spec.scheme.name);
  const Parameter* const parameter = word == nullptr ? nullptr : find_on_failure(*word);
  if (parameter != nullptr && std::ranges::find(parameter->choices, "drop") != parameter->choices.end())
    spec.scheme.parameters.set("on_failure", std::string("drop"));
}

}  // namespace

const Part<TrainingSpec>& training_part() {
  static const Part<TrainingSpec> part({
      kind(&TrainingSpec::scheme, {.name = "scheme",
                                   .meaning = "training scheme, such as `ssgd` or `asgd`; below",
                                   .required = true,
                                   .remedy = "write scheme: {kind: ssgd} or the like",
                                   .decides = true,
                                   .kind = KindGroup::scheme}),
      on_failure_field(),
      map(&TrainingSpec::batch,
          {.name = "batch", .required = true, .remedy = "write batch: {per_worker: 256} or batch: {global: 2048}", .decides = true},
          batch_part(), check_batch),
      kind(&TrainingSpec::optimizer, {.name = "optimizer",
                                      .meaning = "below; `learning_rate` is required",
                                      .decides = true,
                                      .kind = KindGroup::optimizer,
                                      .fallback_kind = "sgd"}),
      within(&TrainingSpec::schedule, schedule_field()),
      field(&TrainingSpec::clip, {.name = "clip",
                                  .type = ValueType::number,
                                  .range = Range::above(0),
                                  .meaning = "largest norm c of a gradient g that is stepped on: it is multiplied by "
                                             "min(1, c / (`abs(g)` + 1e-6)); running statistics do not count",
                                  .otherwise = "gradients are not clipped",
                                  .decides = true}),
      written_if<TrainingSpec>(
          [](const TrainingSpec& spec) { return spec.clip.has_value(); },
          field(&TrainingSpec::clip_at, clip_at_choice,
                {.meaning = "`server`: the gradient that is about to be stepped on, after averaging; `worker`: each gradient that a worker "
                            "has computed, before anything else",
                 .decides = true})),
      kind(&TrainingSpec::compression, {.name = "compression",
                                        .meaning = "compression of gradients and weights in messages; below",
                                        .decides = true,
                                        .kind = KindGroup::compression,
                                        .fallback_kind = "none"}),
      sharding_field(),
      recovery_field(),
      map(&TrainingSpec::stop,
          {.name = "stop",
           .meaning = "when the run ends, below",
           .required = true,
           .remedy = "write stop: {epochs: 5} or the like; a run must end",
           .own_table = true},
          stop_part(), check_stop),
      map(&TrainingSpec::evaluate,
          {.name = "evaluate", .meaning = "when accuracies are evaluated, below", .otherwise = "at the end only", .own_table = true},
          evaluate_part()),
  });
  return part;
}

TrainingSpec read_training(Section training) {
  TrainingSpec spec;
  training_part().read(training, spec);
  check_clip(training);
  follow_recovery(training, spec);
  training.finish();
  return spec;
}

}  // namespace straggler
