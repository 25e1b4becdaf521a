// A scenario resolved: every name looked up, every size known. No data is read yet.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/compression/compressor.hpp"
#include "models/data/dataset.hpp"
#include "models/data/partition.hpp"
#include "models/executor/numerics.hpp"
#include "models/optimizers/optimizer.hpp"
#include "models/safetensors/model_weights.hpp"
#include "models/zoo/cost_model.hpp"
#include "models/zoo/model.hpp"
#include "scenarios/experiment/what_if.hpp"
#include "scenarios/schema/scenario.hpp"
#include "sim/cluster/compute.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/cluster/transport.hpp"
#include "sim/collectives/collective.hpp"
#include "sim/record/run_recorder.hpp"
#include "sim/simulated/simulated_cluster.hpp"
#include "sim/training/node.hpp"

namespace straggler {

/// A part of the root key, and what a user calls it.
struct RootPart {
  const char* place = nullptr;
  Key key;
  bool operator==(const RootPart& other) const { return place == std::string_view(other.place) && key == other.key; }
};

struct CollectiveTime;

struct Blueprint {
  const SchemeEntry* scheme_entry = nullptr;
  const DataEntry* data_entry = nullptr;
  const PartitionEntry* partition_entry = nullptr;
  const CollectiveEntry* all_reduce = nullptr;  // null: the scheme does not use one
  const CompressorEntry* compressor = nullptr;  // `none`: gradients travel as they are
  const Kernels* kernels = nullptr;
  std::filesystem::path base;  // where relative paths start
  WhatIf what_if;

  std::unique_ptr<Scheme> scheme;
  std::unique_ptr<Model> model;  // null: there is no data, so that nothing learns
  ModelWeights start;            // from workload.model.weights; empty: from the seed
  std::string start_note;        // a sentence for the user; empty: all was there
  std::unique_ptr<UpdateRule> optimizer;
  std::unique_ptr<UpdateRule> outer_optimizer;  // null: the scheme has none
  std::unique_ptr<Compression> compression;     // null: gradients travel as they are
  CostTable cost;                               // of what is priced: the model, or another one; no layers if just bytes are
  std::shared_ptr<const Fabric> fabric;
  std::unique_ptr<SharingModel> sharing;
  std::vector<std::unique_ptr<ComputeTime>> group_times;             // [groups]
  std::vector<std::vector<std::unique_ptr<ComputeTime>>> row_times;  // [groups][rows of the population]; null: the group's
  std::vector<std::uint32_t> group_of;                               // [workers]
  std::vector<Rank> first_of_group;                                  // [groups]: worker
  std::vector<std::unique_ptr<Availability>> availability;           // [groups], null: always; empty: all are there, always
  CollectiveShape shape;
  std::uint64_t reduced_bytes = 0;  // of the largest message that is all-reduced
  UniformLinks uniform;             // as between the first worker and the first on another host
  std::vector<Bucket> buckets;      // of a gradient; empty: one
  DataInfo data;                    // the training size without what is held out
  Augmentation augment;
  StreamSizes streams;
  TrainingPlan plan;
  StopRule stop;
  EvaluationRule evaluation;
  std::size_t servers = 0;             // that the scheme uses
  bool aggregators_share = false;      // each lives on the host of the first worker of its group
  std::uint64_t model_bytes = 0;       // on the wire
  std::uint64_t statistics_bytes = 0;  // of running statistics beside each gradient or model; 0: they do not travel
  Numerics numerics;

