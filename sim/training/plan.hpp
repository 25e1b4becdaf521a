// The training that all nodes share: workers, batches, data, optimizer.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/lineage/update_rule.hpp"
#include "sim/training/batches.hpp"
#include "sim/training/client_selection.hpp"
#include "sim/training/compression.hpp"
#include "sim/training/payload.hpp"
#include "sim/training/sharding.hpp"
#include "sim/training/versions.hpp"

namespace straggler {

/// The assignment of workers to aggregators, beside the server: aggregator k is a process of its own, for consecutive workers.
struct Aggregation {
  Rank first_rank = 0;             // of aggregator 0
  std::vector<Rank> first_worker;  // [aggregators + 1]: aggregator k has first_worker[k] .. first_worker[k + 1] - 1; empty: no aggregators
  Rank count() const { return first_worker.empty() ? 0 : static_cast<Rank>(first_worker.size()) - 1; }
  bool has(Rank rank) const { return rank >= first_rank && rank < first_rank + count(); }
  /// The number, below count(), of a worker's aggregator.
  Rank number_of(Rank worker) const {
    return static_cast<Rank>(std::upper_bound(first_worker.begin(), first_worker.end(), worker) - first_worker.begin()) - 1;
  }
};

/// The data shared by all nodes of a run; outlives them.
struct TrainingPlan {
  Rank workers = 1;
  Batches batches;
  bool weighs_batches = false;                 // a contribution counts its stated batch in means over workers; else all count the same
  std::int64_t accumulate = 1;                 // micro-batches in which a worker computes each gradient
  std::uint64_t rebalance_every = 0;           // updates after which batches follow the workers' times; 0: they stay
  std::vector<std::uint32_t> largest_batches;  // [workers] that each can then take
  double statistics_momentum = 0;              // by which a micro-batch moves running statistics; 0: there are none
  std::int64_t minibatch = 0;                  // samples of the pieces in which a worker takes its batch; 0: one piece
  std::int64_t cell_chunks = 0;                // pieces of the weights that all workers share in their host's memory; 0: not shared
  bool drop_last = false;
  Versions versions = Versions::shared;
  Rank racks = 1;           // racks of the workers, where the topology has racks; set for schemes with aggregators
  Aggregation aggregation;  // of those schemes
  bool ring_sums = false;   // an all-reduce sums in the order of a ring, as real ranks do; else in rank order
  bool fuse = true;         // same-weights gradients that are averaged are evaluated as one batch
  std::uint64_t seed = 1;
  /// Workers act only when a message reaches them, except this many, which Node::first_clients names. None: all workers act from the
  /// beginning.
  std::optional<std::int64_t> invited;
  ClientSelection selection;
  std::vector<float> client_seconds;          // [workers] if selected by speed: the expected time of a round on each
  std::vector<double> step_seconds;           // [workers] of schemes whose local steps follow speeds: the expected time of a batch on each
  bool clients_keep_vectors = false;          // SchemeEntry::clients_keep_vectors
  bool clients_come_and_go = false;           // only present clients are drawn (cluster.workers[i].availability)
  std::uint64_t train_samples = 1;            // size of the training set
  std::uint64_t epoch_samples = 1;            // samples of one pass: pass_samples of all parts, or of the pool; 0: unknown
  bool shared_stream = false;                 // all workers draw from one pool
  std::vector<std::uint64_t> stream_samples;  // [workers] samples of a worker's own part; empty if shared
  bool endless = false;                       // without data: no batch is cut where a pass over a part ends
  double input_bytes = 0, output_bytes = 0;   // of one sample
  std::vector<WorkBucket> buckets;            // in the order of forward; empty: one of everything
  Sharding sharding;
  const UpdateRule* optimizer = nullptr;
  const UpdateRule* outer_optimizer = nullptr;  // of SchemeEntry::outer_optimizer; null: the scheme has none
  bool statistics = false;                      // vectors end in running statistics, or in a dynamic loss scale
  double worker_clip = 0;                       // the norm to which each worker clips a gradient that it has computed; 0: none
  const Rule* rounding = nullptr;               // the effect of a message on weights; null: nothing
  const Compression* compression = nullptr;     // the effect of a message on gradients and weights; null: nothing
  /// For what-if runs without staleness: a server recomputes each arriving gradient at its newest version; their order does not change.
  bool newest_weights = false;

  /// A process's name in messages: "worker 3", "server 0", "aggregator 1".
  std::string name_of(Rank rank) const;
  /// Samples of a worker's batch, and of the pieces in which it takes it: at most the batch.
  std::int64_t batch_of(Rank worker) const { return batches.of(worker); }
  std::int64_t minibatch_of(Rank worker) const { return minibatch > 0 ? std::min(minibatch, batch_of(worker)) : batch_of(worker); }
  /// Samples of `participants` workers while this one computes `own`: each computes as many batches.
  std::uint64_t samples_beside(std::uint64_t own, Rank worker, std::int32_t participants) const {
    if (!batches.are_stated() || participants != workers) return own * static_cast<std::uint64_t>(participants);
    return own * static_cast<std::uint64_t>(batches.total(workers)) / static_cast<std::uint64_t>(batches.of(worker));
  }
  /// The drawing rule of a pass over `samples`: all of them. With drop_last, as many as make whole mini-batches of the worker, or whole
  /// batches if its last mini-batch is smaller than the others.
  std::uint64_t drawn_of(Rank worker, std::uint64_t samples) const;
  /// Samples of a worker's own part of the data, n_k; of the pool's fair share if the partition is shared.
  std::uint64_t part_samples(Rank worker) const;
  /// Samples that one pass draws over the worker's own part, or over the pool: there the smallest batch decides.
  std::uint64_t pass_samples(Rank worker) const;
  /// Batches that all workers together draw in an epoch, including smaller last ones, if they draw equally often.
  double batches_per_epoch() const;
};

}  // namespace straggler
