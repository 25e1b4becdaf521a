// A typed scenario, with every default filled in, in SI units.
#pragma once
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/optimizers/rate_scaling.hpp"
#include "models/zoo/recompute.hpp"
#include "scenarios/schema/errors.hpp"
#include "sim/base/choice_table.hpp"
#include "sim/base/parameters.hpp"
#include "sim/cluster/fault_units.hpp"

namespace straggler {

/// `{kind: NAME, parameter: value, …}`: an entry of a registry and its parameters.
struct Kind {
  std::string name;
  Parameters parameters;
  bool operator==(const Kind&) const = default;
};

/// The number format of computing and sending. mixed: FP16 with dynamic loss scaling.
enum class NumberFormat { fp32, fp16, bf16, mixed };
inline constexpr ChoiceTable<NumberFormat> precision_choice("precision", {{NumberFormat::fp32, "fp32"},
                                                                          {NumberFormat::fp16, "fp16"},
                                                                          {NumberFormat::bf16, "bf16"},
                                                                          {NumberFormat::mixed, "mixed"}});

inline constexpr ChoiceTable<Recompute> recompute_choice("recompute", {{Recompute::none, "none"},
                                                                       {Recompute::attention, "attention"},
                                                                       {Recompute::blocks, "blocks"}});

/// The rates of a roofline in one 16-bit format.
struct HalfRates {
  double peak = 0, efficiency = 1, launch = 0, issue = 0;  // FLOP per second; share; seconds
  std::optional<double> dense_efficiency = {};             // of linear layers and attention; none: `efficiency`
  bool operator==(const HalfRates&) const = default;
};

/// Seconds for a mini-batch of b samples on a device, before jitter and slowdown.
struct ComputeSpec {
  enum class Form { affine, table, roofline } form = Form::affine;
  double overhead = 0, per_sample = 0;                 // affine: overhead + b · per_sample
  std::vector<std::pair<std::int64_t, double>> table;  // (batch size, seconds), ascending; piecewise linear, last two points beyond
  double launch = 0;                                   // a table's value is never below it; roofline: added
  // roofline: launch + max(flops(b) / (peak · efficiency), bytes(b) / memory_bandwidth, operations · issue), counted from the cost model
  double issue = 0;                                       // seconds
  double peak = 0, efficiency = 1, memory_bandwidth = 0;  // FLOP per second; share; bytes per second
  // dense_efficiency: of linear layers and attention; none: `efficiency`. memory_efficiency: bytes take turns with FLOPs; none: the slower
  // of both governs.
  std::optional<double> dense_efficiency = {}, memory_efficiency = {};
  std::optional<HalfRates> fp16 = {}, bf16 = {};  // in those precisions, with half the bytes; none: as in fp32
  double forward_fraction = 1.0 / 3;              // of a batch's time; the rest is backward, layer by layer
  /// Those of a workload.precision, of a roofline; null: it has none, or is in fp32.
  const HalfRates* half_rates(NumberFormat precision) const;
  bool operator==(const ComputeSpec&) const = default;
};

/// How much work shares one jitter factor.
struct JitterEvery {
  enum class Unit { batch, samples, time, call } unit = Unit::batch;
  std::int64_t samples = 0;  // Unit::samples
  double seconds = 0;        // Unit::time
  bool operator==(const JitterEvery&) const = default;
};

/// `workers` processes of the loader prepare batches, each up to `prefetch` batches ahead of the device. If there are none, the worker
/// prepares a batch itself when it needs it.
struct LoaderSpec {
  double per_sample = 0;  // seconds of one loader process
  std::int64_t workers = 1, prefetch = 2;
  double start = 0, hand_over = 0;  // seconds: to start one process, each epoch; for the worker to receive a batch
  bool operator==(const LoaderSpec&) const = default;
};

/// Bytes that computing b samples moves between a worker and its host's memory: overhead + b · per_sample.
struct MemoryTraffic {
  double overhead = 0, per_sample = 0;
  bool operator==(const MemoryTraffic&) const = default;
};

/// Watts.
struct PowerSpec {
  double busy = 0, idle = 0;
  std::optional<double> communicating;  // none: as idle
  bool operator==(const PowerSpec&) const = default;
};

struct DeviceSpec {
  std::string profile;  // the built-in device that the rest was taken from; empty: none
  ComputeSpec compute;
  Kind jitter;
  JitterEvery every;
  std::optional<double> update;          // bytes of parameters per second when this device applies a gradient; none: free
  std::optional<double> compress;        // bytes of parameters per second when it encodes or decodes a compressed message; none: free
  std::optional<LoaderSpec> loader;      // none: batches are there at once
  std::optional<double> host_to_device;  // bytes per second for copying a batch's inputs; none: free
  std::optional<double> memory;          // bytes
  std::optional<MemoryTraffic> memory_traffic;  // none: counted from the model's layers
  std::optional<double> price_per_hour;         // of a worker; none: not counted
  std::optional<PowerSpec> power;               // none: its energy is not counted
  std::optional<double> known_busy;             // watts, of the profile's data sheet
  bool operator==(const DeviceSpec&) const = default;
};

/// A NIC: an up-link and a down-link.
struct LinkSpec {
  double up = 0, down = 0;            // bytes per second; `bandwidth` in a scenario sets both
  double latency = 0;                 // seconds, of each
  std::optional<double> burst, peak;  // token bucket: bytes that may pass at `peak` bytes per second (none: practically at once)
  bool operator==(const LinkSpec&) const = default;
};

/// One row of a population file: a worker that differs from its group's device.
struct DeviceRow {
  double slowdown = 1;
  std::optional<double> overhead, per_sample;  // seconds; an affine time instead of the device's
  std::optional<LinkSpec> link;
  std::int64_t batch = 0;  // samples; 0: the group's
  bool operator==(const DeviceRow&) const = default;
};

struct WorkerGroup {
  std::int64_t count = 1;
  std::string device;
  double slowdown = 1;                         // factor by which they are slower than the device
  std::optional<LinkSpec> link;                // overrides the network's
  std::int64_t per_host = 1;                   // workers that share a host and its NIC
  std::optional<std::int64_t> cores_per_host;  // none: one per worker
  std::optional<std::int64_t> loader_cores;    // of a host, for loader processes; none: one per process
  std::optional<double> memory_bandwidth;      // bytes per second of a host's memory, for all of its workers; none: without limit
  bool busy_waiting = false;                   // a worker that waits occupies a core (`waiting: busy`)
  double neighbours = 0;                       // each other worker of its host that is active: share of a worker's time on top
  bool same_host = false;                      // begins on the last host of the group before; its link, per_host and cores hold here too
  Kind availability{"always", {}};             // when these workers are there
  std::optional<std::int64_t> batch;           // samples of each one's batch; none: those of training.batch
  std::string population;                      // path of the file with one device a row; empty: all workers are equal
  std::optional<double> price_per_hour;        // of one of them; none: the device's
  std::optional<bool> billed_while_down;       // none: the cluster's
  std::vector<DeviceRow> rows;                 // [rows of that file]; worker i of the group is row i modulo their number
  bool operator==(const WorkerGroup&) const = default;
};

struct ServerSpec {
  std::int64_t count = 0;                // 0: no servers
  std::optional<double> update;          // bytes of parameters per second; none: free
  std::optional<double> compress;        // likewise when it encodes or decodes a compressed message; none: free
  double per_message = 0;                // seconds of the server's time for each message it takes or sends
  std::int64_t replicas = 1;             // of each server; it answers while one of them is there
  std::optional<double> price_per_hour;  // of one; none: not counted
  std::optional<PowerSpec> power;        // of one; none: its energy is not counted
  std::optional<LinkSpec> link;
  std::optional<std::int64_t> host_of_worker;  // servers are on that worker's host (`host: {worker: 0}`); none: on their own hosts
  bool on_worker_hosts = false;                // server s lives on the s-th host of workers, and so on in turn (`host: {each: true}`)
  bool operator==(const ServerSpec&) const = default;
};

/// Of schemes with aggregators, which handle messages and step as fast as a server.
struct AggregatorSpec {
  /// On its own host, or on that of the first worker of its group; automatic: the latter if there is one per rack.
  enum class Host { automatic, own, first_worker } host = Host::automatic;
  std::optional<LinkSpec> link;  // of their own hosts; none: the servers'
  bool operator==(const AggregatorSpec&) const = default;
};

struct CollectiveSpec {
  enum class Fidelity { fluid, stepwise };
  enum class Start { together, as_they_come };
  enum class Merge { size, time, mg_wfbp };  // which tensors leave together
  std::string algorithm = "auto";
  Parameters parameters;  // of the algorithm
  Fidelity fidelity = Fidelity::fluid;
  Start start = Start::together;        // as_they_come: stepwise only
  std::optional<double> eager_up_to;    // bytes of messages that leave before their receiver has come; none: all; as_they_come only
  std::optional<double> reduce_rate;    // bytes per second of reduction arithmetic; none: free
  double launch = 0;                    // seconds to start a collective, on each rank
  double per_step = 0, per_tensor = 0;  // seconds of a device, beyond those of one worker alone: each update, and for each tensor of it
  double interference = 0;              // share by which backward slows while a bucket is in flight
  std::optional<double> bucket;         // bytes at which a bucket of gradients is full; none: one bucket
  std::optional<double> first_bucket;   // the same for the first one; none: as `bucket`
  bool overlap = false;                 // buckets leave as backward makes them ready
  Merge merge = Merge::size;
  double cycle = 0;  // seconds; Merge::time: tensors that are ready between two ticks of it leave together
  // Merge::mg_wfbp: seconds and bytes per second that the rule reckons with; none: the algorithm's own on the idle network.
  std::optional<double> merge_start, merge_rate;
  bool operator==(const CollectiveSpec&) const = default;
};

/// Measured behaviour of a transport: for messages of up to `up_to` bytes (the last: any size), latency and bandwidth times these.
struct SegmentSpec {
  double up_to = 0, latency_factor = 1, bandwidth_factor = 1;
  bool operator==(const SegmentSpec&) const = default;
};

struct ProtocolSpec {
  std::vector<SegmentSpec> segments;  // ascending; empty: none
  double per_message = 0;             // seconds of processor time on each side
  std::optional<double> copy_rate;    // bytes per second of that processor for each message; none: free
  std::optional<std::int64_t> cores;  // that do this for all ranks together; none: each has a processor of its own
  std::optional<double> connection;   // bytes per second of one message between two hosts at most; none: its fair share
  bool operator==(const ProtocolSpec&) const = default;
};

/// A flow between two end points that is on for a while and off for a while, and shares links with all other traffic.
struct BackgroundSpec {
  std::string from, to;        // worker/N, server/N
  double on = 0, off = 0;      // seconds
  double start = 0;            // seconds
  bool random = false;         // on and off are means of exponential draws
  std::optional<double> rate;  // bytes per second at most; none: its fair share
  bool operator==(const BackgroundSpec&) const = default;
};

/// A level inside a host: groups of `workers` neighbouring workers, and their link.
struct LevelSpec {
  std::int64_t workers = 1;  // of a group
  double bandwidth = 0;      // bytes per second, of each direction
  double latency = 0;        // seconds
  bool operator==(const LevelSpec&) const = default;
};

/// Network cards of a host.
struct CardSpec {
  enum class At { beside, pcie_switch, bus };
  std::int64_t workers = 1;  // neighbours that have one
  At at = At::beside;        // where it sits
  bool operator==(const CardSpec&) const = default;
};

/// Inside a host. up == down: of each worker's own way; latency: of the whole path between two of one switch.
struct IntraSpec : LinkSpec {
  std::string machine;                   // the built-in machine that the rest was taken from; empty: none
  double while_computing = 1;            // share of a worker's own way that is left while it computes
  std::optional<LevelSpec> pcie_switch;  // a switch, with a way up; none: all workers are on one
  std::optional<LevelSpec> socket;       // several switches, with a way to the others
  std::optional<LevelSpec> nvlink;       // groups whose members reach each other directly
  std::optional<CardSpec> card;          // several network cards; none: one per host, beside the inside
  bool operator==(const IntraSpec&) const = default;
};

struct NetworkSpec {
  Kind topology;
  LinkSpec link;
  bool half_duplex = false;        // both directions of a cable share its bandwidth (`link.duplex: half`)
  std::optional<IntraSpec> intra;  // between workers of one host; none: free
  Kind sharing;                    // max_min | none | lv08
  Kind jitter{"none", {}};         // of the bandwidth of hosts' links
  double jitter_every = 1;         // seconds: the span that shares a factor
  ProtocolSpec protocol;
  std::optional<double> energy_per_byte;  // joules, of a message's payload, once; none: not counted
  CollectiveSpec collective;
  std::vector<BackgroundSpec> background;
  bool operator==(const NetworkSpec&) const = default;
};

/// Bytes of the workload, if they are not those of the model.
struct CostSpec {
  std::optional<Kind> model;
  std::optional<std::int64_t> bytes;
  bool operator==(const CostSpec&) const = default;
};

struct BatchSpec {
  /// Of `global`: as evenly as whole samples allow; the same, as batches that count in means; by the workers' speeds.
  enum class Split { unstated, equal, by_speed };
  std::optional<std::int64_t> per_worker, global;  // exactly one
  bool drop_last = false;
  Split split = Split::unstated;
  std::int64_t accumulate = 1;                       // micro-batches in which a worker computes its batch
  std::optional<std::int64_t> rebalance_every = {};  // updates after which batches follow the workers' times; none: they stay
  bool operator==(const BatchSpec&) const = default;
};

struct ScheduleSpec {
  Kind kind;
  double warmup_epochs = 0;
  RateScaling scale_with_workers = RateScaling::none;
  bool operator==(const ScheduleSpec&) const = default;
};

/// Whichever comes first; at least one of the bounds (not the target alone) is given.
struct StopSpec {
  std::optional<double> epochs, simulated_time, target_accuracy;
  std::optional<std::int64_t> updates;                             // `rounds` is a synonym: the smaller one counts
  enum class OnTarget { stop, go_on } on_target = OnTarget::stop;  // whether a target that was reached ends the run
  bool operator==(const StopSpec&) const = default;
};

struct EvaluateSpec {
  std::optional<double> every_epochs, every_simulated_time;
  std::optional<std::int64_t> every_updates;  // none of the three: at the end only
  std::vector<double> thresholds;             // accuracies, ascending
  std::int64_t sustain = 2;
  enum class Split { test, validation } split = Split::test;
  std::int64_t train_samples = 10'000;  // the fixed subset for the training loss
  bool noise_scale = false;             // measured at each evaluation
  bool operator==(const EvaluateSpec&) const = default;
};

/// A fault. Times in seconds of simulated time.
struct FaultSpec {
  enum class Kind { crash, slow, link, join, leave, random, fail_slow, preempt, trace, none } kind = Kind::none;  // none: not read
  std::int64_t worker = -1;             // the worker that it hits; -1: none (of Kind::link: a server's link, or a named one)
  std::int64_t server = -1;             // Kind::link
  std::string link;                     // Kind::link: a link by its name in links.csv, instead of a rank's two
  double at = 0;                        // crash, join, leave
  std::optional<double> restart_after;  // crash; none: never
  double from = 0, to = 0;              // slow, link
  double times_slower = 1;              // slow
  double bandwidth_factor = 1;          // link; 0: down
  // Those that happen again and again; laws are of durations:
  UnitKind of = UnitKind::worker;
  straggler::Kind every{}, repair{}, lasts{}, back_after{};  // of random, fail_slow, preempt; of random; of fail_slow; of preempt
  std::optional<double> slower = {}, narrower = {};          // fail_slow: times_slower or bandwidth_factor
  double notice = 30;                                        // preempt
  std::string path = {};                                     // trace
  bool operator==(const FaultSpec&) const = default;
};
std::string_view name_of(FaultSpec::Kind kind);
/// It happens again and again.
bool repeats(const FaultSpec& fault);
/// Workers crash, leave or join; their computing becomes slower; links become narrower. A trace may do more than it does.
bool changes_members(const FaultSpec& fault);
bool slows_workers(const FaultSpec& fault);
bool changes_links(const FaultSpec& fault);

struct ClusterSpec {
  std::vector<WorkerGroup> workers;
  ServerSpec servers;
  AggregatorSpec aggregators;
  NetworkSpec network;
  std::vector<FaultSpec> faults;
  std::string currency;            // of all prices; empty: it has no name
  bool billed_while_down = false;  // workers cost while they are down or absent
  bool operator==(const ClusterSpec&) const = default;
  /// [groups]: workers of earlier groups on the host on which the group begins; 0: it begins on a host of its own. Worker i of group g
  /// opens a host where (seats_taken()[g] + i) is a multiple of per_host.
  std::vector<std::int64_t> seats_taken() const;
};

inline std::vector<std::int64_t> ClusterSpec::seats_taken() const {
  std::vector<std::int64_t> out;
  std::int64_t occupied = 0;  // on the last host of the group before; 0: it is full
  for (const WorkerGroup& group : workers) {
    out.push_back(group.same_host ? occupied : 0);
    occupied = (out.back() + group.count) % group.per_host;
  }
  return out;
}

/// Random changes of training images.
struct AugmentSpec {
  std::int64_t crop = 0;  // pixels of border
  bool flip = false;
  bool any() const { return crop > 0 || flip; }
  bool operator==(const AugmentSpec&) const = default;
};

/// The data kind of a workload that is only timed.
inline constexpr const char* no_data = "none";

struct WorkloadSpec {
  Kind model, data, partition;  // model: its name is empty where there is neither data nor a model
  std::string weights;          // path of the file that the model starts from; empty: its weights come from the seed
  bool reshuffle = true;
  AugmentSpec augment;
  bool fuse = true;                  // gradients at the same weights that are averaged are evaluated as one batch
  bool exchange_statistics = false;  // batch norm's running statistics are sent with gradients and weights, and averaged
  CostSpec cost;
  double serial_per_epoch = 0;  // seconds for which all workers pause at the end of an epoch
  NumberFormat precision = NumberFormat::fp32;
  double loss_scale = 1;          // at the start; a power of two
  std::int64_t growth_every = 0;  // good updates after which it doubles; 0: it is fixed
  Recompute recompute = Recompute::none;
  bool operator==(const WorkloadSpec&) const = default;
};

/// Workers share states: each keeps a part of the optimizer's state (stage 1), of gradients (2), of weights (3).
struct ShardingSpec {
  enum class Across { all, host };
  enum class Units { automatic, blocks, layers, size };  // automatic: blocks, where the network has any
  enum class Reduce { each, last };
  enum class Secondary { none, host };
  std::int64_t stage = 3;
  Across across = Across::all;
  Units units = Units::automatic;
  double unit_bytes = 0;  // Units::size: at least
  std::int64_t prefetch = 1;
  Reduce reduce = Reduce::each;
  bool keep_gathered = false;
  Secondary secondary = Secondary::none;
  bool operator==(const ShardingSpec&) const = default;
};

/// When a run is saved, and what that costs. Times in seconds.
struct CheckpointSpec {
  enum class Every { time, updates, optimal } every = Every::time;
  double seconds = 0;        // Every::time: of work
  std::int64_t updates = 0;  // Every::updates
  double save = 0;           // seconds, or bytes per second
  bool save_is_rate = false;
  bool blocking = true;  // false: work stops for `snapshot` only
  double snapshot = 0;
  bool operator==(const CheckpointSpec&) const = default;
};

/// What happens when something fails. Times in seconds.
struct RecoverySpec {
  enum class Kind { none, rollback, peer } kind = Kind::none;  // none: the scheme's on_failure
  enum class Without { wait, shrink };
  std::optional<CheckpointSpec> checkpoint;  // none: only the initial weights are saved
  double detect = 0, restart = 0;
  std::optional<double> read;  // bytes per second; none: `restart` holds it
  std::int64_t spares = 0;
  Without without = Without::wait;  // a spare
  bool operator==(const RecoverySpec&) const = default;
};

struct TrainingSpec {
  Kind scheme, optimizer;
  Kind compression = {"none", {}};
  BatchSpec batch;
  ScheduleSpec schedule;
  std::optional<double> clip;  // norm of gradients
  enum class ClipAt { server, worker } clip_at = ClipAt::server;
  std::optional<ShardingSpec> sharding;  // none: every worker keeps all states
  std::optional<RecoverySpec> recovery;  // none: the scheme's on_failure
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
  /// Results say what failures cost.
  bool recovers() const {
    return (training.recovery && training.recovery->kind != RecoverySpec::Kind::none) || std::ranges::any_of(cluster.faults, repeats);
  }
  /// A failure may take the run back to a checkpoint.
  bool rolls_back() const { return training.recovery && training.recovery->kind == RecoverySpec::Kind::rollback; }
  std::int64_t workers() const {
    std::int64_t sum = 0;
    for (const WorkerGroup& group : cluster.workers) sum += group.count;
    return sum;
  }
};

}  // namespace straggler
