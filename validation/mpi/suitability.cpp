#include "validation/mpi/suitability.hpp"

#include "scenarios/schema/reader.hpp"

namespace straggler {

int ranks_needed(const Scenario& scenario, const Blueprint& blueprint) {
  const bool server = blueprint.scheme_entry->needs_server(scenario.training.scheme.parameters);
  return static_cast<int>(scenario.workers()) + (server ? 1 : 0) + blueprint.plan.aggregation.count();
}

namespace {

void refuse_training(const Scenario& scenario, const Blueprint& blueprint) {
  if (!blueprint.scheme_entry->real)
    throw_error(scenario, "training.scheme", blueprint.scheme_entry->name + " can only be simulated; use straggler run");
  if (!blueprint.has_data()) throw_error(scenario, "workload.data", "real ranks learn, and there is no data; name a data set");
  if (scenario.training.stop.target_accuracy && scenario.training.stop.on_target == StopSpec::OnTarget::stop)
    throw_error(
        scenario, "training.stop.target_accuracy",
        "a real run is evaluated after its clock has stopped, so it cannot stop at an accuracy; add on_target: continue, and another stop");
  if (blueprint.partition_entry->simulated_only && scenario.workers() > 1)
    throw_error(scenario, "workload.data.partition",
                blueprint.partition_entry->name + " needs a shared pool, which real processes do not have; take iid");
  if (scenario.workload.cost.model || scenario.workload.cost.bytes)
    throw_error(scenario, "workload.cost", "real messages are of the model that trains; remove cost");
  if (scenario.workload.precision != NumberFormat::fp32)
    throw_error(scenario, "workload.precision",
                "real messages are in fp32, not " + std::string(precision_choice.name_of(scenario.workload.precision)) + "; remove it");
  if (blueprint.model->statistics() > 0 && !scenario.workload.exchange_statistics)
    throw_error(scenario, "workload.batch_norm.exchange",
                "real messages carry batch norm's running statistics and average them; write true");
  if (blueprint.plan.rebalance_every > 0)
    throw_error(scenario, "training.batch.rebalance", "real ranks keep their batches; remove it, or use straggler run");
  if (blueprint.plan.batches.are_stated())
    throw_error(scenario, scenario.training.batch.global ? "training.batch.split" : "cluster.workers",
                "real ranks sum without weights, so their batches are equal; write training.batch.per_worker alone, or use straggler run");
  if (scenario.training.sharding)
    throw_error(scenario, "training.sharding", "states are shared in simulated time only; remove it, or use straggler run");
  if (blueprint.plan.accumulate > 1)
    throw_error(scenario, "training.batch.accumulate", "real ranks compute a batch in one piece; remove it, or use straggler run");
  if (scenario.training.recovery)
    throw_error(scenario, "training.recovery", "real jobs are saved by --checkpoint-every and started again with --resume; remove it");
  if (scenario.workload.serial_per_epoch > 0) throw_error(scenario, "workload.serial_per_epoch", "real workers do not pause; remove it");
}

void refuse_cluster(const Scenario& scenario, const Blueprint& blueprint) {
  const ClusterSpec& cluster = scenario.cluster;
  for (std::size_t g = 0; g < blueprint.availability.size(); ++g)
    if (blueprint.availability[g])
      throw_error(scenario, "cluster.workers[" + std::to_string(g) + "].availability",
                  "real ranks are always present; write always, or use straggler run");
  if (!cluster.faults.empty()) throw_error(scenario, "cluster.faults", "a real run has no simulated faults; remove them");
  if (!cluster.network.background.empty())
    throw_error(scenario, "cluster.network.background", "a real run makes no background traffic; remove it");
  if (blueprint.servers > 1)
    throw_error(scenario, "cluster.servers.count",
                "there is one server in a real run, not " + std::to_string(blueprint.servers) + "; make it 1");
  if (!blueprint.all_reduce) return;
  const CollectiveSpec& collective = cluster.network.collective;
  if (collective.algorithm != "auto" && collective.algorithm != "ring")
    throw_error(scenario, "cluster.network.collective.algorithm",
                "real ranks reduce around a ring, not by " + collective.algorithm + "; take ring");
  if (collective.parameters.has("chunk"))
    throw_error(scenario, "cluster.network.collective.algorithm.chunk", "real ranks send a step's chunk in one message; remove it");
  if (collective.parameters.has("slices") && collective.parameters.count("slices") > 1)
    throw_error(scenario, "cluster.network.collective.algorithm.slices", "real ranks send a step's chunk in one message; make it 1");
  if (collective.overlap || collective.bucket)
    throw_error(scenario, collective.overlap ? "cluster.network.collective.overlap" : "cluster.network.collective.bucket",
                "a real gradient is reduced in one piece when backward is done; remove it");
}

void refuse_devices(const Scenario& scenario) {
  for (std::size_t g = 0; g < scenario.cluster.workers.size(); ++g) {
    const WorkerGroup& group = scenario.cluster.workers[g];
    const DeviceSpec& device = scenario.devices.at(group.device);
    if (device.loader) throw_error(scenario, "devices." + group.device + ".loader", "loaders are not emulated; remove it");
    if (device.host_to_device)
      throw_error(scenario, "devices." + group.device + ".host_to_device", "copies to a device are not emulated; remove it");
    if (device.compress)
      throw_error(scenario, "devices." + group.device + ".compress", "real ranks encode and decode at their own speed; remove it");
    if (group.cores_per_host && *group.cores_per_host < group.per_host)
      throw_error(scenario, "cluster.workers[" + std::to_string(g) + "].cores_per_host", "shared cores are not emulated; remove it");
    if (group.memory_bandwidth)
      throw_error(scenario, "cluster.workers[" + std::to_string(g) + "].memory_bandwidth", "shared memory is not emulated; remove it");
  }
}

}  // namespace

void refuse_to_save(const Scenario& scenario, const Blueprint& blueprint) {
  constexpr const char* remedy = "; leave out --checkpoint-every and --resume";
  if (blueprint.scheme_entry->name != "ssgd")  // of which all ranks hold the same state
    throw_error(scenario, "training.scheme", "real ranks save the state of ssgd alone, not of " + blueprint.scheme_entry->name + remedy);
  if (blueprint.compression)
    throw_error(scenario, "training.compression", std::string("what compression keeps on each rank is not saved") + remedy);
}

void refuse_what_is_simulated_only(const Scenario& scenario, const Blueprint& blueprint, bool emulated) {
  refuse_training(scenario, blueprint);
  refuse_cluster(scenario, blueprint);
  if (emulated) refuse_devices(scenario);
}

std::string name_the_ring(Scenario& scenario, const Blueprint& blueprint) {
  CollectiveSpec& collective = scenario.cluster.network.collective;
  if (!blueprint.all_reduce || collective.algorithm != "auto") return {};
  collective.algorithm = "ring";
  const std::string chosen(blueprint.all_reduce->name);
  return chosen == "ring" || blueprint.gathers() ? std::string() : chosen;
}

}  // namespace straggler
