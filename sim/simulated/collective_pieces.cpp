#include "sim/simulated/collective_pieces.hpp"

#include "sim/simulated/coding.hpp"

namespace straggler {

/// The main part of a gradient may go in buckets. Every other part is a piece.
std::size_t CollectivePieces::count(const Operation& operation) const {
  return wire_bytes_.parts_of(part_of(operation).payload).size() + (in_buckets(operation) ? cluster_.collective.buckets.size() - 1 : 0);
}

CollectivePiece CollectivePieces::piece(const Operation& operation, std::size_t index, std::size_t members) const {
  CollectivePiece piece;
  piece.index = index;
  if (operation.kind() == Operation::Kind::shard) {
    piece.last = true;
    const ShardOperation::What& what = static_cast<const ShardOperation&>(operation).what();
    piece.bytes = what.bytes;
    piece.spared_per_byte = what.spared_per_byte;
    return piece;
  }
  const Payload& payload = part_of(operation).payload;
  const Parts parts = wire_bytes_.parts_of(payload);
  const std::size_t more = in_buckets(operation) ? cluster_.collective.buckets.size() - 1 : 0;
  const bool gathers = cluster_.collective.gathers;
  piece.last = index + 1 == parts.size() + more;
  if (in_buckets(operation) && index <= more) {
    const Bucket& bucket = cluster_.collective.buckets[index];
    piece.bytes = bucket.bytes;
    piece.coded_share = bucket.compressed_share;
    const double whole = bucket.compressed_share * static_cast<double>(cluster_.bytes.model);
    if (whole > 0 && bucket.bytes > 0) piece.spared_per_byte = spared_per_byte(whole, static_cast<double>(bucket.bytes), members, gathers);
    return piece;
  }
  if (index - more >= parts.size()) return piece;  // another member's payload has more parts
  const Part& part = parts[index - more];
  piece.bytes = part.bytes;
  piece.statistics = part.kind == Part::Kind::statistics;
  if (piece.statistics || !compressed_form(payload)) return piece;
  const bool left_factors = part.kind == Part::Kind::main && parts.size() > 1 && parts[1].kind == Part::Kind::right_factors;
  piece.coded_share = left_factors ? 0 : Coding::share_of(payload);
  piece.spared_per_byte = wire_bytes_.spared_per_byte(payload, members, gathers);
  return piece;
}

}  // namespace straggler
