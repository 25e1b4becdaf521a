// Checkpoints of synchronous SGD on real ranks. The rank that publishes writes a version's weights and the optimizer's state; the places in
// the samples follow from the version. A job whose ranks were all killed continues from it to the same weights.
//
// The file: a mark; a hash of the rest; the identity; the interval; the version; when the job began; each vector's key; their floats. In
// the machine's own byte order. It appears whole; an older one is kept until then.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/executor/checkpointing.hpp"
#include "validation/mpi/wire.hpp"

namespace straggler {

/// What the next version depends on.
struct RankState {
  std::uint64_t version = 0;
  std::int64_t began = 0;                       // the job, in ns of the system's clock
  std::vector<Key> keys;                        // of the weights, then of the vectors of the optimizer
  std::vector<std::span<const float>> vectors;  // [keys]
};

/// Of the rank that publishes.
class RankCheckpoint {
 public:
  /// Reads the file if the job is to be resumed and the file is there. Throws DataError: it is not a checkpoint, damaged, or another job's;
  /// or none could be written there.
  explicit RankCheckpoint(CheckpointOptions options);

  /// To continue from; none: the job begins. Valid until forget().
  const std::optional<RankState>& state() const { return state_; }
  void forget() {
    state_.reset();
    read_ = Bytes();
  }
  bool saves() const { return options_.interval.given(); }
  bool due(std::uint64_t version) const;
  /// `vectors`: the weights, then those of the optimizer. A failure is told, and the run continues.
  void write(std::uint64_t version, std::int64_t began, const std::vector<Handle>& vectors, Values& values);

 private:
  void read();
  void check(const CheckpointIdentity& saved) const;
  [[noreturn]] void fail(const std::string& sentence) const;
  void tell(CheckpointNote::What what, std::uint64_t version = 0, std::uint64_t bytes = 0);

  CheckpointOptions options_;
  Bytes read_;
  std::optional<RankState> state_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace straggler
