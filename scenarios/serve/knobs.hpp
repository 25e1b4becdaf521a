// Settings that a page may change: sliders, choices and switches, each with its range, and the changed scenario.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scenarios/schema/scenario.hpp"
#include "sim/base/parameters.hpp"

namespace straggler {

/// One setting. Numbers are in SI: seconds, bytes, bytes per second.
struct Knob {
  std::string key;  // "workers", "scheme", "scheme.steps"
  std::string label, meaning;
  ValueType type = ValueType::number;
  bool is_set = true;                     // false: an optional parameter without a value
  double value = 0, low = 0, high = 0;    // of a number
  bool logarithmic = false;               // of its slider
  bool zero = false;                      // the lower end of its slider is 0, not `low`
  std::vector<std::string> choices = {};  // ValueType::choice
  std::string chosen = {};
  std::vector<std::string> families = {};  // [choices], of schemes; else empty
  bool on = false;                         // ValueType::boolean
};
nlohmann::ordered_json json_of(const Knob& knob);

/// The knobs of `now`, which is `base` after changed(): workers, slow workers, bandwidth, latency, jitter, scheme, their parameters, batch.
/// A knob that the scenario leaves no room for (a topology from a file brings its own links) is left out. Ranges follow from `base` and
/// from the parameters' declarations, so that they stay while a slider moves.
std::vector<Knob> knobs_of(const Scenario& now, const Scenario& base);

/// `base` with `settings` {key: value}: only knobs, within their ranges; nothing else of a scenario can be changed this way, and no path.
/// The result has been read back from its text, so it is as valid as one from a file. Additions that make it run (a server) are reported in
/// `notes`. Throws std::invalid_argument ("what is wrong; what would be right") or ScenarioErrors.
Scenario changed(const Scenario& base, const nlohmann::ordered_json& settings, std::vector<std::string>& notes);

}  // namespace straggler
