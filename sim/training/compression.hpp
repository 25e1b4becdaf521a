// Compression of gradients and weights in messages.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/lineage/draws.hpp"
#include "sim/lineage/factors.hpp"
#include "sim/lineage/lineage.hpp"

namespace straggler {

struct Fragment;

/// A worker sends q = C(v), or with error feedback q = C(v + e) and keeps e <- v + e - q for its next message. The receiver gets q, a
/// vector as long as v. For weights, v is their difference from weights that both sides hold (decision 43).
struct Compression {
  const Rule* rule = nullptr;   // (v[, e]) -> q
  std::vector<double> scalars;  // followed by the draw's number, for random rules
  Draws draws = Draws::none;
  double name = 0;          // the compressor's, as a number
  std::uint64_t bytes = 0;  // of a message; running statistics are added
  bool error_feedback = false;
  bool gathered = false;  // an all-reduce is an all-gather: each rank gets all q and takes their mean itself
  /// Null: the compressor does not factor. Otherwise it sends a product of factors, and starts from the factors sent before.
  const FactorRules* factors = nullptr;
  std::uint64_t right_bytes = 0;  // of `bytes`, those of right factors, which an all-reduce of their own moves
  /// (q_1, …, q_p) -> the direction that a server may answer, in the bytes of one message, if all compress at the same weights; null: none.
  const Rule* vote = nullptr;
  /// The rule applied to each piece separately: the number of pieces, the length that their bounds are given for, the bounds, `name`, then
  /// `scalars`.
  const Rule* in_pieces = nullptr;
  /// Bytes of a message that carries a fragment; the whole vector's are `bytes`.
  std::function<std::uint64_t(const Fragment&)> fragment_bytes;
  /// Of a gradient that enters an all-reduce in buckets.
  struct Buckets {
    std::vector<std::uint64_t> bounds;  // the offset of each bucket and the end, ascending; empty: it goes in one piece
    std::uint64_t end = 0;              // of the vector that they are given for, in parameters
    std::uint64_t bytes = 0;            // of all buckets
  };
  Buckets buckets;
  /// Of messages that are differences from the receiver's copy: the next one contains the residual of this one. The rule as with error
  /// feedback.
  struct Tracking {
    std::vector<double> scalars;
    std::uint64_t bytes = 0;  // of a message
  };
  Tracking tracking;
  /// What a scheme's messages are.
  struct Exchange {
    bool of_weights = false;       // workers send weights, or differences of weights
    bool gossips = false;          // workers send each other the differences from the estimates of their weights
    bool answers = false;          // weights that a server sends are compressed, too
    bool all_begin = false;        // every node acts from the beginning, and holds the initial weights then
    bool common_versions = false;  // all workers publish each version, and hold it
    /// Weights travel as differences from those that both sides hold.
    bool differences() const { return of_weights || answers; }
  };
  Exchange exchange;
};

}  // namespace straggler
