#include "scenarios/schema/recovery_part.hpp"

#include <cctype>
#include <stdexcept>
#include <utility>

#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {

namespace {

using Every = CheckpointSpec::Every;
using RecoveryKind = RecoverySpec::Kind;

constexpr ChoiceTable<RecoveryKind> recovery_choice("kind", {{RecoveryKind::none, "none"},
                                                             {RecoveryKind::rollback, "rollback"},
                                                             {RecoveryKind::peer, "peer"}});
constexpr ChoiceTable<RecoverySpec::Without> without_choice("without", {{RecoverySpec::Without::wait, "wait"},
                                                                        {RecoverySpec::Without::shrink, "shrink"}});

constexpr double most_updates_between = 1e15;
constexpr const char* every_forms = "write a time such as 30min, {updates: 100} or optimal";

void read_checkpoint_every(Section& checkpoint, CheckpointSpec& spec) {
  const YamlNode* const node = checkpoint.require("every", every_forms);
  if (node == nullptr) return;
  ReadContext& context = checkpoint.context();
  const std::string path = checkpoint.path_of("every");
  if (node->type == YamlNode::Type::map) {
    Section section(context, node, path, node->place);
    section.require("updates", "write {updates: 100} or the like");
    if (const auto updates = section.count("updates", Range::between(1, most_updates_between))) spec.updates = *updates;
    spec.every = Every::updates;
    return section.finish();
  }
  if (node->type != YamlNode::Type::scalar) {
    context.problems.add(node->place, path, "is " + what_stands(*node) + "; " + every_forms);
    return;
  }
  if (node->text == "optimal") {
    spec.every = Every::optimal;
    return;
  }
  if (const char first = node->text.empty() ? ' ' : node->text.front(); std::isalpha(static_cast<unsigned char>(first))) {
    context.problems.add(node->place, path, "is " + in_quotes(node->text) + "; " + every_forms);
    return;
  }
  Parameter time{.name = "every", .type = ValueType::time, .meaning = ""};
  time.range = some_time();
  if (const std::optional<Value> value = read_value(context, *node, path, time)) spec.seconds = std::get<double>(*value);
}

Field<CheckpointSpec> checkpoint_every_field() {
  Field<CheckpointSpec> made;
  made.key = {
      .name = "every",
      .meaning =
          "work since the last save, or since the last restart; saved at the first end of an update after it. `optimal`: the "
          "interval of least time for the rate of failures",
      .required = true,
      .remedy = every_forms,
      .form = "a time, `{updates: 100}`, or `optimal`",
      .shape = ScenarioKey::Shape::one_of,
      .keys = {
          {.name = "time", .type = ValueType::time, .range = some_time()},
          {.name = "optimal", .type = ValueType::choice, .choices = {"optimal"}},
          {.name = "updates",
           .shape = ScenarioKey::Shape::map,
           .keys = {{.name = "updates", .type = ValueType::count, .range = Range::between(1, most_updates_between), .required = true}}}}};
  made.read = read_checkpoint_every;
  made.write = [](Texts& out, const CheckpointSpec& spec, const WriteContext&) {
    out.emplace_back("every", spec.every == Every::optimal   ? "optimal"
                              : spec.every == Every::updates ? flow_map({{"updates", std::to_string(spec.updates)}})
                                                             : text_of_value(ValueType::time, spec.seconds));
  };
  made.same = [](const CheckpointSpec& a, const CheckpointSpec& b) {
    return a.every == b.every && a.seconds == b.seconds && a.updates == b.updates;
  };
  return made;
}

/// A time, or the rate at which the state's bytes are written.
Field<CheckpointSpec> save_field() {
  Field<CheckpointSpec> made;
  made.key = {.name = "save",
              .meaning = "how long saving takes, or the rate at which the weights and the optimizer's state are written",
              .fallback = "0s",
              .form = "a time or a rate",
              .shape = ScenarioKey::Shape::one_of,
              .keys = {{.name = "time", .type = ValueType::time, .range = any_time()},
                       {.name = "rate", .type = ValueType::rate, .range = any_rate()}}};
  made.read = [](Section& checkpoint, CheckpointSpec& spec) {
    const YamlNode* const node = checkpoint.find("save");
    if (node == nullptr) return;
    const std::string path = checkpoint.path_of("save");
    const bool is_scalar = node->type == YamlNode::Type::scalar;
    if (is_scalar) {
      try {
        parse_quantity(node->text, Dimension::rate);
        spec.save_is_rate = true;
      } catch (const std::invalid_argument&) {
        try {
          parse_quantity(node->text, Dimension::time);
        } catch (const std::invalid_argument&) {
          checkpoint.context().problems.add(node->place, path,
                                            "is " + in_quotes(node->text) + "; write a time such as 20s, or a rate such as 2GB/s");
          return;
        }
      }
    }
    Parameter save{.name = "save", .type = spec.save_is_rate ? ValueType::rate : ValueType::time, .meaning = ""};
    save.range = spec.save_is_rate ? any_rate() : any_time();
    if (const std::optional<Value> value = read_value(checkpoint.context(), *node, path, save)) spec.save = std::get<double>(*value);
  };
  made.write = [](Texts& out, const CheckpointSpec& spec, const WriteContext&) {
    out.emplace_back("save", text_of_value(spec.save_is_rate ? ValueType::rate : ValueType::time, spec.save));
  };
  made.same = [](const CheckpointSpec& a, const CheckpointSpec& b) { return a.save == b.save && a.save_is_rate == b.save_is_rate; };
  return made;
}

Part<CheckpointSpec> checkpoint_part() {
  return Part<CheckpointSpec>({
      checkpoint_every_field(),
      save_field(),
      field(&CheckpointSpec::blocking,
            {.name = "blocking", .meaning = "`false`: work stops for `snapshot` only, and what was copied is written meanwhile"}),
      written_if<CheckpointSpec>([](const CheckpointSpec& spec) { return !spec.blocking; },
                                 field(&CheckpointSpec::snapshot, {.name = "snapshot",
                                                                   .type = ValueType::time,
                                                                   .range = any_time(),
                                                                   .meaning = "with `blocking: false`: how long the state is copied"})),
  });
}

void check_checkpoint(Section& checkpoint, CheckpointSpec& spec) {
  if (spec.blocking && checkpoint.has("snapshot") && !checkpoint.context().problems.any())
    checkpoint.problem("snapshot", "is how long work stops where saving does not stop it; add blocking: false, or remove it");
}

Part<RecoverySpec> recovery_part() {
  const auto time = [](const char* name, const char* meaning) {
    return ScenarioKey{.name = name, .type = ValueType::time, .range = any_time(), .meaning = meaning};
  };
  const auto acts = [](Field<RecoverySpec> field) {
    return written_if<RecoverySpec>([](const RecoverySpec& spec) { return spec.kind != RecoveryKind::none; }, std::move(field));
  };
  return Part<RecoverySpec>({
      field(&RecoverySpec::kind, recovery_choice,
            {.meaning = "`rollback`: all go back to the version that was saved last, and what came after it is lost; `peer`: only the lost "
                        "worker is replaced, and gets its state from another; `none`: the scheme's `on_failure`",
             .required = true,
             .remedy = "write kind: rollback, peer or none"}),
      map(&RecoverySpec::checkpoint,
          {.name = "checkpoint", .meaning = "what is saved when", .otherwise = "only the initial weights are saved"}, checkpoint_part(),
          check_checkpoint),
      acts(field(&RecoverySpec::detect, time("detect", "from a failure until it is known"))),
      acts(field(&RecoverySpec::restart, time("restart", "from there, and once all are there, until all work again"))),
      field(&RecoverySpec::read, {.name = "read",
                                  .type = ValueType::rate,
                                  .range = any_rate(),
                                  .meaning = "rate at which the state's bytes are read, in addition to `restart`",
                                  .otherwise = "`restart` holds it"}),
      acts(field(&RecoverySpec::spares, {.name = "spares",
                                         .type = ValueType::count,
                                         .range = Range::between(0, 1e6),
                                         .meaning = "idle workers: one takes over the number, data and draws of a lost worker at once"})),
      written_if<RecoverySpec>(
          [](const RecoverySpec& spec) { return spec.kind == RecoveryKind::rollback; },
          field(&RecoverySpec::without, without_choice,
                {.meaning = "without a spare: `wait` for the repair, or go on with fewer (`shrink`), and with more when it is back"})),
  });
}

void check_recovery(Section& recovery, RecoverySpec& spec) {
  if (recovery.context().problems.any() || spec.kind == RecoveryKind::rollback) return;
  const bool none = spec.kind == RecoveryKind::none;
  for (const char* key : {"checkpoint", "detect", "restart", "read", "spares", "without"})
    if (recovery.has(key) && (none || std::string_view(key) == "checkpoint" || std::string_view(key) == "without"))
      recovery.problem(key, none ? "is of no use with kind: none; write kind: rollback, or remove it"
                                 : "is of no use with kind: peer, which loses no version; write kind: rollback, or remove it");
}

}  // namespace

Field<TrainingSpec> recovery_field() {
  return map(&TrainingSpec::recovery,
             {.name = "recovery",
              .meaning = "checkpoints, and what a failure costs ([model.md](model.md#recovery)); below",
              .otherwise = "the scheme's `on_failure`",
              .own_table = true},
             recovery_part(), check_recovery);
}

}  // namespace straggler
