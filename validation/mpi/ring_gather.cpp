#include "validation/mpi/ring_gather.hpp"

namespace straggler {

RingGather::RingGather(Rank self, Rank ranks, std::function<void(RingMean::Outgoing)> to_right)
    : self_(self), ranks_(ranks), to_right_(std::move(to_right)) {}

void RingGather::begin(Part mine, bool two, bool vote) {
  parts_.assign(static_cast<std::size_t>(ranks_), {});
  part_from(0) = std::move(mine);
  vote_ = vote;
  around_ = 0;
  step_ = 0;
  times_around_ = ranks_ == 1 ? 0 : two ? 2 : 1;
  if (!done()) send();
}

void RingGather::send() {
  const Part& part = part_from(step_);
  const bool behind = around_ > 0;
  Packer message;
  message.put(std::uint8_t{vote_});
  message.put(behind ? part.behind_values : part.first_values);
  message.put_block(behind ? part.behind : part.first);
  RingMean::Outgoing out;
  out.behind = behind;
  out.value_bytes = behind ? part.behind_values : part.first_values;
  out.bytes = message.take();
  to_right_(std::move(out));
}

void RingGather::arrived(std::span<const std::byte> message) {
  Unpacker from(message);
  if (from.get<std::uint8_t>() != 0) vote_ = true;
  Part& part = part_from(step_ + 1);
  (around_ > 0 ? part.behind_values : part.first_values) = from.get<std::uint64_t>();
  const std::span<const std::byte> block = from.get_block();
  (around_ > 0 ? part.behind : part.first).assign(block.begin(), block.end());
  if (++step_ == ranks_ - 1) {
    step_ = 0;
    ++around_;
  }
  if (!done()) send();
}

}  // namespace straggler
