// How the training samples are divided among workers, and in what order each draws its own.
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

/// What the timing plane knows of a partition: how many samples an epoch of each stream has.
struct StreamSizes {
  bool shared = false;  // all workers draw from one stream, `shared_stream`, of `total` samples
  std::uint64_t total = 0;
  std::vector<std::uint64_t> sizes;  // [workers]; empty if shared
  Key content;                       // hash of who has what, where it came from a file
  /// Who has each sample, where it came from a file: what was read for the sizes is what the partition is made of.
  std::shared_ptr<const std::vector<std::uint32_t>> workers_of = nullptr;
  std::uint64_t of(std::uint32_t stream) const { return shared ? total : sizes[stream]; }
};

/// Which samples a batch stands for. Immutable after construction but for a cache: safe to call from several threads.
class Partition {
 public:
  virtual ~Partition() = default;
  virtual const StreamSizes& sizes() const = 0;
  /// Indices into the training split, in the order drawn. Position / size of the stream is the epoch; each epoch is a new
  /// permutation by (seed, stream, epoch), or always that of epoch 0 without reshuffling.
  virtual void samples(const Batch& batch, std::vector<std::uint32_t>& out) const = 0;
};

struct PartitionRequest {
  std::uint64_t seed = 1;
  std::size_t workers = 1, samples = 0, classes = 0;
  bool reshuffle = true;
  std::span<const std::int32_t> labels;  // of the training split; empty when timing alone
  const StreamSizes* sizes = nullptr;    // for `make`: what `sizes` said of this request; null: it was not asked
};

struct PartitionEntry {
  std::string name, summary;
  std::vector<Parameter> parameters;
  bool simulated_only = false;  // needs a pool that real processes do not share
  /// Sizes only; cheap for a million workers.
  std::function<StreamSizes(const Parameters&, const PartitionRequest&)> sizes;
  std::function<std::unique_ptr<Partition>(const Parameters&, const PartitionRequest&)> make;
};

}  // namespace straggler
