// The parts of a scenario, one reader each. Problems go to the context; what could not be read keeps its default.
#pragma once
#include "scenarios/schema/reader.hpp"
#include "scenarios/schema/section.hpp"

namespace straggler {

/// The section is there.
std::map<std::string, DeviceSpec> read_devices(Section devices);
/// `devices`: for the names that workers may use; null: not known, so any.
ClusterSpec read_cluster(Section cluster, const std::map<std::string, DeviceSpec>* devices, const ReadOptions& options);
WorkloadSpec read_workload(Section workload);
TrainingSpec read_training(Section training);

/// Letters, digits, - and _; at most 100 of them.
bool is_name(std::string_view text);

}  // namespace straggler
