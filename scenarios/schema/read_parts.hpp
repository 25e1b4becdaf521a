// The parts of a scenario, one reader each. Problems go to the context; unreadable values keep their defaults.
#pragma once
#include "scenarios/schema/part.hpp"
#include "scenarios/schema/read_options.hpp"
#include "scenarios/schema/scenario.hpp"
#include "scenarios/schema/section.hpp"

namespace straggler {

/// The section is there.
std::map<std::string, DeviceSpec> read_devices(Section devices);
/// A built-in device as it is; nothing if there is none of that name.
std::optional<DeviceSpec> built_in_device(ReadContext& context, const std::string& name);

/// Without `devices_given` any device name is accepted: the caller reports the missing section.
ClusterSpec read_cluster(Section cluster);
/// The `link` of `owner`, on top of the network's; nothing if it has none.
std::optional<LinkSpec> read_link_override(Section& owner, const NetworkSpec& network);
Field<ClusterSpec> faults_field();
/// Of the kinds that happen again and again.
std::vector<Field<FaultSpec>> fault_process_fields();
void check_fault_process(Section& fault, const FaultSpec& spec);
/// Checks across the parts of a cluster, once all of them could be read.
void check_cluster(ReadContext& context, const ClusterSpec& cluster);
/// A currency is of prices.
void check_currency(ReadContext& context, const Scenario& scenario);
void check_faults(ReadContext& context, const ClusterSpec& cluster);

WorkloadSpec read_workload(Section workload);
TrainingSpec read_training(Section training);

/// The keys of a link of a group or of the servers, which stands on the network's, and its text (WriteContext::link: the network's).
std::vector<ScenarioKey> link_override_keys();
std::string link_override_text(const LinkSpec& link, const WriteContext& context);

/// The declarations.
const Part<DeviceSpec>& device_part();  // of an entry of `devices`
const Part<ClusterSpec>& cluster_part();
const Part<NetworkSpec>& network_part();
const Part<WorkloadSpec>& workload_part();
const Part<TrainingSpec>& training_part();

/// `bandwidth` (both directions), `up` and `down`, as they stand somewhere: the more special one counts.
struct LinkRates {
  std::optional<double> both, up, down;
  bool any() const { return both || up || down; }
  /// Overrides the rates of `link`.
  void apply(LinkSpec& link) const;
  /// The problem of their combination, over `link`; empty: none.
  std::string conflict(const LinkSpec& link, bool half_duplex) const;
};

/// Defaults of a row of a population file.
struct PopulationBase {
  ComputeSpec compute;       // of the group's device
  LinkSpec link;             // of the group
  bool half_duplex = false;  // of the network
  std::uint64_t memory = 0;  // bytes that rows may fill
};
/// The rows of `file`, a CSV with a header of column names. Problems stand at `node` and name the file's line and column; then there
/// are no rows.
std::vector<DeviceRow> read_population(ReadContext& context, const YamlNode& node, const std::string& path, const std::string& file,
                                       const PopulationBase& base);

/// Letters, digits, - and _; at most 100 of them.
bool is_name(std::string_view text);

}  // namespace straggler
