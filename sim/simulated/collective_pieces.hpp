// The pieces in which collectives move payloads, and their bytes.
#pragma once
#include <cstddef>
#include <cstdint>

#include "sim/simulated/simulated_cluster.hpp"
#include "sim/training/envelope.hpp"
#include "sim/training/operations.hpp"

namespace straggler {

struct CollectivePiece {
  std::size_t index = 0;
  bool last = false;
  bool statistics = false;     // running statistics
  std::uint64_t bytes = 0;     // of one member's payload
  double spared_per_byte = 0;  // saving of compression per byte sent: an uncompressed ring all-reduce would have sent the rest
  double coded_share = 0;      // share of all parameters that is compressed
};

class CollectivePieces {
 public:
  /// Both outlive this.
  CollectivePieces(const SimulatedCluster& cluster, const WireBytes& wire_bytes) : cluster_(cluster), wire_bytes_(wire_bytes) {}
  /// Of the operation's payload.
  std::size_t count(const Operation& operation) const;
  CollectivePiece piece(const Operation& operation, std::size_t index, std::size_t members) const;

 private:
  /// Only an all-reduce of a gradient: weights go in one piece.
  bool in_buckets(const Operation& operation) const {
    const Operation::Kind kind = operation.kind();
    return (kind == Operation::Kind::averaged_gradient || kind == Operation::Kind::all_reduce) && !cluster_.collective.buckets.empty() &&
           goes_in_buckets(part_of(operation).payload);
  }

  const SimulatedCluster& cluster_;
  const WireBytes& wire_bytes_;
};

}  // namespace straggler
