// Keys of what machines cost: `price_per_hour` and `power`, of devices and of servers.
#pragma once
#include <optional>
#include <string>

#include "scenarios/schema/part.hpp"

namespace straggler {

inline Range any_price() { return Range::between(0, 1e12); }
inline Range any_power() { return Range::between(0, 1e12); }

inline ScenarioKey price_key(std::string meaning, std::string otherwise) {
  return {.name = "price_per_hour",
          .type = ValueType::price,
          .range = any_price(),
          .meaning = std::move(meaning),
          .otherwise = std::move(otherwise)};
}

/// Of a server; of a device where `busy` may be the profile's.
const Part<PowerSpec>& power_part();
/// After the keys are read: notes that `busy` is missing.
void note_missing_busy(Section& power, PowerSpec& spec);
inline constexpr double missing_busy = -1;
inline constexpr const char* busy_is_missing =
    "is missing; write the power of a machine that computes, such as 250W, or use a profile whose data sheet states it";

std::string idle_above_busy(const PowerSpec& power);

/// `known`: watts of a busy one, where none is written; null: nothing is known.
template <class Spec>
Field<Spec> power_field(std::optional<PowerSpec> Spec::*member, std::string meaning, std::optional<double> Spec::*known = nullptr) {
  Field<Spec> made =
      map(member, {.name = "power", .meaning = std::move(meaning), .otherwise = "not counted"}, power_part(), note_missing_busy);
  made.read = [member, known, read = made.read](Section& owner, Spec& spec) {
    read(owner, spec);
    if (!(spec.*member)) return;
    PowerSpec& power = *(spec.*member);
    if (power.busy == missing_busy) {
      const bool is_known = known != nullptr && spec.*known;
      power.busy = is_known ? *(spec.*known) : 0;
      if (!is_known) return owner.context().problems.add(owner.place_of("power"), owner.path_of("power.busy"), busy_is_missing);
    }
    if (power.busy > 0 && power.idle > power.busy)  // 0: it could not be read
      owner.context().problems.add(owner.place_of("power"), owner.path_of("power.idle"), idle_above_busy(power));
  };
  return made;
}

}  // namespace straggler
