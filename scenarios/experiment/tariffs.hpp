// What the machines of a scenario cost: prices, and power.
#pragma once
#include <string>
#include <vector>

#include "scenarios/schema/scenario.hpp"
#include "sim/record/costs.hpp"

namespace straggler {

/// `servers`: that the scheme uses; `aggregators`: on hosts of their own.
Tariffs tariffs_of(const Scenario& scenario, std::size_t servers, std::size_t aggregators);

/// Sentences: some groups of workers have no price, or no power, and others have.
std::vector<std::string> cost_doubts(const Scenario& scenario);

/// What a comparison by price, or by energy, lacks: "a price, and the scenario has none; write …". Empty: nothing.
std::string missing_prices(const Scenario& scenario);
std::string missing_power(const Scenario& scenario);

}  // namespace straggler
