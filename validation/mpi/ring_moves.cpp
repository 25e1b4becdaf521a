#include "validation/mpi/ring_moves.hpp"

#include <algorithm>

#include "sim/lineage/compressed_mean.hpp"
#include "validation/mpi/ring_gather.hpp"

namespace straggler {

/// The ring's number comes after the data that the ring moves.
void RingMove::send_right(RingMean::Outgoing out, bool gathered) const {
  const double spared =
      out.part.kind == Part::Kind::statistics ? 0 : rooms_.post.wire_bytes().spared_per_byte(payload(), index_of(seat_.size), gathered);
  const auto* const number = reinterpret_cast<const std::byte*>(&seat_.number);
  out.bytes.insert(out.bytes.end(), number, number + sizeof seat_.number);
  rooms_.post.send_step(seat_.right, std::move(out.bytes), out.part, spared * static_cast<double>(out.part.bytes));
}

namespace {

template <class T>
Payload mean_as(const Algebra& algebra, const std::vector<Payload>& parts, const Rule& rule) {
  std::vector<T> all;
  for (const Payload& part : parts) all.push_back(std::get<T>(part));
  return algebra.mean(all, rule);
}

/// Of weights, or of gradients, in the order of ranks.
Payload mean_of(const Algebra& algebra, const std::vector<Payload>& parts, const Rule& rule) {
  return std::holds_alternative<Weights>(parts.front()) ? mean_as<Weights>(algebra, parts, rule) : mean_as<Gradient>(algebra, parts, rule);
}

CompressedVector compressed_part(const Payload& payload) {
  if (const auto* weights = std::get_if<Weights>(&payload)) return compressed_vector(*weights);
  return compressed_vector(std::get<Gradient>(payload));
}

/// The vectors of a payload but its first.
std::vector<Handle> attached_to(const Payload& payload) {
  std::vector<Handle> all = vectors_in(payload);
  all.erase(all.begin());
  return all;
}

/// An all-gather, or an all-reduce of messages that cannot be summed: each rank sums for itself.
class GatherMove final : public RingMove {
 public:
  GatherMove(const RingRooms& rooms, const RingSeat& seat, Operation& operation)
      : RingMove(rooms, seat, operation),
        gather_(seat.place, seat.size, [this](RingMean::Outgoing out) { send_right(std::move(out), true); }) {
    std::vector<Bytes> packed = pack(payload(), cut(), rooms.world.values);
    std::vector<RingGather::Packed> mine;
    packed.resize(cut().parts().size());
    for (Bytes& bytes : packed) mine.push_back({std::move(bytes), {0, cut().parts()[mine.size()].kind}});
    for (const Part& part : rooms.post.wire_bytes().parts_of(payload()))
      for (RingGather::Packed& each : mine)
        if (each.part.kind == part.kind) each.part = part;
    gather_.begin(std::move(mine), flags());
  }
  void arrived(const Bytes& message) override { gather_.arrived(message); }
  bool done() const override { return gather_.done(); }
  void finish() override {
    rooms_.stop.take(gather_.flags());
    std::vector<Payload> parts;
    for (Rank rank = 0; rank < seat_.size; ++rank)
      parts.push_back(rank == seat_.place ? payload() : unpack(cut(), rooms_.world.values, gather_.message(rank)));
    if (operation_.kind() != Operation::Kind::all_gather)
      payload() = mean_of(rooms_.algebra, parts, rooms_.algebra.all_reduce_rule());
    else
      static_cast<AllGatherOperationBase&>(operation_).gathered = std::make_shared<const std::vector<Payload>>(std::move(parts));
  }

 private:
  RingGather gather_;
};

/// The mean of floats goes around, with the payloads' names. Its handle is that of the simulation's algebra, and gets its values
/// afterwards.
class ReduceMove : public RingMove {
 public:
  void arrived(const Bytes& message) override { mean_.arrived(message); }
  bool done() const override { return mean_.done(); }

 protected:
  ReduceMove(const RingRooms& rooms, const RingSeat& seat, Operation& operation)
      : RingMove(rooms, seat, operation),
        mean_(seat.place, seat.size, [this](RingMean::Outgoing out) { send_right(std::move(out), false); }) {}
  Bytes names() const {
    Packer packer;
    pack_names(payload(), packer);
    return packer.take();
  }
  /// Once done: all ranks' payloads, by name.
  std::vector<Payload> parts() {
    rooms_.stop.take(mean_.flags());
    std::vector<Payload> parts;
    for (const Bytes& said : mean_.beside()) {
      Unpacker unpacker(said);
      parts.push_back(unpack_names(rooms_.world.values, unpacker));
    }
    return parts;
  }
  RingMean mean_;
};

class MeanMove final : public ReduceMove {
 public:
  MeanMove(const RingRooms& rooms, const RingSeat& seat, Operation& operation) : ReduceMove(rooms, seat, operation) {
    const Fragment fragment = fragment_of(payload());
    std::vector<float> mine;
    for (const Handle& vector : vectors_in(payload())) {
      std::span<const float> values = rooms.world.values.of(vector);
      if (!fragment.whole()) values = values.subspan(cut().begin_of(fragment), cut().of(fragment).length);
      mine.insert(mine.end(), values.begin(), values.end());
    }
    mean_.begin(std::move(mine), cut().of(fragment), names(), flags());
  }
  void finish() override {
    Payload mean = mean_of(rooms_.algebra, parts(), rules::ring_mean);
    const Fragment fragment = fragment_of(mean);
    std::size_t k = 0;
    for (const Handle& vector : vectors_in(mean)) {
      const std::span<const float> values = mean_.mean(k++);
      if (fragment.whole()) {
        rooms_.world.values.give(vector, values);
        continue;
      }
      std::vector<float> whole(cut().length);
      std::ranges::copy(values, whole.begin() + static_cast<std::ptrdiff_t>(cut().begin_of(fragment)));
      rooms_.world.values.give(vector, whole);
    }
    payload() = std::move(mean);
  }
};

/// Compressed messages that can be added: their contents go around (SumCodec). Of factors the left ones go around first; the right ones
/// follow from their mean. Attached vectors and running statistics go with the first round, uncompressed.
class SumMove final : public ReduceMove {
 public:
  SumMove(const RingRooms& rooms, const RingSeat& seat, Operation& operation) : ReduceMove(rooms, seat, operation) { begin(); }
  void arrived(const Bytes& message) override {
    mean_.arrived(message);
    if (mean_.done()) end_round();
  }
  void finish() override { payload() = std::move(result_); }

