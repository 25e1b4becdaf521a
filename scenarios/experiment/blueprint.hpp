// A scenario resolved: every name looked up, every size known. No data is read yet. In three layers, each built on the previous one: the
// workload (workload_blueprint.hpp), its training (training_blueprint.hpp), and here the cluster.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "scenarios/experiment/training_blueprint.hpp"
#include "sim/cluster/compute.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/cluster/transport.hpp"
#include "sim/collectives/collective.hpp"
#include "sim/simulated/simulated_cluster.hpp"

namespace straggler {

struct CollectiveTime;

struct Blueprint : TrainingBlueprint {
  std::shared_ptr<const Fabric> fabric;
  std::unique_ptr<SharingModel> sharing;
  std::vector<std::uint32_t> group_of;                      // [workers]
  std::vector<Rank> first_of_group;                         // [groups]: worker
  std::vector<std::unique_ptr<Availability>> availability;  // [groups], null: always; empty: all are there, always
  std::size_t servers = 0;                                  // that the scheme uses
  std::shared_ptr<const FaultUnits> fault_units;            // null: none fails again and again
  bool aggregators_share = false;                           // each lives on the host of the first worker of its group

  const CollectiveEntry* all_reduce = nullptr;  // null: the scheme does not use one
  CollectiveShape shape;
  UniformLinks uniform;             // as between the first worker and the first on another host
  std::vector<Bucket> buckets;      // of a gradient; empty: one
  std::uint64_t reduced_bytes = 0;  // of the largest message that is all-reduced
  Tariffs tariffs;                  // of the machines that the scheme uses

  /// Throws ScenarioErrors, DataError or std::invalid_argument.
  Blueprint(const Scenario& scenario, const std::string& kernel_set, const WhatIf& changes = {});

  /// Seconds in which the worker computes so many samples, in its micro-batches, on its own and before jitter.
  double batch_seconds(const Scenario& scenario, Rank worker, std::int64_t samples) const;
  /// The same of its batch (Batches::usual).
  double batch_seconds(const Scenario& scenario, Rank worker) const { return batch_seconds(scenario, worker, plan.batches.usual(worker)); }
  /// All-reduces are all-gathers of compressed gradients.
  bool gathers() const { return all_reduce && compression && compression->gathered; }
  /// The all-reduce's name, and a library's choice for each bucket: "nccl: ring, Simple (2 buckets); tree, LL128 (1 bucket)".
  std::string described_collective(const Scenario& scenario) const;
  /// As Experiment::collective_times.
  std::vector<CollectiveTime> collective_times(const Scenario& scenario) const;
  /// Bytes per second of one message between two hosts at most; infinite if there is no such limit.
  double connection(const Scenario& scenario) const;
  const RecoverySettings& recovery() const { return recovery_; }
  /// Settings of the back end.
  SimulatedCluster cluster(const Scenario& scenario) const;
  /// Failures that stop the job.
  struct Stops {
    double rate = 0;       // a second; 0: none comes at random
    double known = 0;      // seconds, in the mean, from one until it is known, and repaired where the job waits for that
    bool regular = false;  // some come at constant times
  };
  Stops stops(const Scenario& scenario) const;

 private:
  void resolve_cluster(const Scenario& scenario);
  void resolve_jitters(const Scenario& scenario);
  void resolve_availability(const Scenario& scenario);
  void resolve_client_seconds(const Scenario& scenario);
  void require_one_host(const Scenario& scenario) const;
  void compress_buckets();
  std::vector<Bucket> merged_gradients(const Scenario& scenario) const;
  void resolve_collective(const Scenario& scenario);
  Parameters collective_parameters(const Scenario& scenario, const CollectiveEntry& entry) const;
  void check_stepwise(const Scenario& scenario) const;
  void refuse_sharding(const Scenario& scenario) const;
  void refuse_unequal_hosts(const Scenario& scenario) const;
  void resolve_sharding(const Scenario& scenario);
  void resolve_tariffs(const Scenario& scenario);
  /// The share of the largest of `ways` parts that are whole tensors, times `ways`.
  double padding_of_tensors(Rank ways) const;
  /// Of the time of a batch in group `g`.
  double share_of_last_micro_batch(std::size_t g) const;
  /// [micro-batches] the share at which each is over.
  std::vector<double> ends_of_micro_batches(std::size_t g) const;
  std::shared_ptr<const Fabric> make_fabric(const Scenario& scenario) const;
  void resolve_aggregators(const Scenario& scenario);
  Placement placement(const Scenario& scenario) const;
  /// Between workers of one host, where that takes time.
  std::optional<Placement::Intra> intra(const Scenario& scenario) const;
  ComputePlan compute_plan(const Scenario& scenario) const;
  std::vector<Fault> resolve_faults(const Scenario& scenario) const;
  void resolve_fault_processes(const Scenario& scenario);
  void check_fault_process(const Scenario& scenario, const std::string& place, const FaultProcess& process) const;
  void refuse_rollback(const Scenario& scenario) const;
  void refuse_replacement(const Scenario& scenario) const;
  RecoverySettings recovery_settings(const Scenario& scenario) const;
  double seconds_of_state(double bytes_per_second) const;
  double known_and_repaired(const FaultSpec& fault) const;
  double optimal_interval(const Scenario& scenario, const RecoverySettings& policy) const;
  std::vector<TokenBucket> token_buckets(const Scenario& scenario) const;
  std::vector<BackgroundTraffic> resolve_background(const Scenario& scenario) const;

  std::vector<Fault> faults_;
  std::vector<FaultProcess> fault_processes_;
  RecoverySettings recovery_;
  std::vector<BackgroundTraffic> background_;
};

}  // namespace straggler
