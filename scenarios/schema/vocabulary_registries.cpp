#include "models/data/dataset.hpp"
#include "models/data/partition.hpp"
#include "models/optimizers/optimizer.hpp"
#include "models/zoo/model.hpp"
#include "scenarios/schema/vocabulary.hpp"
#include "sim/base/registry.hpp"
#include "sim/cluster/compute.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/collectives/collective.hpp"
#include "sim/schemes/scheme.hpp"

namespace straggler {

namespace {

template <class Entry>
std::vector<Word> words_of() {
  std::vector<Word> words;
  for (const Entry& entry : Registry<Entry>::instance().entries()) words.push_back({entry.name, entry.summary, entry.parameters, {}, {}});
  return words;
}

std::vector<Word> schemes() {
  std::vector<Word> words;
  for (const SchemeEntry& entry : Registry<SchemeEntry>::instance().entries())
    words.push_back({entry.name, entry.summary, entry.parameters, entry.needs_server, entry.only_workers});
  return words;
}

}  // namespace

const Vocabulary& Vocabulary::from_registries() {
  static const Vocabulary vocabulary{{
      {KindGroup::scheme, schemes()},
      {KindGroup::collective, words_of<CollectiveEntry>()},
      {KindGroup::topology, words_of<TopologyEntry>()},
      {KindGroup::jitter, words_of<JitterEntry>()},
      {KindGroup::model, words_of<ModelEntry>()},
      {KindGroup::data, words_of<DataEntry>()},
      {KindGroup::partition, words_of<PartitionEntry>()},
      {KindGroup::optimizer, words_of<OptimizerEntry>()},
      {KindGroup::schedule, words_of<ScheduleEntry>()},
  }};
  return vocabulary;
}

}  // namespace straggler
