#include "scenarios/schema/collective_part.hpp"

namespace straggler {
namespace {

constexpr double mebi = 1 << 20;

/// One flow for the whole has one beginning.
void check_start(Section& collective, const CollectiveSpec& spec) {
  if (collective.context().problems.any()) return;  // the values may not have been read
  const bool as_they_come = spec.start == CollectiveSpec::Start::as_they_come;
  if (as_they_come && spec.fidelity != CollectiveSpec::Fidelity::stepwise)
    collective.problem(
        "start", "as_they_come lets every worker begin its part when it comes, but fluid is one flow for all; add fidelity: stepwise");
  if (!as_they_come && spec.eager_up_to)
    collective.problem("eager_up_to",
                       "limits messages that leave before their receiver has come, but all ranks start together; add start: as_they_come");
}

constexpr ChoiceTable<CollectiveSpec::Fidelity> fidelity_choice("fidelity", {{CollectiveSpec::Fidelity::fluid, "fluid"},
                                                                             {CollectiveSpec::Fidelity::stepwise, "stepwise"}});
constexpr ChoiceTable<CollectiveSpec::Start> start_choice("start", {{CollectiveSpec::Start::together, "together"},
                                                                    {CollectiveSpec::Start::as_they_come, "as_they_come"}});

using Merge = CollectiveSpec::Merge;
constexpr ChoiceTable<Merge> merge_choice("merge", {{Merge::size, "size"}, {Merge::time, "time"}, {Merge::mg_wfbp, "mg_wfbp"}});

constexpr const char* measured_kind = "measured";
bool is_measured(const CollectiveSpec& spec) { return spec.algorithm == measured_kind; }

/// Of all-reduces whose times were measured; the spec keeps it as their algorithm, and the path as its parameter.
Field<CollectiveSpec> collective_kind_field() {
  Field<CollectiveSpec> field;
  field.key = {.name = "kind",
               .type = ValueType::choice,
               .meaning =
                   "`measured`: an all-reduce takes what `path` says of its size, from when the last rank is ready, and moves no flows "
                   "([model.md](model.md#all-reduce))",
               .fallback = "simulated",
               .choices = {"simulated", measured_kind}};
  field.read = [](Section& collective, CollectiveSpec& spec) {
    if (collective.choice("kind", {"simulated", measured_kind}, "simulated") == measured_kind) spec.algorithm = measured_kind;
  };
  field.write = [](Texts& out, const CollectiveSpec& spec, const WriteContext&) {
    if (is_measured(spec)) out.emplace_back("kind", measured_kind);
  };
  field.same = [](const CollectiveSpec& a, const CollectiveSpec& b) { return is_measured(a) == is_measured(b); };
  return field;
}

Field<CollectiveSpec> path_field() {
  Field<CollectiveSpec> field;
  field.key = {.name = "path",
               .type = ValueType::path,
               .meaning = "with `measured`: a CSV with columns `bytes` and `seconds`, a row for each bucket; equal sizes take their mean",
               .otherwise = "none"};
  field.read = [](Section& collective, CollectiveSpec& spec) {
    const std::optional<Value> path = collective.value({.name = "path", .type = ValueType::path, .meaning = ""});
    if (path && is_measured(spec)) spec.parameters.set("path", *path);
  };
  field.write = [](Texts& out, const CollectiveSpec& spec, const WriteContext&) {
    if (is_measured(spec)) out.emplace_back("path", text_of_value(ValueType::path, spec.parameters.all().at("path")));
  };
  field.same = [](const CollectiveSpec& a, const CollectiveSpec& b) {
    return !is_measured(a) || !is_measured(b) || a.parameters == b.parameters;
  };
  return field;
}

/// A name alone, `auto` among them, or a kind with parameters.
Field<CollectiveSpec> algorithm_field() {
  Field<CollectiveSpec> field;
  field.key = {.name = "algorithm",
               .meaning = "algorithm of an all-reduce: `straggler list collectives`; `auto`: the fastest for the largest bucket",
               .fallback = "auto",
               .form = "`auto`, a name, or `{kind: NAME, …}` with its parameters",
               .choices = {"auto"},
               .shape = ScenarioKey::Shape::kind,
               .kind = KindGroup::collective};
  field.read = [](Section& collective, CollectiveSpec& spec) {
    if (const YamlNode* algorithm = collective.find("algorithm"); algorithm != nullptr && algorithm->type == YamlNode::Type::map) {
      Kind kind = read_kind(collective.context(), algorithm, collective.path_of("algorithm"), collective.place_of("algorithm"),
                            KindGroup::collective, "");
      spec.algorithm = std::move(kind.name);
      spec.parameters = std::move(kind.parameters);
    } else {
      std::vector<std::string> algorithms = collective.context().vocabulary.names(KindGroup::collective);
      algorithms.insert(algorithms.begin(), "auto");
      spec.algorithm = collective.choice("algorithm", algorithms, "auto");
    }
  };
  field.write = [](Texts& out, const CollectiveSpec& spec, const WriteContext& context) {
    if (is_measured(spec)) return;
    out.emplace_back("algorithm", spec.parameters.all().empty()
                                      ? yaml_scalar(spec.algorithm)
                                      : flow_map(kind_texts({spec.algorithm, spec.parameters}, KindGroup::collective, context.vocabulary)));
  };
  field.same = [](const CollectiveSpec& a, const CollectiveSpec& b) { return a.algorithm == b.algorithm && a.parameters == b.parameters; };
  return field;
}

}  // namespace

Part<CollectiveSpec> collective_part() {
  const auto stepwise = [](const CollectiveSpec& spec) { return spec.fidelity == CollectiveSpec::Fidelity::stepwise; };
  return Part<CollectiveSpec>({
      algorithm_field(),
      collective_kind_field(),
      path_field(),
      field(&CollectiveSpec::fidelity, fidelity_choice,
            {.meaning = "one flow for the whole, or a flow for every message (more events, and exact beside other traffic too)"}),
      written_if<CollectiveSpec>(stepwise,
                                 field(&CollectiveSpec::start, start_choice,
                                       {.meaning = "with `stepwise`: all ranks start when the last one is ready, or each when it is ready "
                                                   "([model.md](model.md#all-reduce))"})),
      field(&CollectiveSpec::eager_up_to,
            {.name = "eager_up_to",
             .type = ValueType::bytes,
             .range = Range::at_least(0),
             .meaning = "with `as_they_come`: a message up to this size leaves even if its receiver has not started yet",
             .otherwise = "any size"}),
      field(&CollectiveSpec::reduce_rate, {.name = "reduce_rate",
                                           .type = ValueType::rate,
                                           .range = any_rate(),
                                           .meaning = "reduction arithmetic of an all-reduce, bytes per second",
                                           .otherwise = "free"}),
      written_if<CollectiveSpec>([](const CollectiveSpec& spec) { return spec.launch > 0; },
                                 field(&CollectiveSpec::launch, {.name = "launch",
                                                                 .type = ValueType::time,
                                                                 .range = any_time(),
                                                                 .meaning = "time to start a collective, on each rank, once per bucket "
                                                                            "([model.md](model.md#all-reduce))"})),
      written_if<CollectiveSpec>([](const CollectiveSpec& spec) { return spec.per_step > 0; },
                                 field(&CollectiveSpec::per_step,
                                       {.name = "per_step",
                                        .type = ValueType::time,
                                        .range = any_time(),
                                        .meaning = "price of being distributed: a worker's time for each gradient that it averages with "
                                                   "others, after backward, which nothing hides ([model.md](model.md#the-price-of-being-"
                                                   "distributed))"})),
      written_if<CollectiveSpec>(
          [](const CollectiveSpec& spec) { return spec.per_tensor > 0; },
          field(&CollectiveSpec::per_tensor, {.name = "per_tensor",
                                              .type = ValueType::time,
                                              .range = any_time(),
                                              .meaning = "the same for each tensor of the gradient: hooks, copies into buckets and back"})),
      written_if<CollectiveSpec>(
          [](const CollectiveSpec& spec) { return spec.interference > 0; },
          field(&CollectiveSpec::interference, {.name = "interference",
                                                .type = ValueType::number,
                                                .range = Range::between(0, 10),
                                                .meaning = "with `overlap`: share by which backward slows while a bucket is in flight"})),
      field(&CollectiveSpec::bucket, {.name = "bucket",
                                      .type = ValueType::bytes,
                                      .range = Range::between(1, 1e15),
                                      .meaning = "gradients leave in buckets of this size, last layers first",
                                      .otherwise = "one bucket"}),
      field(&CollectiveSpec::first_bucket, {.name = "first_bucket",
                                            .type = ValueType::bytes,
                                            .range = Range::between(1, 1e15),
                                            .meaning = "size of the first bucket",
                                            .otherwise = "as `bucket`"}),
      field(&CollectiveSpec::overlap,
            {.name = "overlap",
             .meaning = "buckets leave while backward continues; alone: buckets of 25 MiB, the first of 1 MiB, as PyTorch's "
                        "DistributedDataParallel"}),
      written_if<CollectiveSpec>([](const CollectiveSpec& spec) { return spec.merge != Merge::size; },
                                 field(&CollectiveSpec::merge, merge_choice,
                                       {.meaning = "with `overlap`: which tensors leave together: buckets of a `size`; those that become "
                                                   "ready between two ticks of a `cycle` (`time`, as in Horovod); or MG-WFBP's choice "
                                                   "([model.md](model.md#all-reduce))"})),
      written_if<CollectiveSpec>([](const CollectiveSpec& spec) { return spec.merge == Merge::time; },
                                 field(&CollectiveSpec::cycle, {.name = "cycle",
                                                                .type = ValueType::time,
                                                                .range = some_time(),
                                                                .meaning = "with `merge: time`: time between two ticks",
                                                                .otherwise = "`1ms`, as Horovod's"})),
      field(&CollectiveSpec::merge_start, {.name = "merge_start",
                                           .type = ValueType::time,
                                           .range = any_time(),
                                           .meaning = "with `merge: mg_wfbp`: start-up time of an all-reduce in the rule",
                                           .otherwise = "the algorithm's on the idle network"}),
      field(&CollectiveSpec::merge_rate, {.name = "merge_rate",
                                          .type = ValueType::rate,
                                          .range = any_rate(),
                                          .meaning = "with `merge: mg_wfbp`: bytes per second of an all-reduce in the rule",
                                          .otherwise = "the algorithm's on the idle network"}),
  });
}

namespace {

/// Horovod merges up to HOROVOD_FUSION_THRESHOLD, 64 MiB, and looks every HOROVOD_CYCLE_TIME, 1 ms.
void check_merge(Section& collective, CollectiveSpec& spec) {
  if (spec.merge != Merge::size && !spec.overlap && !collective.misspelt({"overlap"}))
    collective.problem("merge",
                       "chooses which gradients leave together during backward, but without overlap all leave after it; add overlap: true");
  for (const char* key : {"merge_start", "merge_rate"})
    if (spec.merge != Merge::mg_wfbp && collective.has(key))
      collective.problem(key, "is used with merge: mg_wfbp only; write merge: mg_wfbp, or remove it");
  if (spec.merge != Merge::time && collective.has("cycle"))
    collective.problem("cycle", "is used with merge: time only; write merge: time, or remove it");
  for (const char* key : {"bucket", "first_bucket"})
    if (spec.merge == Merge::mg_wfbp && collective.has(key))
      collective.problem(key, "has no effect with merge: mg_wfbp, which finds its own sizes; remove it");
  if (spec.merge != Merge::time) return;
  if (!collective.has("cycle")) spec.cycle = 1e-3;
  if (!collective.has("bucket")) spec.bucket = 64 * mebi;
}

}  // namespace

namespace {

void check_measured(Section& collective, const CollectiveSpec& spec) {
  if (spec.algorithm != measured_kind) {
    if (collective.has("path")) collective.problem("path", "is used with kind: measured only; write kind: measured, or remove it");
    return;
  }
  if (!collective.has("path")) collective.problem("kind", "measured needs the times; add path: FILE, a CSV with columns bytes and seconds");
  for (const char* key : {"algorithm", "launch", "reduce_rate"})
    if (collective.has(key)) collective.problem(key, "has no effect on measured times; remove it, or kind: measured");
  if (spec.fidelity != CollectiveSpec::Fidelity::fluid)
    collective.problem("fidelity", "stepwise sends messages, but measured times move none; remove it, or kind: measured");
  if (spec.merge == Merge::mg_wfbp)
    collective.problem("merge", "mg_wfbp reckons with an algorithm's times, which measured ones do not have; use merge: size");
}

}  // namespace

void check_collective(Section& collective, CollectiveSpec& spec) {
  check_measured(collective, spec);
  check_start(collective, spec);
  check_merge(collective, spec);
  if (collective.has("bucket") || spec.merge != Merge::size) return;
  if (spec.overlap) {
    spec.bucket = 25 * mebi;
    if (!spec.first_bucket) spec.first_bucket = mebi;
  } else if (collective.has("first_bucket") && !collective.misspelt({"bucket", "overlap"})) {
    collective.problem("first_bucket", "is the first of several buckets, and there is one; add bucket: 25MiB");
  }
}

}  // namespace straggler
