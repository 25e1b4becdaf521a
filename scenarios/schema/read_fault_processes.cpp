// Faults that happen again and again: random, fail_slow, preempt, trace.
#include <algorithm>
#include <cctype>

#include "scenarios/schema/read_parts.hpp"
#include "sim/base/quantity.hpp"
#include "sim/cluster/fault_units.hpp"

namespace straggler {

namespace {

using FaultKind = FaultSpec::Kind;

std::function<bool(const FaultSpec&)> of_kinds(std::initializer_list<FaultKind> kinds) {
  return [all = std::vector<FaultKind>(kinds)](const FaultSpec& spec) { return std::ranges::find(all, spec.kind) != all.end(); };
}

/// `{kind: exponential, mean: 40h}`, or a time alone, which is constant.
Field<FaultSpec> law(Kind FaultSpec::*member, const char* name, const char* meaning, const char* fallback, const char* otherwise) {
  const bool required = std::string(fallback).empty();
  Field<FaultSpec> made = kind(member, {.name = name,
                                        .meaning = meaning,
                                        .required = required,
                                        .remedy = "write a law such as {kind: exponential, mean: 40h}, or a time",
                                        .otherwise = otherwise,
                                        .kind = KindGroup::law,
                                        .fallback_kind = fallback});
  made.read = [read = made.read, member, key = made.key](Section& section, FaultSpec& spec) {
    const YamlNode* node = section.find(key.name);
    const bool time = node != nullptr && node->type == YamlNode::Type::scalar && !node->text.empty() &&
                      (std::isdigit(static_cast<unsigned char>(node->text[0])) != 0 || node->text[0] == '-' || node->text[0] == '.');
    if (!time) return read(section, spec);
    const Parameter mean{.name = key.name, .type = ValueType::time, .range = any_time()};
    if (const std::optional<Value> value = section.value(mean)) spec.*member = Kind{"constant", {{"mean", *value}}};
  };
  ScenarioKey as_kind = made.key, as_time{.name = name, .type = ValueType::time, .range = any_time()};
  as_kind.meaning.clear();
  made.key.shape = ScenarioKey::Shape::one_of;
  made.key.keys = {as_kind, as_time};
  return made;
}

/// A field that other kinds have too, which document it.
Field<FaultSpec> again(Field<FaultSpec> field) {
  field.key.meaning.clear();
  return field;
}

Field<FaultSpec> of_field(const ChoiceTable<UnitKind>& units, const char* meaning, bool required) {
  std::string all;
  for (const std::string& name : units.names()) all += (all.empty() ? "" : ", ") + name;
  return field(
      &FaultSpec::of, units,
      {.meaning = meaning, .required = required, .remedy = "write one of: " + all, .otherwise = required ? "required" : "`worker`"});
}

void refuse(Section& fault, const char* key, const std::string& what) {
  fault.context().problems.add(fault.place_of(key), fault.path_of(key), what);
}

/// Units that would fail without end in no time.
void check_mean(Section& fault, const FaultSpec& spec) {
  if (spec.every.name.empty() || !spec.every.parameters.has("mean") || spec.every.parameters.number("mean") >= 1e-12) return;
  refuse(fault, "every", "has no time between two faults; write a mean above 0");
}

}  // namespace

std::vector<Field<FaultSpec>> fault_process_fields() {
  const auto random = of_kinds({FaultKind::random}), slow = of_kinds({FaultKind::fail_slow}), preempt = of_kinds({FaultKind::preempt}),
             trace = of_kinds({FaultKind::trace});
  std::vector<Field<FaultSpec>> out;
  const auto add = [&](const std::function<bool(const FaultSpec&)>& when, Field<FaultSpec> field) {
    out.push_back(only_if<FaultSpec>(when, std::move(field)));
  };
  add(of_kinds({FaultKind::random, FaultKind::fail_slow}),
      of_field(unit_choice, "of the repeating kinds: what it hits; a host takes its workers with it, a rack its hosts, `all` the job",
               true));
  add(preempt, again(of_field(unit_choice.only({UnitKind::worker, UnitKind::host}), "", true)));
  add(trace, again(of_field(unit_choice, "", false)));
  add(of_kinds({FaultKind::random, FaultKind::fail_slow, FaultKind::preempt}),
      law(&FaultSpec::every, "every", "of the repeating kinds: time from the beginning, or from its return, to a unit's next fault", "",
          "required there"));
  add(random, law(&FaultSpec::repair, "repair", "of `random`: how long a unit is down", "never", ""));
  add(slow, law(&FaultSpec::lasts, "lasts", "of `fail_slow`: how long it lasts", "", "required there"));
  add(slow, again(field(&FaultSpec::slower, {.name = "times_slower", .type = ValueType::number, .range = Range::between(1, 1e6)})));
  add(slow, again(field(&FaultSpec::narrower, {.name = "bandwidth_factor", .type = ValueType::fraction, .range = Range::between(0, 1)})));
  add(preempt, field(&FaultSpec::notice, {.name = "notice",
                                          .type = ValueType::time,
                                          .range = any_time(),
                                          .meaning = "of `preempt`: how long it works on before it goes"}));
  add(preempt, law(&FaultSpec::back_after, "back_after", "of `preempt`: how long it is away", "never", ""));
  add(trace, field(&FaultSpec::path, {.name = "path",
                                      .type = ValueType::path,
                                      .meaning = "of `trace`: CSV with the columns unit, from_s, to_s",
                                      .required = true,
                                      .remedy = "write the path of a CSV with the columns unit,from_s,to_s",
                                      .otherwise = "required there"}));
  return out;
}

void check_fault_process(Section& fault, const FaultSpec& spec) {
  check_mean(fault, spec);
  if (spec.kind != FaultKind::fail_slow) return;
  if (fault.misspelt({"times_slower", "bandwidth_factor"})) return;
  if (fault.has("times_slower") == fault.has("bandwidth_factor"))
    return fault.context().problems.add(
        fault.place(), fault.path(),
        std::string(fault.has("times_slower") ? "has times_slower and bandwidth_factor" : "does not say how slow it is") +
            "; write one of times_slower: 4 (of computing) and bandwidth_factor: 0.1 (of its links)");
  if (spec.slower && (spec.of == UnitKind::server || spec.of == UnitKind::link))
    refuse(fault, "times_slower",
           "slows the computing of workers, and a " + std::string(unit_choice.name_of(spec.of)) +
               " computes no batches; write bandwidth_factor: 0.1 instead");
}

bool repeats(const FaultSpec& fault) {
  return fault.kind == FaultKind::random || fault.kind == FaultKind::fail_slow || fault.kind == FaultKind::preempt ||
         fault.kind == FaultKind::trace;
}

bool changes_members(const FaultSpec& fault) {
  switch (fault.kind) {
    case FaultKind::crash:
    case FaultKind::join:
    case FaultKind::leave:
    case FaultKind::preempt:
      return true;
    case FaultKind::random:
    case FaultKind::trace:
      return fault.of != UnitKind::server && fault.of != UnitKind::link;
    default:
      return false;
  }
}

bool slows_workers(const FaultSpec& fault) { return fault.kind == FaultKind::slow || (fault.kind == FaultKind::fail_slow && fault.slower); }

bool changes_links(const FaultSpec& fault) {
  return fault.kind == FaultKind::link || (fault.kind == FaultKind::fail_slow && fault.narrower) ||
         (fault.kind == FaultKind::random && fault.of == UnitKind::link) || fault.kind == FaultKind::trace;
}

}  // namespace straggler
