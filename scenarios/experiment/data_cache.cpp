#include "scenarios/experiment/data_cache.hpp"

#include "scenarios/experiment/blueprint.hpp"

namespace straggler {

std::shared_ptr<const Dataset> DataCache::load(const Blueprint& blueprint, const Scenario& scenario, unsigned threads) {
  const Kind& data = scenario.workload.data;
  const std::string& split = scenario.training.evaluate.split;
  const AugmentSpec& augment = scenario.workload.augment;
  std::optional<std::uint64_t> seed;
  if (blueprint.data_entry->seeded || split == "validation") seed = scenario.seed;
  const std::lock_guard lock(mutex_);  // held while loading: who wants the same set waits for it
  for (auto at = recent_.begin(); at != recent_.end(); ++at)
    if (at->data == data && at->base == blueprint.base && at->seed == seed && at->split == split && at->augment == augment) {
      recent_.splice(recent_.begin(), recent_, at);
      return recent_.front().set;
    }
  auto set = std::make_shared<const Dataset>(blueprint.load_data(scenario, threads));
  recent_.push_front({data, blueprint.base, seed, split, augment, set});
  if (recent_.size() > most_sets) recent_.pop_back();
  return set;
}

}  // namespace straggler
