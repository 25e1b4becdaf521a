#include "sim/collectives/schedule.hpp"

namespace straggler {

std::uint64_t CollectiveSchedule::bytes_sent(CollectiveRank rank) const {
  std::uint64_t bytes = 0;
  RoundPart part;
  for (std::size_t round = 0; round < rounds(); ++round) {
    this->part(rank, round, part);
    for (const RoundPart::Send& send : part.sends) bytes += send.bytes;
  }
  return bytes;
}

std::uint64_t CollectiveSchedule::bytes_received(CollectiveRank rank) const {
  std::uint64_t bytes = 0;
  RoundPart part;
  for (std::size_t round = 0; round < rounds(); ++round) {
    this->part(rank, round, part);
    bytes += part.received_bytes;
  }
  return bytes;
}

}  // namespace straggler
