// What a what-if page shows of a changed scenario, as JSON: without HTTP, files and threads, so that `straggler serve` and the page that
// holds the simulator (tools/page) share it.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/report/figure.hpp"
#include "scenarios/schema/scenario.hpp"
#include "sim/record/phase.hpp"

namespace straggler {

/// As a page's script draws it: its data, or its still form where the program carries nothing that draws.
nlohmann::ordered_json drawn(const Figure& figure);

/// A scenario as it is, and as settings of the page change it.
struct ChangedScenario {
  Scenario base, changed;
  std::vector<std::string> notes;  // additions that make the change run
  bool as_it_is() const { return changed == base; }
};
/// As changed() of knobs.hpp.
ChangedScenario changed_by(Scenario base, const nlohmann::ordered_json& settings);

class WhatIfPage {
 public:
  /// The wall time of a preview.
  static constexpr std::chrono::milliseconds budget{45};

  /// Rates, split of time, timeline, and knobs. `key` tells scenarios apart: the split of the last one as it is stands beside each change.
  /// None: superseded() said so. Throws as preview().
  std::optional<nlohmann::ordered_json> answer(const std::string& key, const ChangedScenario& asked, std::chrono::milliseconds wall,
                                               const std::function<bool()>& superseded);

 private:
  std::map<std::string, ByPhase<double>> own_shares_;  // of scenarios as they are
};

}  // namespace straggler
