// The workload of a run, resolved: data, partition, model, number format, and the model's cost. Determines the keys of all values
// (root_key). No data is read yet.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/data/dataset.hpp"
#include "models/data/partition.hpp"
#include "models/executor/numerics.hpp"
#include "models/safetensors/model_weights.hpp"
#include "models/zoo/cost_model.hpp"
#include "models/zoo/model.hpp"
#include "scenarios/schema/scenario.hpp"
#include "sim/cluster/compute.hpp"
#include "sim/training/batches.hpp"

namespace straggler {

/// A part of the root key, and its name for users.
struct RootPart {
  const char* place = nullptr;
  Key key;
  bool operator==(const RootPart& other) const { return place == std::string_view(other.place) && key == other.key; }
};

struct WorkloadBlueprint {
  const DataEntry* data_entry = nullptr;
  const PartitionEntry* partition_entry = nullptr;
  const Kernels* kernels = nullptr;
  std::filesystem::path base;  // where relative paths start

  DataInfo data;  // the training size without the held-out samples
  Augmentation augment;
  Batches batches;  // of all workers
  StreamSizes streams;
  std::vector<std::unique_ptr<ComputeTime>> group_times;             // [groups]
  std::vector<std::vector<std::unique_ptr<ComputeTime>>> row_times;  // [groups][rows of the population]; null: the group's
  std::vector<MemoryTraffic> group_traffic;  // [groups]: of a micro-batch, in the hosts' memory; 0 where that has no limit
  Numerics numerics;
  Recompute recompute = Recompute::none;
  double recomputed = 0;                    // share of forward's FLOPs that backward computes again
  std::unique_ptr<Model> model;             // null: there is no data, so there is no training
  ModelWeights start;                       // from workload.model.weights; empty: from the seed
  std::vector<std::string> notes;           // sentences for the user, of `check` and of `run`
  std::vector<std::string> training_notes;  // the same, where the model is trained
  CostTable cost;                           // of the model, or of the cost model; no layers if only bytes are given
  std::uint64_t model_bytes = 0;            // on the wire
  std::uint64_t statistics_bytes = 0;       // of running statistics sent with each gradient or model; 0: they are not sent

  /// Throws ScenarioErrors, DataError or std::invalid_argument.
  WorkloadBlueprint(const Scenario& scenario, const std::string& kernel_set);

  /// Of worker `i` of group `g`: the time of a mini-batch, before jitter and slowdown.
  const ComputeTime& time_of(std::size_t g, std::int64_t i) const;
  /// Forward's part of a batch's time on the device.
  double forward_fraction(const DeviceSpec& device) const;
  /// [layers of `cost`] what backward computes on the device, recomputing included, in FLOPs of forward.
  std::vector<double> backward_flops(const DeviceSpec& device) const;
  /// False: timing alone.
  bool has_data() const { return data_entry->name != no_data; }
  /// Bytes of a number that is computed with or sent.
  std::uint64_t number_bytes() const { return numerics.precision == Precision::fp32 ? 4 : 2; }
  /// Parameters of the model whose cost counts.
  std::uint64_t priced_parameters() const { return model_bytes / number_bytes(); }
  /// The data with its validation split, if one is held out; read on at most this many threads. Throws ScenarioErrors where its files are
  /// wrong.
  Dataset load_data(const Scenario& scenario, unsigned threads) const;
  /// Those that load_data reads; empty: none. Throws ScenarioErrors if one is missing.
  std::vector<std::filesystem::path> data_files(const Scenario& scenario) const;
  /// Names the result of load_data, without loading it.
  Key data_content(const Scenario& scenario) const;
  PartitionRequest partition_request(const Scenario& scenario) const;
  /// Root of all keys: data (its content if known), partition, model, seed, kernel set.
  Key root_key(const Scenario& scenario, const std::optional<Key>& content) const;
  /// The same, part by part: two root keys are equal where all of their parts are.
  std::vector<RootPart> root_parts(const Scenario& scenario, const std::optional<Key>& content) const;

 private:
  /// Calls part(place, add) for each part of the root key in order, where add(hasher) hashes it.
  template <class Part>
  void for_root(const Scenario& scenario, const std::optional<Key>& content, const Part& part) const;
  void resolve_data(const Scenario& scenario);
  std::unique_ptr<Model> make_model(const Kind& kind, std::uint64_t seed) const;
  void resolve_model(const Scenario& scenario);
  void resolve_cost(const Scenario& scenario);
  void resolve_recompute(const Scenario& scenario);
  std::unique_ptr<ComputeTime> with_recomputing(std::unique_ptr<ComputeTime> time, const DeviceSpec& device) const;
  std::unique_ptr<ComputeTime> compute_time(const Scenario& scenario, const ComputeSpec& spec, const std::string& place) const;
  /// Throws ScenarioErrors where it is not known.
  MemoryTraffic traffic_of(const Scenario& scenario, std::size_t g) const;
  void resolve_times(const Scenario& scenario);
  Batches batches_by_speed_of(const Scenario& scenario) const;
  void resolve_batches(const Scenario& scenario);
  void resolve_streams(const Scenario& scenario);
};

/// Share of the training samples that `evaluate.split: validation` holds out.
inline constexpr double validation_share = 0.1;

}  // namespace straggler
