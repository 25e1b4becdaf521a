#include <cmath>

#include "scenarios/schema/part.hpp"
#include "scenarios/schema/read_parts.hpp"

namespace straggler {

namespace {

bool has_data(const WorkloadSpec& spec) { return spec.data.name != no_data; }

/// Timing alone needs neither data nor a trainable model: data of the kind `none`, or none at all if `cost` gives the cost of a step.
bool has_no_data(Section& workload) {
  const YamlNode* data = workload.find("data");
  if (data == nullptr) return workload.has("cost");
  const YamlNode* kind = data->type == YamlNode::Type::map ? data->find("kind") : data;
  return kind != nullptr && kind->type == YamlNode::Type::scalar && kind->text == no_data;
}

Field<WorkloadSpec> model_field() {
  const Part<WorkloadSpec> beside(
      {field(&WorkloadSpec::weights,
             {.name = "weights",
              .type = ValueType::path,
              .meaning = "safetensors file to start from, instead of the seed's weights: every parameter by name and shape; batch norm's "
                         "running statistics if it has them (PyTorch's `num_batches_tracked` is passed over; any other tensor is refused); "
                         "F32, F16 or BF16. Part of every key; checked also with `--timing-only`",
              .otherwise = "none"})});
  return kind(&WorkloadSpec::model,
              {.name = "model",
               .meaning = "the trained model: `straggler list models`, and below",
               .otherwise = "required, but for [timing alone](#timing-without-data)",
               .kind = KindGroup::model},
              beside);
}

Part<AugmentSpec> augment_part() {
  return Part<AugmentSpec>({
      field(&AugmentSpec::crop, {.name = "crop",
                                 .type = ValueType::count,
                                 .range = Range::between(0, 1e4),
                                 .meaning = "training images only: shifts by at most this many pixels in both directions, with black "
                                            "borders, drawn anew for each sample in each epoch"}),
      field(&AugmentSpec::flip, {.name = "flip", .meaning = "training images only: mirrors left to right with probability 1/2"}),
  });
}

Field<WorkloadSpec> data_field() {
  const auto any_augment = [](const WorkloadSpec& spec) { return spec.augment.any(); };
  const Part<WorkloadSpec> beside({
      only_if<WorkloadSpec>(has_data, kind(&WorkloadSpec::partition, {.name = "partition",
                                                                      .meaning = "which worker has which samples, below",
                                                                      .kind = KindGroup::partition,
                                                                      .fallback_kind = "iid"})),
      only_if<WorkloadSpec>(has_data,
                            field(&WorkloadSpec::reshuffle, {.name = "reshuffle",
                                                             .meaning = "`false`: the same order of samples in every epoch ([what that "
                                                                        "costs](../scenarios/examples/forgotten_sampler.yaml))"})),
      only_if<WorkloadSpec>(has_data,
                            written_if<WorkloadSpec>(any_augment, map(&WorkloadSpec::augment, {.name = "augment"}, augment_part()))),
  });
  return kind(&WorkloadSpec::data,
              {.name = "data",
               .meaning = "training and test data: `straggler list data`, and below",
               .otherwise = "required; `none` if `cost` is there",
               .kind = KindGroup::data},
              beside);
}

/// Initial scale and growth interval of PyTorch's GradScaler.
constexpr double default_scale = 65536;
constexpr std::int64_t default_growth = 2000;

void check_scale(Section& scale, WorkloadSpec& spec) {
  if (!scale.given() || scale.node()->type != YamlNode::Type::map) return;
  int exponent = 0;
  const bool dynamic = spec.precision == NumberFormat::mixed;
  if (!dynamic && spec.precision != NumberFormat::fp16)
    scale.context().problems.add(scale.place(), scale.path(),
                                 "is for precision: mixed or fp16, where small gradients would be lost, but precision is " +
                                     std::string(precision_choice.name_of(spec.precision)) + "; remove it");
  else if (!dynamic && scale.has("growth_every"))
    scale.problem("growth_every", "the scale of precision: fp16 is fixed; use precision: mixed, or remove it");
  else if (std::frexp(spec.loss_scale, &exponent) != 0.5)
    scale.problem("initial", "is not a power of two, so scaling would round; write 1024, 65536 or the like");
}

Field<WorkloadSpec> loss_scale_field() {
  const Part<WorkloadSpec> keys({
      field(&WorkloadSpec::loss_scale,
            {.name = "initial",
             .type = ValueType::number,
             .range = Range::between(1, 0x1p40),
             .meaning = "factor on the loss before backward; only with `mixed` (at the start) and `fp16` (throughout)",
             .otherwise = "`65536`; `fp16`: `1`",
             .form = "a power of two, 1 to 2^40"}),
      written_if<WorkloadSpec>([](const WorkloadSpec& spec) { return spec.growth_every > 0; },
                               field(&WorkloadSpec::growth_every, {.name = "growth_every",
                                                                   .type = ValueType::count,
                                                                   .range = Range::between(1, 1e6),
                                                                   .meaning = "good updates after which it doubles; only with `mixed`",
                                                                   .otherwise = "`2000`"})),
  });
  const auto narrow = [](const WorkloadSpec& spec) {
    return spec.precision == NumberFormat::fp16 || spec.precision == NumberFormat::mixed;
  };
  Field<WorkloadSpec> scale = written_if<WorkloadSpec>(narrow, map<WorkloadSpec>({.name = "loss_scale"}, keys, check_scale));
  scale.read = [read = scale.read](Section& workload, WorkloadSpec& spec) {
    const bool dynamic = spec.precision == NumberFormat::mixed;
    spec.loss_scale = dynamic ? default_scale : 1;
    spec.growth_every = dynamic ? default_growth : 0;
    read(workload, spec);
  };
  return scale;
}

Field<CostSpec> cost_model_field() {
  Field<CostSpec> field;
  field.key = {.name = "model",
               .meaning =
                   "times of a `roofline` and bytes as if this model were trained, including models of which only costs are known "
                   "(`straggler list models`); at most one of the two keys",
               .otherwise = "the model's",
               .shape = ScenarioKey::Shape::kind,
               .kind = KindGroup::cost_model};
  field.read = [](Section& cost, CostSpec& spec) {
    if (const YamlNode* model = cost.find("model"))
      spec.model = read_kind(cost.context(), model, cost.path_of("model"), cost.place_of("model"), KindGroup::cost_model, "");
  };
  field.write = [](Texts& out, const CostSpec& spec, const WriteContext& context) {
    if (spec.model) out.emplace_back("model", flow_map(kind_texts(*spec.model, KindGroup::cost_model, context.vocabulary)));
  };
  field.same = [](const CostSpec& a, const CostSpec& b) { return a.model == b.model; };
  return field;
}

Part<CostSpec> cost_part() {
  return Part<CostSpec>({
      cost_model_field(),
      field(&CostSpec::bytes, {.name = "bytes",
                               .type = ValueType::bytes,
                               .range = Range::between(1, 1e15),
                               .meaning = "bytes of a message, instead of 4 (in 16 bits 2) per parameter of `model`",
                               .otherwise = "the model's"}),
  });
}

void check_cost(Section& cost, CostSpec&) {
  if (cost.given() && cost.has("model") == cost.has("bytes") && !cost.misspelt({"model", "bytes"}))
    cost.context().problems.add(cost.place(), cost.path(), "must have one key; write {model: NAME} or {bytes: 64MiB}");
}

}  // namespace

const Part<WorkloadSpec>& workload_part() {
  static const Part<WorkloadSpec> part({
      model_field(),
      data_field(),
      field(&WorkloadSpec::precision, precision_choice,
            {.meaning = "format of computing and of messages, below; weights and updates stay in FP32"}),
      loss_scale_field(),
      written_if<WorkloadSpec>([](const WorkloadSpec& spec) { return spec.recompute != Recompute::none; },
                               field(&WorkloadSpec::recompute, recompute_choice,
                                     {.meaning = "what backward computes again, instead of keeping it in the device's memory: attention's "
                                                 "products of pairs, or whole blocks ([recomputing](model.md#recomputing))"})),
      two_words(&WorkloadSpec::fuse,
                {.name = "fuse",
                 .meaning = "how averaged gradients at the same weights are computed: as one large batch (faster), or separately",
                 .decides = true},
                "auto", "off"),
      map<WorkloadSpec>({.name = "batch_norm"},
                        Part<WorkloadSpec>({field(
                            &WorkloadSpec::exchange_statistics,
                            {.name = "exchange",
                             .meaning = "`true`: batch norm's running statistics follow every gradient or model (or have an all-reduce of "
                                        "their own) and are averaged with it; their bytes are in `statistics_bytes`. `false`: they stay, "
                                        "and those of the first contribution are used. Real runs need `true`"})})),
      field(&WorkloadSpec::serial_per_epoch,
            {.name = "serial_per_epoch",
             .type = ValueType::time,
             .range = any_time(),
             .meaning = "pause of all workers and servers at the end of each epoch (evaluation, shuffling, saving)"}),
      map(&WorkloadSpec::cost, {.name = "cost"}, cost_part(), check_cost),
  });
  return part;
}

WorkloadSpec read_workload(Section workload) {
  WorkloadSpec spec;
  spec.partition.name = "iid";
  workload.find("model");
  if (has_no_data(workload)) {
    spec.data.name = no_data;
    if (!workload.has("cost"))
      workload.problem("data", "without data the cost of a step is not known; add workload.cost: {model: NAME}, or name a data set");
  } else {
    workload.require("model", "write model: {kind: mlp, hidden: [200, 200]} or the like");
    workload.require("data", "write data: {kind: fashion_mnist} or the like, or, for timing alone, cost: {model: NAME}");
  }
  workload_part().read(workload, spec);
  workload.finish();
  return spec;
}

}  // namespace straggler
