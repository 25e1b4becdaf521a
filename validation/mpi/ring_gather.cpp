#include "validation/mpi/ring_gather.hpp"

namespace straggler {

RingGather::RingGather(Rank self, Rank ranks, std::function<void(RingMean::Outgoing)> to_right)
    : self_(self), ranks_(ranks), to_right_(std::move(to_right)) {}

void RingGather::begin(std::vector<Packed> mine, std::uint8_t flags) {
  std::vector<Packed> theirs(mine.size());
  for (std::size_t k = 0; k < mine.size(); ++k) theirs[k].part.kind = mine[k].part.kind;
  parts_ = ranks_ == 1 ? 0 : mine.size();
  messages_.assign(index_of(ranks_), theirs);
  messages_[index_of(self_)] = std::move(mine);
  flags_ = flags;
  around_ = 0;
  step_ = 0;
  if (!done()) send();
}

void RingGather::send() {
  const Packed& passed_on = part_from(step_);
  Packer message;
  message.put(flags_);
  message.put(passed_on.part.bytes);
  message.put_block(passed_on.bytes);
  to_right_({message.take(), passed_on.part});
}

void RingGather::arrived(std::span<const std::byte> message) {
  Unpacker from(message);
  flags_ |= from.get<std::uint8_t>();
  Packed& packed = part_from(step_ + 1);
  packed.part.bytes = from.get<std::uint64_t>();
  const std::span<const std::byte> block = from.get_block();
  packed.bytes.assign(block.begin(), block.end());
  if (++step_ == ranks_ - 1) {
    step_ = 0;
    ++around_;
  }
  if (!done()) send();
}

std::vector<Bytes> RingGather::message(Rank rank) const {
  std::vector<Bytes> parts;
  for (const Packed& each : messages_[index_of(rank)]) parts.push_back(each.bytes);
  return parts;
}

}  // namespace straggler
