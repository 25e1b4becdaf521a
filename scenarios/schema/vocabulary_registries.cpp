#include <algorithm>

#include "models/compression/compressor.hpp"
#include "models/data/dataset.hpp"
#include "models/data/partition.hpp"
#include "models/optimizers/optimizer.hpp"
#include "models/zoo/layer_list.hpp"
#include "models/zoo/model.hpp"
#include "scenarios/schema/late_words.hpp"
#include "scenarios/schema/scenario.hpp"
#include "scenarios/schema/vocabulary.hpp"
#include "sim/base/registry.hpp"
#include "sim/cluster/availability.hpp"
#include "sim/cluster/compute.hpp"
#include "sim/cluster/device_profile.hpp"
#include "sim/cluster/duration_law.hpp"
#include "sim/cluster/host_machine.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/cluster/transport.hpp"
#include "sim/collectives/collective.hpp"
#include "sim/training/scheme.hpp"

namespace straggler {

namespace {

template <class Entry>
std::vector<Word> words_of() {
  std::vector<Word> words;
  for (const Entry& entry : Registry<Entry>::instance().entries())
    words.push_back({entry.name, entry.summary, entry.parameters, {}, {}, {}});
  return words;
}

/// Rounds exist in synchronous schemes, and in local ones from average to average. Other schemes publish whenever a gradient or a client's
/// result is there.
bool has_rounds(const SchemeEntry& scheme, const Parameters& parameters) {
  return scheme.family == Family::synchronous || scheme.family == Family::local || !scheme.asynchronous(parameters);
}

std::vector<Word> schemes() {
  std::vector<Word> words;
  for (const SchemeEntry& entry : Registry<SchemeEntry>::instance().entries()) {
    words.push_back(
        {entry.name,
         entry.summary,
         entry.parameters,
         [name = entry.name](const Parameters& parameters) { return Registry<SchemeEntry>::instance().at(name).needs_server(parameters); },
         entry.only_workers,
         {}});
    words.back().has_rounds = [name = entry.name](const Parameters& parameters) {
      return has_rounds(Registry<SchemeEntry>::instance().at(name), parameters);
    };
  }
  return words;
}

void fill(const DeviceProfile& profile, DeviceSpec& spec) {
  spec.profile = profile.name;
  spec.compute.form = ComputeSpec::Form::roofline;
  spec.compute.peak = profile.peak_flops;
  spec.compute.efficiency = profile.efficiency;
  spec.compute.memory_bandwidth = profile.memory_bandwidth;
  if (profile.dense_efficiency > 0) spec.compute.dense_efficiency = profile.dense_efficiency;
  if (profile.memory_efficiency > 0) spec.compute.memory_efficiency = profile.memory_efficiency;
  spec.compute.launch = profile.launch;
  spec.compute.issue = profile.issue;
  if (profile.half_peak_flops > 0)
    spec.compute.fp16 = HalfRates{profile.half_peak_flops, profile.half_efficiency, profile.half_launch.value_or(profile.launch),
                                  profile.half_issue.value_or(profile.issue), profile.half_dense_efficiency};
  if (profile.bfloat16) spec.compute.bf16 = spec.compute.fp16;
  if (profile.memory > 0) spec.memory = profile.memory;
  if (profile.busy_watts > 0) spec.known_busy = profile.busy_watts;
  if (profile.host_to_device > 0) spec.host_to_device = profile.host_to_device;
}

std::vector<Word> devices() {
  std::vector<Word> words = words_of<DeviceProfile>();
  for (Word& word : words) {
    word.fill = [profile = Registry<DeviceProfile>::instance().at(word.name)](DeviceSpec& spec) { fill(profile, spec); };
  }
  return words;
}

std::optional<LevelSpec> level_of(const HostMachine::Level& level) {
  if (level.workers == 0) return std::nullopt;
  return LevelSpec{level.workers, level.bandwidth, level.latency};
}

std::vector<Word> machines() {
  std::vector<Word> words = words_of<HostMachine>();
  for (Word& word : words) {
    word.fill_intra = [machine = Registry<HostMachine>::instance().at(word.name)](IntraSpec& spec) {
      spec.machine = machine.name;
      spec.up = spec.down = machine.bandwidth;
      spec.latency = machine.latency;
      spec.while_computing = machine.while_computing;
      spec.pcie_switch = level_of(machine.pcie_switch);
      spec.socket = level_of(machine.socket);
      spec.nvlink = level_of(machine.nvlink);
    };
  }
  return words;
}

std::vector<Word> models() {
  std::vector<Word> words;
  for (const ModelEntry& entry : Registry<ModelEntry>::instance().entries())
    if (entry.make) words.push_back({entry.name, entry.summary, entry.parameters, {}, {}, {}});
  return words;
}

std::vector<Word> cost_models() {
  std::vector<Word> words;
  for (const ModelEntry& entry : Registry<ModelEntry>::instance().entries())
    words.push_back({entry.name, entry.summary, entry.has_own_cost() ? entry.cost_parameters : entry.parameters, {}, {}, {}});
  return words;
}

std::vector<Word> lines() {
  std::vector<Word> words;
  for (LineKind& kind : line_kinds()) words.push_back({std::move(kind.name), std::move(kind.summary), kind.parameters, {}, {}, {}});
  return words;
}

// Moved into the map, one by one: a list in braces would copy all words.
Vocabulary vocabulary_of_registries() {
  Vocabulary vocabulary;
  const auto add = [&](KindGroup group, std::vector<Word> words) { vocabulary.words.emplace(group, std::move(words)); };
  add(KindGroup::scheme, schemes());
  add(KindGroup::collective, words_of<CollectiveEntry>());
  add(KindGroup::topology, words_of<TopologyEntry>());
  add(KindGroup::sharing, words_of<SharingEntry>());
  add(KindGroup::jitter, words_of<JitterEntry>());
  add(KindGroup::device, devices());
  add(KindGroup::model, models());
  add(KindGroup::cost_model, cost_models());
  add(KindGroup::data, words_of<DataEntry>());
  add(KindGroup::partition, words_of<PartitionEntry>());
  add(KindGroup::optimizer, words_of<OptimizerEntry>());
  add(KindGroup::schedule, words_of<ScheduleEntry>());
  add(KindGroup::compression, words_of<CompressorEntry>());
  add(KindGroup::availability, words_of<AvailabilityEntry>());
  add(KindGroup::machine, machines());
  add(KindGroup::layer, lines());
  add(KindGroup::law, words_of<DurationLawEntry>());
  return vocabulary;
}

Vocabulary& all_words() {
  static Vocabulary vocabulary = vocabulary_of_registries();
  return vocabulary;
}

}  // namespace

const Vocabulary& Vocabulary::from_registries() { return all_words(); }

void registries_have_changed() { all_words() = vocabulary_of_registries(); }

}  // namespace straggler
