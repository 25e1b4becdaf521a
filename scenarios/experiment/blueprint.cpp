#include "scenarios/experiment/blueprint.hpp"

#include "scenarios/experiment/memory.hpp"

namespace straggler {

Blueprint::Blueprint(const Scenario& scenario, const std::string& kernel_set, const WhatIf& changes)
    : TrainingBlueprint(scenario, kernel_set, changes) {
  resolve_cluster(scenario);
  resolve_collective(scenario);
  check_memory(scenario, *this);
  faults(scenario);  // these throw on errors in them
  token_buckets(scenario);
  background(scenario);
}

}  // namespace straggler
