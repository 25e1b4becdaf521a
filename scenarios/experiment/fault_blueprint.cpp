// The faults of a blueprint that happen again and again.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "scenarios/experiment/at_place.hpp"
#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/experiment/failure_trace.hpp"

namespace straggler {

namespace {

using FaultKind = FaultSpec::Kind;
using Stage = FaultProcess::Stage;

std::shared_ptr<const DurationLaw> law_of(const Kind& kind) {
  return Registry<DurationLawEntry>::instance().at(kind.name).make(kind.parameters);
}

std::vector<Stage> cycle_of(const FaultSpec& spec) {
  const auto every = law_of(spec.every);
  switch (spec.kind) {
    case FaultKind::fail_slow:
      return {{every, FaultAct::impair}, {law_of(spec.lasts), FaultAct::restore}};
    case FaultKind::preempt:
      return {{every, FaultAct::notice},
              {law_of({"constant", {{"mean", spec.notice}}}), FaultAct::fail},
              {law_of(spec.back_after), FaultAct::repair}};
    default:
      return {{every, FaultAct::fail}, {law_of(spec.repair), FaultAct::repair}};
  }
}

/// Of each kind of unit that the file names.
std::vector<FaultProcess> recorded(const FaultSpec& spec, const FaultUnits& units) {
  std::map<UnitKind, FaultProcess> out;
  for (auto& [unit, ends] : read_failure_trace(spec.path, units, spec.of)) {
    FaultProcess& process = out[unit.kind];
    process.of = unit.kind;
    process.cycle = {{nullptr, FaultAct::fail}, {nullptr, FaultAct::repair}};
    process.recorded.emplace_back(unit.number, std::move(ends));
  }
  std::vector<FaultProcess> all;
  for (auto& [kind, process] : out) all.push_back(std::move(process));
  return all;
}

bool moves_links(const FaultProcess& process) { return process.bandwidth_factor != 1 || (process.of == UnitKind::link && process.fails()); }

}  // namespace

void Blueprint::check_fault_process(const Scenario& scenario, const std::string& place, const FaultProcess& process) const {
  if (process.of == UnitKind::server && servers == 0)
    throw_error(scenario, place,
                scheme_entry->name +
                    (scenario.cluster.servers.count == 0 ? " has no server that could fail: the cluster has none" : " uses no server") +
                    "; write another unit, such as worker");
  if (fault_units->count(process.of) == 0)
    throw_error(scenario, place,
                "topology " + scenario.cluster.network.topology.name +
                    " has no racks; write host, or a topology with racks: two_level, fat_tree or dragonfly");
  if (moves_links(process) && scenario.cluster.network.jitter.name != "none")
    throw_error(scenario, place, "it changes a bandwidth that network.jitter changes, too; remove one of the two");
  if (!process.fails() || fault_units->replicas() > 1 || scenario.rolls_back()) return;
  if (fault_units->take_servers(process.of))
    throw_error(scenario, place,
                std::string(process.of == UnitKind::server ? "a server that fails" : "servers live on these hosts, and one that fails") +
                    " takes the only copy of its weights; write cluster.servers.replicas: 2, or training.recovery: {kind: rollback}");
}

void Blueprint::resolve_fault_processes(const Scenario& scenario) {
  const std::vector<FaultSpec>& faults = scenario.cluster.faults;
  if (!std::ranges::any_of(faults, repeats)) return;
  fault_units = std::make_shared<const FaultUnits>(*fabric, servers, static_cast<std::size_t>(scenario.cluster.servers.replicas));
  std::map<std::pair<FaultKind, UnitKind>, int> alike;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const FaultSpec& spec = faults[i];
    if (!repeats(spec)) continue;
    const std::string place = fmt::format("cluster.faults[{}]", i);
    std::vector<FaultProcess> processes;
    if (spec.kind == FaultKind::trace) {
      processes = at_place(scenario, place + ".path", [&] { return recorded(spec, *fault_units); });
    } else {
      FaultProcess& process = processes.emplace_back();
      process.of = spec.of;
      process.cycle = cycle_of(spec);
      process.stream = fmt::format("{}/{}", name_of(spec.kind), alike[{spec.kind, spec.of}]++);
      process.times_slower = spec.slower.value_or(1);
      process.bandwidth_factor = spec.narrower.value_or(1);
    }
    for (FaultProcess& process : processes) {
      check_fault_process(scenario, place + (spec.kind == FaultKind::trace ? ".path" : ".of"), process);
      fault_processes_.push_back(std::move(process));
    }
  }
}

}  // namespace straggler
