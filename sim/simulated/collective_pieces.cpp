#include "sim/simulated/collective_pieces.hpp"

#include "sim/simulated/coding.hpp"

namespace straggler {

/// Running statistics are a separate piece, the last.
std::size_t CollectivePieces::count(const Operation& operation) const {
  const Payload& payload = part_of(operation).payload;
  const CompressedForm* const form = compressed_form(payload);
  const bool twice = form && form->second > 0;  // right factors follow from the mean of the left ones
  const std::size_t main = in_buckets(operation) ? cluster_.collective.buckets.size() : twice ? 2 : 1;
  return main + (wire_bytes_.statistics_of(payload) > 0 ? 1 : 0);
}

CollectivePiece CollectivePieces::piece(const Operation& operation, std::size_t index, std::size_t members) const {
  const Payload& payload = part_of(operation).payload;
  CollectivePiece piece;
  piece.index = index;
  piece.last = index + 1 == count(operation);
  if (piece.last && wire_bytes_.statistics_of(payload) > 0) {
    piece.statistics = true;
    piece.bytes = wire_bytes_.statistics_of(payload);
    return piece;
  }
  double bytes = 0, uncompressed = 0;  // of what is compressed as one vector
  if (in_buckets(operation)) {
    const Bucket& bucket = cluster_.collective.buckets[index];
    piece.bytes = bucket.bytes;
    piece.coded_share = bucket.compressed_share;
    bytes = static_cast<double>(bucket.bytes);
    uncompressed = bucket.compressed_share * static_cast<double>(cluster_.bytes.model);
  } else {
    const CompressedForm* const form = compressed_form(payload);
    const std::uint64_t main = wire_bytes_.main_of(payload), second = form ? form->second : 0;
    piece.bytes = index == 0 ? main - second : second;
    if (!form) return piece;
    piece.coded_share = second > 0 && index == 0 ? 0 : Coding::share_of(payload);
    bytes = static_cast<double>(main);
    uncompressed = bytes + wire_bytes_.spared_of(payload);
  }
  // A rank sends (p - 1) / p of 2 n bytes to reduce them, or p - 1 times n to gather them.
  if (bytes > 0 && uncompressed > 0)
    piece.spared_per_byte = (cluster_.collective.gathers ? 2 / static_cast<double>(members) : 1.0) * uncompressed / bytes - 1;
  return piece;
}

}  // namespace straggler
