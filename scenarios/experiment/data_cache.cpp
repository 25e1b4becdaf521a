#include "scenarios/experiment/data_cache.hpp"

#include <sys/stat.h>

#include "scenarios/experiment/workload_blueprint.hpp"

namespace straggler {
namespace {

/// Unlike the modification time, the time of the last status change cannot be set back (POSIX.1-2017, 4.9).
void add_state(Hasher& hasher, const std::filesystem::path& file) {
  struct stat state = {};
  if (::stat(file.c_str(), &state) != 0) return;  // the reader reports it
  for (const auto number :
       {static_cast<std::uint64_t>(state.st_dev), static_cast<std::uint64_t>(state.st_ino), static_cast<std::uint64_t>(state.st_size),
        static_cast<std::uint64_t>(state.st_ctim.tv_sec), static_cast<std::uint64_t>(state.st_ctim.tv_nsec)})
    hasher.add(number);
}

}  // namespace

DataCache::Source DataCache::source_of(const WorkloadBlueprint& blueprint, const Scenario& scenario) {
  Hasher files;
  for (const std::filesystem::path& file : blueprint.data_files(scenario)) add_state(files, file);
  Source source{scenario.workload.data, blueprint.base, {}, scenario.training.evaluate.split, files.key()};
  if (blueprint.data_entry->seeded || source.split == EvaluateSpec::Split::validation) source.seed = scenario.seed;
  return source;
}

std::shared_ptr<const Dataset> DataCache::load(const WorkloadBlueprint& blueprint, const Scenario& scenario, unsigned threads) {
  Source source = source_of(blueprint, scenario);
  const AugmentSpec& augment = scenario.workload.augment;
  const std::lock_guard lock(mutex_);  // held while loading: others that want the same set wait for it
  for (auto at = recent_.begin(); at != recent_.end(); ++at)
    if (at->source == source && at->augment == augment) {
      recent_.splice(recent_.begin(), recent_, at);
      return recent_.front().data;
    }
  auto data = std::make_shared<const Dataset>(blueprint.load_data(scenario, threads));
  recent_.push_front({std::move(source), augment, data});
  if (recent_.size() > most_sets) recent_.pop_back();
  return data;
}

Key DataCache::content(const WorkloadBlueprint& blueprint, const Scenario& scenario) {
  Source source = source_of(blueprint, scenario);
  const std::lock_guard lock(mutex_);
  for (const auto& [known, name] : names_)
    if (known == source) return name;
  const Key name = blueprint.data_content(scenario);
  names_.emplace_front(std::move(source), name);
  if (names_.size() > most_names) names_.pop_back();
  return name;
}

}  // namespace straggler
