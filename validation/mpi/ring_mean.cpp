#include "validation/mpi/ring_mean.hpp"

#include <algorithm>
#include <stdexcept>

namespace straggler {

RingMean::RingMean(Rank self, Rank ranks, std::function<void(Outgoing)> to_right)
    : self_(self), ranks_(ranks), to_right_(std::move(to_right)) {}

void RingMean::add_segments(std::vector<Segment>& segments, std::size_t begin, Cut cut, Precision numbers) {
  for (const Cut::Stretch& part : cut.parts())
    segments.push_back({begin + part.begin, part.length, part.kind == Part::Kind::main ? numbers : Precision::fp32, part.kind});
}

void RingMean::begin(std::vector<float> mine, Cut cut, Bytes beside, std::uint8_t flags, Precision numbers) {
  std::vector<Segment> segments;
  for (std::size_t at = 0; at < mine.size(); at += cut.length) add_segments(segments, at, cut, numbers);
  length_ = cut.length;
  begin(std::move(mine), std::move(segments), std::move(beside), flags);
}

void RingMean::begin(std::vector<float> mine, std::vector<Segment> segments, Bytes beside, std::uint8_t flags) {
  values_ = std::move(mine);
  segments_ = std::move(segments);
  const auto ranks = static_cast<std::size_t>(ranks_);
  for (const Segment& each : segments_) share_numbers(each.numbers, ranks, std::span(values_).subspan(each.begin, each.length));
  beside_.assign(ranks, {});
  beside_[static_cast<std::size_t>(self_)] = std::move(beside);
  flags_ = flags;
  parts_.clear();
  if (ranks_ > 1) parts_.push_back(Part::Kind::main);
  for (const Segment& each : segments_)
    if (ranks_ > 1 && std::ranges::find(parts_, each.part) == parts_.end()) parts_.push_back(each.part);
  around_ = 0;
  step_ = 0;
  if (!done()) send();
}

std::span<float> RingMean::chunk_of(const Segment& segment, Rank chunk) {
  const auto c = static_cast<std::size_t>(chunk), p = static_cast<std::size_t>(ranks_);
  const std::size_t from = segment.length * c / p, to = segment.length * (c + 1) / p;
  return std::span(values_).subspan(segment.begin + from, to - from);
}

/// In step s of reducing, rank r passes chunk r - s on; then, of gathering, chunk r + 1 - s, which is whole.
void RingMean::send() {
  const bool gathering = step_ >= ranks_ - 1;
  const Rank chunk = wrapped(gathering ? self_ + 1 - (step_ - (ranks_ - 1)) : self_ - step_);
  Packer message;
  message.reserve(largest_message());
  message.put(flags_);
  if (!gathering && around_ == 0) message.put_block(beside_[static_cast<std::size_t>(chunk)]);
  Outgoing out;
  out.part.kind = parts_[around_];
  for (const Segment& segment : segments_) {
    if (!goes_now(segment)) continue;
    const std::span<const float> floats = chunk_of(segment, chunk);
    if (segment.numbers == Precision::fp32) {
      message.put_floats(floats);
      out.part.bytes += floats.size_bytes();
    } else {
      const std::vector<std::byte> halves = message_of(segment.numbers, floats);
      message.put_block(halves);
      out.part.bytes += halves.size();
    }
  }
  out.bytes = message.take();
  to_right_(std::move(out));
}

/// In this time around, with what its sender appends: no message moves while it grows.
std::size_t RingMean::largest_message() const {
  constexpr std::size_t heads = 64;
  std::size_t most = heads + std::ranges::max(beside_, {}, &Bytes::size).size();
  for (const Segment& segment : segments_)
    if (goes_now(segment)) most += (segment.length / static_cast<std::size_t>(ranks_) + 1) * sizeof(float) + heads;
  return most;
}

void RingMean::arrived(std::span<const std::byte> message) {
  const bool gathering = step_ >= ranks_ - 1;
  const Rank chunk = wrapped(gathering ? self_ - (step_ - (ranks_ - 1)) : self_ - step_ - 1);
  Unpacker from(message);
  flags_ |= from.get<std::uint8_t>();
  if (!gathering && around_ == 0) {
    const std::span<const std::byte> said = from.get_block();
    beside_[static_cast<std::size_t>(chunk)].assign(said.begin(), said.end());
  }
  take(from, chunk, gathering);
  if (++step_ == 2 * (ranks_ - 1)) {
    step_ = 0;
    ++around_;
  }
  if (!done()) send();
}

void RingMean::take(Unpacker& message, Rank chunk, bool gathering) {
  const bool whole = !gathering && step_ == ranks_ - 2;  // every rank has added its own
  std::vector<float> halves;
  for (const Segment& segment : segments_) {
    if (!goes_now(segment)) continue;
    const std::span<float> mine = chunk_of(segment, chunk);
    if (segment.numbers != Precision::fp32) halves = numbers_in(segment.numbers, message.get_block());
    const std::span<const float> theirs = segment.numbers == Precision::fp32 ? message.get_floats(mine.size()) : halves;
    if (theirs.size() != mine.size()) throw std::logic_error("a message of a ring has another number of values than its chunk");
    if (gathering)
      std::copy(theirs.begin(), theirs.end(), mine.begin());
    else
      add_numbers(segment.numbers, theirs, mine);
    if (whole) end_sum(segment.numbers, static_cast<std::size_t>(ranks_), mine);
  }
}

}  // namespace straggler
