#include "scenarios/schema/costs_part.hpp"

#include "sim/base/quantity.hpp"

namespace straggler {

const Part<PowerSpec>& power_part() {
  static const Part<PowerSpec> part({
      field(&PowerSpec::busy,
            {.name = "busy",
             .type = ValueType::power,
             .range = any_power(),
             .meaning = "while it computes, also where messages are in flight beside; a server: while it handles a message or "
                        "updates weights",
             .otherwise = "required, or the profile's"}),
      field(&PowerSpec::idle, {.name = "idle",
                               .type = ValueType::power,
                               .range = any_power(),
                               .meaning = "while it waits or loads data; while it is down it draws nothing"}),
      field(&PowerSpec::communicating, {.name = "communicating",
                                        .type = ValueType::power,
                                        .range = any_power(),
                                        .meaning = "while it waits for messages of its own that are in flight",
                                        .otherwise = "`idle`"}),
  });
  return part;
}

std::string idle_above_busy(const PowerSpec& power) {
  const auto watts = [](double value) { return format_quantity(value, Dimension::power); };
  return watts(power.idle) + " is above busy, " + watts(power.busy) +
         ", and a machine that waits draws no more than one that computes; write at most " + watts(power.busy);
}

void note_missing_busy(Section& power, PowerSpec& spec) {
  const YamlNode* const node = power.node();
  if (node != nullptr && node->type == YamlNode::Type::map && !power.has("busy") && !power.misspelt({"busy"})) spec.busy = missing_busy;
}

}  // namespace straggler