 private:
  bool first_round() const { return left_.empty(); }
  const SumCodec& codec() const { return cut().codec->entry->sums[first_round() ? 0 : 1]; }
  VectorLayout layout() const { return {cut().parameters, cut().codec->tensors}; }
  const std::vector<double>& scalars() const { return compressed_form(payload())->scalars; }

  /// This rank's addend.
  Handle summed() const {
    const CompressedVector mine = compressed_part(payload());
    if (!mine.form->factors) return mine.value;
    return first_round() ? mine.form->factors->left : rooms_.algebra.right_factor(mine, left_);
  }

  void begin() {
    Values& values = rooms_.world.values;
    const Handle vector = summed();
    const std::span<const float> all = values.of(vector);
    std::vector<float> mine = numbers_in(codec().numbers, codec().encode(scalars(), layout(), all.first(cut().parameters)));
    const std::size_t numbers = mine.size();
    if (first_round()) mine.insert(mine.end(), all.begin() + static_cast<std::ptrdiff_t>(cut().main), all.end());
    std::vector<RingMean::Segment> segments;
    RingMean::add_segments(segments, 0, Cut(mine.size(), numbers), codec().numbers);
    if (first_round()) {
      for (const Handle& each : attached_to(payload())) {
        const std::span<const float> floats = values.of(each);
        RingMean::add_segments(segments, mine.size(), cut());
        mine.insert(mine.end(), floats.begin(), floats.end());
      }
    }
    mean_.begin(std::move(mine), std::move(segments), names(), flags());
  }

  void end_round() {
    const std::vector<Payload> parts = this->parts();
    std::vector<CompressedVector> vectors;
    for (const Payload& part : parts) vectors.push_back(compressed_part(part));
    Algebra& algebra = rooms_.algebra;
    if (!first_round()) return give_sum(algebra.right_mean(vectors, left_));
    const bool factors = vectors.front().form->factors != nullptr;
    const Handle mean = factors ? algebra.left_mean(vectors) : algebra.compressed_mean(vectors).value;
    give_sum(mean);
    result_ = mean_of(algebra, parts, rules::compressed_mean);
    give_attached();
    if (!factors) return;
    left_ = algebra.orthogonal(mean, vectors.front().form->scalars);
    rooms_.world.values.of(left_);  // `mean` goes
    begin();
  }

  /// The mean gets the value from the ring; behind its parameters stand this rank's own values, or the mean of the statistics.
  void give_sum(const Handle& mean) const {
    const Handle vector = summed();
    const std::span<const float> own = rooms_.world.values.of(vector);
    std::vector<float> whole(own.begin(), own.end());
    const std::span<const float> came = mean_.means();
    const std::size_t numbers = mean_.main_length();
    codec().decode(scalars(), layout(), message_of(codec().numbers, came.first(numbers)), std::span(whole).first(cut().parameters));
    if (first_round())
      std::ranges::copy(came.subspan(numbers, cut().length - cut().main), whole.begin() + static_cast<std::ptrdiff_t>(cut().main));
    rooms_.world.values.give(mean, whole);
  }

  /// They stand behind the vector itself.
  void give_attached() const {
    std::size_t at = mean_.main_length() + cut().length - cut().main;
    for (const Handle& each : attached_to(result_)) {
      rooms_.world.values.give(each, mean_.means().subspan(at, cut().length));
      at += cut().length;
    }
  }

  Handle left_;     // once the mean of the left factors is there
  Payload result_;  // once the first round is over
};

}  // namespace

std::unique_ptr<RingMove> begin_ring_move(const RingRooms& rooms, const RingSeat& seat, Operation& operation) {
  const Payload& payload = part_of(operation).payload;
  const TrainingPlan& plan = rooms.world.task.plan;
  const bool all_gathers = operation.kind() == Operation::Kind::all_gather;
  if (!all_gathers && !compressed_form(payload)) return std::make_unique<MeanMove>(rooms, seat, operation);
  // Sums are of whole gradients, and of differences of weights.
  const bool sums = plan.compression && !plan.compression->gathered && fragment_of(payload).whole();
  if (!all_gathers && sums) return std::make_unique<SumMove>(rooms, seat, operation);
  return std::make_unique<GatherMove>(rooms, seat, operation);
}

}  // namespace straggler
