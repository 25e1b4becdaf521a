// The compute model of each worker of the cluster: times, loaders, shared cores.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/base/sparse_array.hpp"
#include "sim/cluster/compute.hpp"

namespace straggler {

/// How a group's workers get their batches, and their hosts' compute model.
struct ComputeClass {
  std::vector<double> milestones = {1};  // of an averaged gradient: shares of a batch's time at which its buckets are there; the last is 1
  double forward = 1.0 / 3;              // share of a micro-batch's time
  std::vector<double> micro_batches = {1};     // share of a batch's time at which each is over
  double load_seconds_per_sample = 0;          // of one loader process; 0: batches are there at once
  std::uint32_t loaders = 1, prefetch = 2;     // 0 loaders: the worker prepares its batches itself, when it needs them
  Time loader_start;                           // of each process, one after another, when an epoch begins
  Time hand_over;                              // the worker's own time to receive a batch from a process
  double copy_seconds_per_sample = 0;          // host to device
  double traffic = 0, traffic_per_sample = 0;  // bytes of the host's memory that each micro-batch moves, and each of its samples

  /// That prepare batches, the worker's own one included; one of a class that prepares none.
  std::uint32_t processes() const { return loaders == 0 ? 1 : loaders; }
};

/// Workers that share cores or memory, or slow each other: all workers of the host.
struct SharedHost {
  double cores = 1;
  double per_neighbour = 0;          // each other active worker adds that share to a worker's time
  bool busy_waiting = false;         // a waiting worker occupies a core, too
  double memory_bytes_per_tick = 0;  // of its memory; 0: without limit
  std::vector<Rank> workers;
};

/// Workers whose loader processes share cores.
struct LoaderHost {
  double cores = 1;
  std::vector<Rank> workers;
};

struct ComputePlan {
  std::function<WorkerCompute(Rank)> make;  // builds a worker's model when it first computes; objects it refers to outlive this
  SparseArray<WorkerCompute> compute;       // [workers]
  std::vector<Rank> compute_of;             // [workers]: index into compute; equal workers without random draws of their own share one
  std::vector<ComputeClass> classes;
  std::vector<std::uint32_t> class_of;   // [workers]
  std::vector<Time> encoding;            // [classes]: of an averaged gradient, on the same device, bucket by bucket; empty: free
  std::vector<double> encoded;           // [milestones of several]: share of the gradient that is encoded by then
  Time price;                            // of an averaged gradient, after backward: being one of several workers
  double interference = 0;               // of an averaged gradient: share by which it slows while its buckets are in flight
  std::vector<SharedHost> hosts;         // only hosts where cores or memory may run short, or neighbours slow each other
  std::vector<LoaderHost> loader_hosts;  // only hosts where those cores may run short
  bool speeds_change = false;            // slow spells or pauses may come
  bool load_apart = false;               // computations find their batch ready: loading is a separate operation

  /// The duration of `worker`'s computation number `call`, of `piece`, started at `start`.
  Time duration(Rank worker, const WorkPiece& piece, std::uint64_t call, Time start) {
    const Rank whose = compute_of[index_of(worker)];
    WorkerCompute* own = compute.find(index_of(whose));
    if (!own) own = &compute.made(index_of(whose), make(whose));
    return own->duration(piece, call, start);
  }
};

}  // namespace straggler
