// How the training samples are divided among workers, and the order in which each draws its own.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/base/parameters.hpp"
#include "sim/lineage/lineage.hpp"

namespace straggler {

/// The timing plane's view of a partition: samples per epoch of each stream.
struct StreamSizes {
  bool shared = false;  // all workers draw from one stream, `shared_stream`, of `total` samples
  std::uint64_t total = 0;
  std::vector<std::uint64_t> sizes;  // [workers]; empty if shared
  Key content;                       // hash of the assignment, if it came from a file
  /// The worker of each sample, if it came from a file: the same reading serves the sizes and the partition.
  std::shared_ptr<const std::vector<std::uint32_t>> workers_of = nullptr;
  std::uint64_t of(std::uint32_t stream) const { return shared ? total : sizes[stream]; }
};

/// Maps batches to samples. Immutable after construction except for a cache: safe to call from several threads.
class Partition {
 public:
  virtual ~Partition() = default;
  virtual const StreamSizes& sizes() const = 0;
  /// Indices into the training split, in the order drawn. Position / size of the stream is the epoch. Each epoch is a new permutation by
  /// (seed, stream, epoch); without reshuffling it is always that of epoch 0.
  virtual void samples(const Batch& batch, std::vector<std::uint32_t>& out) const = 0;
};

struct PartitionRequest {
  std::uint64_t seed = 1;
  std::size_t workers = 1, samples = 0, classes = 0;
  bool one_label = true;  // false: a sample has a label at each of its places, so none has a class
  bool reshuffle = true;
  std::vector<std::uint64_t> batches;    // [workers]: parts that no data give are in proportion to these; empty: they are equal
  std::span<const std::int32_t> labels;  // of the training split; empty when timing alone
  const StreamSizes* sizes = nullptr;    // for `make`: the result of `sizes` on this request; null: not computed
};

struct PartitionEntry {
  std::string name, summary;
  DeclaredParameters parameters;
  bool simulated_only = false;  // needs a pool, which real processes cannot share
  /// Sizes only; cheap for a million workers.
  std::function<StreamSizes(const Parameters&, const PartitionRequest&)> sizes;
  std::function<std::unique_ptr<Partition>(const Parameters&, const PartitionRequest&)> make;
};

}  // namespace straggler
