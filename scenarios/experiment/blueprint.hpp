// A scenario resolved: every name looked up, every size known. No data is read yet.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/data/dataset.hpp"
#include "models/data/partition.hpp"
#include "models/optimizers/optimizer.hpp"
#include "models/zoo/model.hpp"
#include "scenarios/schema/scenario.hpp"
#include "sim/backend/run_recorder.hpp"
#include "sim/cluster/compute.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/collectives/collective.hpp"
#include "sim/schemes/node.hpp"

namespace straggler {

struct Blueprint {
  const SchemeEntry* scheme_entry = nullptr;
  const DataEntry* data_entry = nullptr;
  const PartitionEntry* partition_entry = nullptr;
  const CollectiveEntry* all_reduce = nullptr;  // null: the scheme does not use one
  const Kernels* kernels = nullptr;
  std::filesystem::path base;  // where relative paths start

  std::unique_ptr<Scheme> scheme;
  std::unique_ptr<Model> model;
  std::unique_ptr<UpdateRule> optimizer;
  std::unique_ptr<Topology> topology;
  std::vector<std::unique_ptr<ComputeTime>> group_times;  // [groups]
  std::vector<std::uint32_t> group_of;                    // [workers]
  DataInfo data;                                          // the training size without what is held out
  StreamSizes streams;
  TrainingPlan plan;
  StopRule stop;
  EvaluationRule evaluation;
  std::size_t servers = 0;        // that the scheme uses
  std::uint64_t model_bytes = 0;  // on the wire

  /// Throws ScenarioErrors, DataError or std::invalid_argument.
  Blueprint(const Scenario& scenario, const std::string& kernel_set);
  /// The data with its validation split, if one is held out. Throws ScenarioErrors where its files are wrong.
  Dataset load_data(const Scenario& scenario) const;
  std::vector<WorkerCompute> worker_compute(const Scenario& scenario) const;
  PartitionRequest partition_request(const Scenario& scenario) const;
  /// Root of all keys: data (its content if known), partition, model, seed, kernel set.
  Key root_key(const Scenario& scenario, const Dataset* loaded) const;

 private:
  void resolve_data(const Scenario& scenario);
  void resolve_workload(const Scenario& scenario);
  void resolve_training(const Scenario& scenario);
  void resolve_cluster(const Scenario& scenario);
};

/// Share of the training samples that `evaluate.split: validation` holds out.
inline constexpr double validation_share = 0.1;

}  // namespace straggler
