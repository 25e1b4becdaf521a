// A scenario, typed: everything that was understood from the YAML, every default filled in, in SI units.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/schema/errors.hpp"
#include "sim/base/parameters.hpp"

namespace straggler {

/// `{kind: NAME, parameter: value, …}`: an entry of a registry and what it was told.
struct Kind {
  std::string name;
  Parameters parameters;
  bool operator==(const Kind&) const = default;
};

/// Seconds for a mini-batch of b samples on a device, before jitter and slowdown.
struct ComputeSpec {
  enum class Form { affine, table } form = Form::affine;
  double overhead = 0, per_sample = 0;                 // affine: overhead + b · per_sample
  std::vector<std::pair<std::int64_t, double>> table;  // (batch size, seconds), ascending; piecewise linear, last two points beyond
  double launch = 0;                                   // a table's value is never below it
  bool operator==(const ComputeSpec&) const = default;
};

/// How much work shares one jitter factor.
struct JitterEvery {
  enum class Unit { samples, time, call } unit = Unit::samples;
  std::int64_t samples = 0;  // 0: the batch per worker
  double seconds = 0;        // Unit::time
  bool operator==(const JitterEvery&) const = default;
};

struct DeviceSpec {
  ComputeSpec compute;
  Kind jitter;
  JitterEvery every;
  std::optional<double> update;  // bytes of parameters per second when this device applies a gradient; none: free
  bool operator==(const DeviceSpec&) const = default;
};

struct LinkSpec {
  double bandwidth = 0;  // bytes per second
  double latency = 0;    // seconds
  bool operator==(const LinkSpec&) const = default;
};

struct WorkerGroup {
  std::int64_t count = 1;
  std::string device;
  double slowdown = 1;           // times slower than the device
  std::optional<LinkSpec> link;  // overrides the network's
  bool operator==(const WorkerGroup&) const = default;
};

struct ServerSpec {
  std::int64_t count = 0;        // 0: no servers
  std::optional<double> update;  // bytes of parameters per second; none: free
  double per_message = 0;        // seconds of the server's time for each message it takes or sends
  std::optional<LinkSpec> link;
  bool operator==(const ServerSpec&) const = default;
};

struct CollectiveSpec {
  std::string algorithm = "auto";
  std::string fidelity = "fluid";     // or "stepwise"
  std::optional<double> reduce_rate;  // bytes per second of reduction arithmetic; none: free
  bool operator==(const CollectiveSpec&) const = default;
};

struct NetworkSpec {
  Kind topology;
  LinkSpec link;
  std::string sharing = "max_min";
  CollectiveSpec collective;
  bool operator==(const NetworkSpec&) const = default;
};

/// What the workload costs in bytes, where that is not the model's own.
struct CostSpec {
  std::optional<Kind> model;
  std::optional<std::int64_t> bytes;
  bool operator==(const CostSpec&) const = default;
};

struct BatchSpec {
  std::optional<std::int64_t> per_worker, global;  // exactly one
  bool drop_last = false;
  bool operator==(const BatchSpec&) const = default;
};

struct ScheduleSpec {
  Kind kind;
  double warmup_epochs = 0;
  std::string scale_with_workers = "none";  // none | linear | square_root
  bool operator==(const ScheduleSpec&) const = default;
};

/// Whichever comes first; at least one of the bounds (not the target alone) is given.
struct StopSpec {
  std::optional<double> epochs, simulated_time, target_accuracy;
  std::optional<std::int64_t> updates;  // `rounds` is another word for it: the smaller counts
  std::string on_target = "stop";       // stop | continue: whether a target that was reached ends the run
  bool operator==(const StopSpec&) const = default;
};

struct EvaluateSpec {
  std::optional<double> every_epochs, every_simulated_time;
  std::optional<std::int64_t> every_updates;  // none of the three: at the end only
  std::vector<double> thresholds;             // accuracies, ascending
  std::int64_t sustain = 2;
  std::string split = "test";           // test | validation
  std::int64_t train_samples = 10'000;  // the fixed subset for the training loss
  bool operator==(const EvaluateSpec&) const = default;
};

struct ClusterSpec {
  std::vector<WorkerGroup> workers;
  ServerSpec servers;
  NetworkSpec network;
  bool operator==(const ClusterSpec&) const = default;
};

struct WorkloadSpec {
  Kind model, data, partition;
  bool reshuffle = true;
  bool fuse = true;  // gradients at the same weights that are averaged are evaluated as one batch
  CostSpec cost;
  bool operator==(const WorkloadSpec&) const = default;
};

struct TrainingSpec {
  Kind scheme, optimizer;
  BatchSpec batch;
  ScheduleSpec schedule;
  StopSpec stop;
  EvaluateSpec evaluate;
  bool operator==(const TrainingSpec&) const = default;
};

struct Scenario {
  std::filesystem::path file;  // as given; the paths inside are absolute
  std::string name;
  std::uint64_t seed = 1;
  std::map<std::string, DeviceSpec> devices;
  ClusterSpec cluster;
  WorkloadSpec workload;
  TrainingSpec training;
  std::shared_ptr<const Places> places;  // of every value in its file, for errors found after reading; null if it was not read

  /// The same scenario, wherever it was read.
  bool operator==(const Scenario& o) const {
    return name == o.name && seed == o.seed && devices == o.devices && cluster == o.cluster && workload == o.workload &&
           training == o.training;
  }
  std::int64_t workers() const {
    std::int64_t sum = 0;
    for (const WorkerGroup& group : cluster.workers) sum += group.count;
    return sum;
  }
};

}  // namespace straggler
