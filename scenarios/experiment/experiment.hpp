// A scenario made runnable: both planes built, joined and run.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/zoo/model.hpp"
#include "scenarios/experiment/partition_facts.hpp"
#include "scenarios/experiment/run_options.hpp"
#include "scenarios/schema/scenario.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/record/record.hpp"

namespace straggler {

/// How far a run is; called from the simulation every few thousand events and at each update.
class ProgressListener {
 public:
  virtual ~ProgressListener() = default;
  struct State {
    Time time;
    double epochs = 0;
    std::uint64_t updates = 0, samples = 0;
    double fraction = 0;  // of the stop that is nearest, 0 .. 1
    std::optional<double> test_accuracy;
  };
  virtual void progress(const State& state) = 0;
  /// True: the run ends here, with Outcome::interrupted.
  virtual bool interrupted() { return false; }
};

/// The run could not go on (deadlock, memory budget): exit code 3.
struct RunFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What an all-reduce by an algorithm takes.
struct CollectiveTime {
  std::string name;
  double seconds = 0;
  std::string choice;  // of a library: what it takes for this message ("tree, LL128"); else empty
};

/// The facts that `straggler check` prints.
struct Explanation {
  struct Group {
    std::int64_t count = 0;
    std::string device;
    double batch_seconds = 0;  // mean time of one batch, before jitter
    std::string jitter;
    double bytes_per_second = 0, latency = 0;
    std::optional<double> memory;  // bytes of the device
    double memory_used = 0, largest_batch = 0;
    bool counts_activations = true;  // in these two; `workload.cost.bytes` tells of none
    std::size_t rows = 0;            // of its population, whose times and links replace these; 0: its workers are equal
  };
  std::vector<Group> groups;
  std::string scheme, scheme_summary, topology, route_example, data_origin, collective;
  std::uint64_t reduced_bytes = 0;   // of the largest message that is all-reduced; 0: none is
  std::string aggregators;           // how many, for whom and where; empty: none
  std::string compression;           // what a message does to gradients and weights; empty: nothing
  std::size_t compressed_bytes = 0;  // of a worker's message, beside message_bytes of what is sent whole
  bool compresses_answers = false;
  std::size_t parameters = 0, message_bytes = 0, train_samples = 0, test_samples = 0;
  std::int64_t batch_per_worker = 0;
  std::optional<double> updates_per_epoch;  // for schemes with a fixed number
  std::size_t classes = 0;
  std::size_t memory_bytes = 0;  // of this machine, for a run with math: an estimate
  std::size_t timing_bytes = 0;  // of which timing alone takes these
  std::vector<LayerCost> layers;
  std::vector<std::string> warnings;
  std::string cost_model;  // whose times and bytes count; empty: the model that learns
  std::size_t cost_parameters = 0;
  std::vector<std::uint64_t> bucket_bytes;
  TopologyFacts facts;
  PartitionFacts partition;
  bool learns = true;  // false: there is no data
  std::size_t hosts = 0, links = 0;
};

class Experiment {
 public:
  /// Reads what the run needs. Throws ScenarioErrors or DataError on what is wrong with it.
  Experiment(const Scenario& scenario, const RunOptions& options);
  ~Experiment();
  /// Runs to the stop. `sink` may be null. Throws RunFailed, MemoryBudgetExceeded.
  RunRecord run(RecordSink* sink, ProgressListener* progress);
  /// The result of a run with math, from the evaluations in the store, without any math.
  struct FromStore {
    std::optional<RunRecord> record;  // none: not all are known
    std::vector<Key> missing;         // evaluations, in order; a stop at a target, once they are known, may make do with fewer
    std::size_t found = 0;
  };
  /// Needs RunOptions::store. Throws RunFailed.
  FromStore run_from_store(ProgressListener* progress);
  /// After run(), with math: the final weights and how they are laid out. After run_from_store(): if the store has them, else empty.
  std::vector<float> final_weights() const;
  std::vector<TensorInfo> tensors() const;
  /// After run(): values that were computed again because the memory budget had no room to keep them.
  std::uint64_t recomputed() const;
  /// After run(): what the math plane did.
  const ExecutorStatistics& computed() const;
  /// Of the words whose vectors the weights are; null for other data.
  const WordList* vocabulary() const;
  const char* kernels() const;  // name of the set in use
  Explanation explain() const;
  /// Of all algorithms that fit: an all-reduce of Explanation::reduced_bytes alone on the network, as one flow, fastest first. Empty: the
  /// scheme has none.
  std::vector<CollectiveTime> collective_times() const;
  /// The network of hosts as GraphML or DOT, by the ending. Throws DataError.
  void write_graph(const std::string& path) const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace straggler
