// Runs a race: first every entrant's candidates, then, with the best of them, every entrant from every seed.
#pragma once
#include <optional>
#include <string>

#include "scenarios/race/race.hpp"
#include "scenarios/race/race_outcome.hpp"
#include "scenarios/sweep/point_pool.hpp"

namespace straggler {

/// Prepares each entrant's first run without running it, so that a scheme that does not fit its cluster or its compression is reported at
/// once. Throws ScenarioErrors with the entrant as it was given.
void check_runs(const Race& race, const RaceReader& reader);

/// Whether any of the runs that it begins with is finished already. Throws ScenarioErrors.
bool can_resume(const Race& race, const RaceReader& reader, const PointPool& pool);

/// Throws ScenarioErrors before a stage is run if a scenario of it is wrong.
RaceOutcome run_race(const Race& race, const RaceReader& reader, PointPool& pool);

/// Before anything is computed: with this number of seeds and entrants even the clearest difference, between runs that reach a threshold
/// and runs that miss it, cannot be significant. Names the number of seeds that could be. None: it can be, or no run can miss (timing
/// alone).
std::optional<std::string> too_few_seeds_warning(const Race& race);

/// Before anything is computed: entrants average unequally (SchemeEntry::average), and workers have unequal numbers of samples, so that
/// their optima differ. None: they do not, or timing alone. Throws ScenarioErrors.
std::optional<std::string> two_optima_warning(const Race& race, const RaceReader& reader);

/// The identity of the race: its scenario, entrants and tuned settings.
Description describe(const Race& race, const RaceReader& reader);

}  // namespace straggler
