// Figures of a scenario before it runs, for `straggler check`.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/zoo/model.hpp"
#include "scenarios/experiment/failure_forms.hpp"
#include "scenarios/experiment/memory_parts.hpp"
#include "scenarios/experiment/partition_facts.hpp"
#include "scenarios/schema/scenario.hpp"
#include "sim/cluster/topology.hpp"

namespace straggler {

struct Blueprint;

/// The time of an all-reduce by an algorithm.
struct CollectiveTime {
  std::string name;
  double seconds = 0;
  std::string choice;  // a library's choice for this message ("tree, LL128"); otherwise empty
};

struct Explanation {
  struct Group {
    std::int64_t count = 0;
    std::string device;
    std::int64_t batch = 0;    // samples, of its first worker
    double batch_seconds = 0;  // mean time of one batch, before jitter
    double traffic = 0;        // bytes that it moves in the host's memory; 0: none, or that has no limit
    std::string jitter;
    double jitter_mean = 1;
    double bytes_per_second = 0, latency = 0;
    std::optional<double> memory;  // bytes of the device
    DeviceMemory held;             // of so many samples
    std::int64_t held_samples = 0;
    double largest_batch = 0;        // that fits
    bool counts_activations = true;  // in these; false: `workload.cost` does not give any
    std::size_t rows = 0;            // of its population, whose times and links replace these; 0: its workers are alike
  };
  std::vector<Group> groups;
  std::string scheme, scheme_summary, topology, route_example, data_origin, collective;
  std::uint64_t reduced_bytes = 0;   // of the largest message that is all-reduced; 0: none
  std::string aggregators;           // number, groups and places; empty: none
  std::string compression;           // the compression of gradients and weights; empty: none
  std::size_t compressed_bytes = 0;  // of a worker's message; message_bytes: of a message sent whole
  bool compresses_answers = false;
  std::size_t parameters = 0, message_bytes = 0, train_samples = 0, test_samples = 0;
  std::int64_t batch_per_worker = 0;  // of stated batches the mean
  std::int64_t batch_of_all = 0;
  bool stated_batches = false;
  std::int64_t accumulate = 1;              // micro-batches of a batch
  std::optional<double> updates_per_epoch;  // for schemes with a fixed number
  std::size_t classes = 0;
  std::size_t context = 0;       // symbols of a sample, of so many classes; 0: samples are no symbols
  std::size_t memory_bytes = 0;  // of this machine, for a run with math: an estimate
  std::size_t timing_bytes = 0;  // of which timing alone takes these
  std::string engine;            // that computes the network (NetworkEngine); empty: none does
  std::vector<LayerCost> layers;
  std::vector<std::string> warnings, training_warnings;  // training_warnings: where the model is trained
  std::string cost_model;                                // source of times and bytes; empty: the trained model
  std::size_t cost_parameters = 0;
  std::string cost_input;  // "3 x 32 x 32", with how to get others where these are not the data's; empty: no images
  std::vector<std::uint64_t> bucket_bytes;
  /// Shared states.
  struct Sharded {
    std::int64_t stage = 0;                               // 0: none
    std::int64_t workers = 1;                             // that share them
    std::size_t units = 0;                                // of stage 3
    double largest_bytes = 0;                             // of a unit's weights
    double gathered = 0, reduced = 0, between_hosts = 0;  // bytes that a worker sends an update
  };
  Sharded sharded;
  std::optional<FailureForms> failures;  // none: none rolls the job back at a known rate
  TopologyFacts facts;
  PartitionFacts partition;
  bool learns = true;  // false: there is no data
  std::size_t hosts = 0, links = 0;
};

/// `partition`: where there is data to learn from.
Explanation explain(const Scenario& scenario, const Blueprint& blueprint, const PartitionFacts& partition);

}  // namespace straggler
