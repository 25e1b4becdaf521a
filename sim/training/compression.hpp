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
/// vector as long as v. For weights, v is their difference from weights that both sides hold (docs/decisions/043).
struct Compression {
  const Rule* rule = nullptr;   // (v[, e]) -> q
  std::vector<double> scalars;  // followed by the draw's number, for random rules
  Draws draws = Draws::none;
  std::uint64_t bytes = 0;  // of a message; running statistics are added
  bool error_feedback = false;
  bool gathered = false;  // an all-reduce is an all-gather: each rank gets all q and takes their mean itself
  /// Null: the compressor does not factor. Otherwise it sends a product of factors, and starts from the factors sent before.
  const FactorRules* factors = nullptr;
  std::uint64_t second_bytes = 0;  // of `bytes`, those that a second all-reduce moves
  /// (q_1, …, q_p) -> the direction that a server may answer, in the bytes of one message, if all compress at the same weights; null: none.
  const Rule* vote = nullptr;
  /// A gradient that enters an all-reduce in buckets: the offset of each bucket and the end, ascending, in a vector of the given number of
  /// parameters; and the bytes of all buckets. Empty: it goes in one piece.
  std::vector<std::uint64_t> bounds;
  std::uint64_t bounds_end = 0, bucket_bytes = 0;
  /// The rule applied to each piece separately: the number of pieces, the length that their bounds are given for, the bounds, `name`, then
  /// `scalars`.
  const Rule* in_pieces = nullptr;
  double name = 0;  // the compressor's, as a number
  /// Bytes of a message that carries a fragment; the whole vector's are `bytes`.
  std::function<std::uint64_t(const Fragment&)> fragment_bytes;
  /// Where messages are differences from the receiver's copy, the next message contains the residual of this one: the rule as with error
  /// feedback. Its scalars, and the bytes of a message.
  std::vector<double> tracking_scalars;
  std::uint64_t tracking_bytes = 0;
  bool of_weights = false;       // workers send weights, or differences of weights
  bool gossips = false;          // workers send each other the differences from the estimates of their weights
  bool answers = false;          // weights that a server sends are compressed, too
  bool all_begin = false;        // every node acts from the beginning, and holds the initial weights then
  bool common_versions = false;  // all workers publish each version, and hold it
  /// Weights travel as differences from those that both sides hold.
  bool differences() const { return of_weights || answers; }
};

}  // namespace straggler
