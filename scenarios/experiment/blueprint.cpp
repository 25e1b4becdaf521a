#include "scenarios/experiment/blueprint.hpp"

#include "scenarios/experiment/memory.hpp"

namespace straggler {

Blueprint::Blueprint(const Scenario& scenario, const std::string& kernel_set, const WhatIf& changes)
    : TrainingBlueprint(scenario, kernel_set, changes) {
  resolve_cluster(scenario);
  refuse_sharding(scenario);
  resolve_collective(scenario);
  resolve_sharding(scenario);
  check_memory(scenario, *this);
  faults_ = resolve_faults(scenario);
  token_buckets(scenario);  // throws on errors in them; they are not kept, since a million workers may have two each
  background_ = resolve_background(scenario);
}

}  // namespace straggler