  /// False: timing alone.
  bool has_data() const { return data_entry->name != no_data; }
  /// Bytes of a number that is computed with or sent.
  std::uint64_t number_bytes() const { return numerics.precision == Precision::fp32 ? 4 : 2; }
  /// Parameters of what is priced.
  std::uint64_t priced_parameters() const { return model_bytes / number_bytes(); }
  /// Of a compressed message from a worker; gossip sends what estimates lack. Only where the run compresses.
  std::uint64_t message_bytes_compressed() const { return compression->gossips ? compression->tracking_bytes : compression->bytes; }
  /// All-reduces are all-gathers of compressed gradients.
  bool gathers() const { return all_reduce && compression && compression->gathered; }
  /// Vectors of optimizer state, of four bytes a parameter, where updates are applied.
  std::size_t state_vectors() const;
  /// Throws ScenarioErrors, DataError or std::invalid_argument.
  Blueprint(const Scenario& scenario, const std::string& kernel_set, const WhatIf& changes = {});
  /// Only what values are named by (root_key), of no cluster. Throws as the constructor does.
  static Blueprint of_values(const Scenario& scenario, const std::string& kernel_set) { return Blueprint(scenario, kernel_set, Values{}); }
  /// The data with its validation split, if one is held out; read on at most this many threads. Throws ScenarioErrors where its files are
  /// wrong.
  Dataset load_data(const Scenario& scenario, unsigned threads) const;
  /// Those that load_data reads; empty: none. Throws ScenarioErrors if one is missing.
  std::vector<std::filesystem::path> data_files(const Scenario& scenario) const;
  /// Names what load_data gives, without loading it.
  Key data_content(const Scenario& scenario) const;
  /// The all-reduce's name, and what a library takes for each bucket: "nccl: ring, Simple (2 buckets); tree, LL128 (1 bucket)".
  std::string described_collective(const Scenario& scenario) const;
  /// As Experiment::collective_times.
  std::vector<CollectiveTime> collective_times(const Scenario& scenario) const;
  /// Bytes per second of one message between two hosts at most; infinite if there is no such limit.
  double connection(const Scenario& scenario) const;
  /// Settings of the back end.
  SimulatedCluster cluster(const Scenario& scenario) const;
  /// Memory of this machine that a run takes, in bytes, estimated: timing alone, and with the math.
  std::size_t timing_bytes() const;
  std::size_t math_bytes() const;
  /// Bytes of device memory that training takes with the batch per worker: weights, gradient, optimizer state, activations.
  double device_bytes() const;
  /// The part of it that does not grow with the batch.
  double fixed_bytes() const;
  /// What each sample of a batch adds: its activations and its input.
  double sample_bytes() const;
  /// False where only the bytes of the model are given: nobody knows its layers.
  bool counts_activations() const { return !cost.layers.empty(); }
  /// The largest batch of one worker whose training fits into so much memory; 0: none.
  double largest_batch(double memory) const;
  PartitionRequest partition_request(const Scenario& scenario) const;
  /// Root of all keys: data (its content if known), partition, model, seed, kernel set.
  Key root_key(const Scenario& scenario, const std::optional<Key>& content) const;
  /// The same, part by part: two root keys are equal where all of their parts are.
  std::vector<RootPart> root_parts(const Scenario& scenario, const std::optional<Key>& content) const;

 private:
  struct Values {};
  Blueprint(const Scenario& scenario, const std::string& kernel_set, Values);
  /// Calls part(place, add) for each part of the root key in order, where add(hasher) hashes it.
  template <class Part>
  void for_root(const Scenario& scenario, const std::optional<Key>& content, const Part& part) const;
  void resolve_streams(const Scenario& scenario);
  void resolve_data(const Scenario& scenario);
  std::unique_ptr<Model> make_model(const Kind& kind) const;
  void resolve_model(const Scenario& scenario);
  void refuse_epochs(const Scenario& scenario) const;
  std::vector<std::uint64_t> whole_passes(const Scenario& scenario) const;
  void resolve_workload(const Scenario& scenario);
  void resolve_training(const Scenario& scenario);
  void resolve_compression(const Scenario& scenario);
  void resolve_factors(const Scenario& scenario, const VectorLayout& priced);
  void resolve_cluster(const Scenario& scenario);
  void resolve_availability(const Scenario& scenario);
  void resolve_client_seconds(const Scenario& scenario);
  void require_one_host(const Scenario& scenario) const;
  void compress_buckets();
  std::vector<Bucket> merged_gradients(const Scenario& scenario) const;
  void resolve_collective(const Scenario& scenario);
  Parameters collective_parameters(const Scenario& scenario, const CollectiveEntry& entry) const;
  void check_stepwise(const Scenario& scenario) const;
  void check_memory(const Scenario& scenario) const;
  std::unique_ptr<ComputeTime> compute_time(const Scenario& scenario, const ComputeSpec& spec, const std::string& place) const;
  std::shared_ptr<const Fabric> make_fabric(const Scenario& scenario) const;
  void resolve_aggregators(const Scenario& scenario);
  Placement placement(const Scenario& scenario) const;
  /// Between workers of one host, where that takes time.
  std::optional<Placement::Intra> intra(const Scenario& scenario) const;
  ComputePlan compute_plan(const Scenario& scenario) const;
  std::vector<Fault> faults(const Scenario& scenario) const;
  std::vector<TokenBucket> token_buckets(const Scenario& scenario) const;
  std::vector<BackgroundTraffic> background(const Scenario& scenario) const;
};

/// Share of the training samples that `evaluate.split: validation` holds out.
inline constexpr double validation_share = 0.1;

}  // namespace straggler
