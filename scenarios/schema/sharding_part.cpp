#include "scenarios/schema/sharding_part.hpp"

#include <stdexcept>

#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {

namespace {

using Units = ShardingSpec::Units;

constexpr ChoiceTable<ShardingSpec::Across> across_choice("across",
                                                          {{ShardingSpec::Across::all, "all"}, {ShardingSpec::Across::host, "host"}});
constexpr ChoiceTable<ShardingSpec::Reduce> reduce_choice("reduce",
                                                          {{ShardingSpec::Reduce::each, "each"}, {ShardingSpec::Reduce::last, "last"}});
constexpr ChoiceTable<ShardingSpec::Secondary> secondary_choice("secondary", {{ShardingSpec::Secondary::none, "none"},
                                                                              {ShardingSpec::Secondary::host, "host"}});

/// A word or a size.
Field<ShardingSpec> units_field() {
  Field<ShardingSpec> field;
  field.key = {.name = "units",
               .type = ValueType::text,
               .meaning =
                   "stage 3: layers whose weights are gathered together: a block (a turn of a `repeat`, a `residual`, an encoder "
                   "layer), a layer with parameters, or layers up to a size",
               .otherwise = "`blocks` where the network has any, else `layers`",
               .form = "`blocks`, `layers`, or a size such as `100MB`"};
  field.read = [](Section& sharding, ShardingSpec& spec) {
    const YamlNode* node = sharding.find("units");
    if (node == nullptr) return;
    const std::string given = sharding.word("units");
    if (node->type != YamlNode::Type::scalar) return;  // reported already
    if (given == "blocks" || given == "layers") {
      spec.units = given == "blocks" ? Units::blocks : Units::layers;
      return;
    }
    const auto refuse = [&] {
      sharding.context().problems.add(node->place, sharding.path_of("units"),
                                      "is " + in_quotes(given) + "; write blocks, layers, or a size such as 100MB");
    };
    try {
      spec.unit_bytes = parse_quantity(given, Dimension::bytes);
    } catch (const std::invalid_argument&) {
      return refuse();
    }
    if (spec.unit_bytes < 1) return refuse();
    spec.units = Units::size;
  };
  field.write = [](Texts& out, const ShardingSpec& spec, const WriteContext&) {
    if (spec.units == Units::automatic) return;
    out.emplace_back("units", spec.units == Units::blocks   ? "blocks"
                              : spec.units == Units::layers ? "layers"
                                                            : format_quantity(spec.unit_bytes, Dimension::bytes));
  };
  field.same = [](const ShardingSpec& a, const ShardingSpec& b) { return a.units == b.units && a.unit_bytes == b.unit_bytes; };
  return field;
}

Part<ShardingSpec> sharding_part() {
  return Part<ShardingSpec>({
      field(&ShardingSpec::stage, {.name = "stage",
                                   .type = ValueType::count,
                                   .range = Range::between(1, 3),
                                   .meaning = "of p workers each keeps 1/p of the optimizer's state (1), of the gradients too (2), of the "
                                              "weights too (3, FSDP)",
                                   .required = true,
                                   .remedy = "write 1, 2 or 3, such as {stage: 3}"}),
      field(&ShardingSpec::across, across_choice,
            {.meaning = "`host`: the workers of a host share states, and hosts have copies of them (HSDP)"}),
      units_field(),
      field(&ShardingSpec::prefetch, {.name = "prefetch",
                                      .type = ValueType::count,
                                      .range = Range::between(0, 1000),
                                      .meaning = "stage 3: units whose gather may be issued ahead of the one that is computed"}),
      field(&ShardingSpec::reduce, reduce_choice,
            {.meaning = "stages 2 and 3 with `accumulate`: gradients are reduced after each micro-batch, or once, after the last"}),
      field(&ShardingSpec::keep_gathered, {.name = "keep_gathered", .meaning = "stage 3: gathered units stay until the end of the update"}),
      field(&ShardingSpec::secondary, secondary_choice,
            {.meaning = "stage 3: each `host` keeps a second copy, from which backward gathers (hpZ of ZeRO++)"}),
  });
}

void check_sharding(Section& sharding, ShardingSpec& spec) {
  if (spec.secondary != ShardingSpec::Secondary::host || sharding.context().problems.any()) return;
  if (spec.stage < 3)
    sharding.problem("secondary", "keeps weights for backward's gathers, and stage " + std::to_string(spec.stage) +
                                      " has none; write stage: 3, or remove it");
  else if (spec.across == ShardingSpec::Across::host)
    sharding.problem("secondary", "is of no use with across: host, whose gathers stay in the host; remove one of the two");
  else if (spec.keep_gathered)
    sharding.problem("secondary", "keeps weights for backward's gathers, and keep_gathered leaves none; remove one of the two");
}

}  // namespace

Field<TrainingSpec> sharding_field() {
  Field<TrainingSpec> field = map(&TrainingSpec::sharding,
                                  {.name = "sharding",
                                   .meaning = "workers share states, as in ZeRO and FSDP ([model.md](model.md#sharded-states)); below",
                                   .fallback = "none",
                                   .form = "map, or `none`",
                                   .choices = {"none"},
                                   .own_table = true},
                                  sharding_part(), check_sharding);
  field.read = [map = field.read](Section& training, TrainingSpec& spec) {
    const YamlNode* const node = training.find("sharding");
    if (node == nullptr || node->type != YamlNode::Type::scalar || node->text != "none") map(training, spec);
  };
  return field;
}

}  // namespace straggler
