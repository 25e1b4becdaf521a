// All-reduces of compressed messages that can be added: their contents go around the ring (SumCodec). Of factors the left ones go around
// first; the right ones follow from their mean. Attached vectors and running statistics go with the first round, uncompressed.
#include <algorithm>

#include "sim/lineage/compressed_mean.hpp"
#include "validation/mpi/mpi_backend.hpp"

namespace straggler {

namespace {

CompressedVector compressed_part(const Payload& payload) {
  if (const auto* weights = std::get_if<Weights>(&payload)) return compressed_vector(*weights);
  return compressed_vector(std::get<Gradient>(payload));
}

std::vector<Handle> attached_to(const Payload& payload) {
  std::vector<Handle> all = vectors_in(payload);
  all.erase(all.begin());
  return all;
}

}  // namespace

const SumCodec& MpiBackend::sum_codec(const Ring& ring) const { return task_.cut.codec->entry->sums[ring.left.empty() ? 0 : 1]; }

/// This rank's addend.
Handle MpiBackend::summed(const Ring& ring) const {
  const CompressedVector mine = compressed_part(*ring.reducing.front().payload);
  if (!mine.form->factors) return mine.value;
  return ring.left.empty() ? mine.form->factors->left : node_.algebra().right_factor(mine, ring.left);
}

void MpiBackend::begin_sum(Ring& ring, const Payload& payload) {
  const Cut& cut = task_.cut;
  const SumCodec& codec = sum_codec(ring);
  const VectorLayout layout{cut.parameters, cut.codec->tensors};
  const Handle vector = summed(ring);
  const std::span<const float> all = values_.of(vector);
  std::vector<float> mine = numbers_in(codec.numbers, codec.encode(compressed_form(payload)->scalars, layout, all.first(cut.parameters)));
  const std::size_t numbers = mine.size();
  const bool first = ring.left.empty();
  if (first) mine.insert(mine.end(), all.begin() + static_cast<std::ptrdiff_t>(cut.main), all.end());
  std::vector<RingMean::Segment> segments;
  RingMean::add_segments(segments, 0, Cut(mine.size(), numbers), codec.numbers);
  if (first) {
    for (const Handle& each : attached_to(payload)) {
      const std::span<const float> values = values_.of(each);
      RingMean::add_segments(segments, mine.size(), cut);
      mine.insert(mine.end(), values.begin(), values.end());
    }
  }
  Packer beside;
  pack_names(payload, beside);
  ring.mean.begin(std::move(mine), std::move(segments), beside.take(), flags_for(ring));
}

/// The mean gets the value from the ring; behind its parameters stand this rank's own values, or the mean of the statistics.
void MpiBackend::give_sum(const Ring& ring, const Handle& mean) {
  const Cut& cut = task_.cut;
  const SumCodec& codec = sum_codec(ring);
  const VectorLayout layout{cut.parameters, cut.codec->tensors};
  const CompressedForm& form = *compressed_form(*ring.reducing.front().payload);
  const Handle vector = summed(ring);
  const std::span<const float> own = values_.of(vector);
  std::vector<float> whole(own.begin(), own.end());
  const std::span<const float> came = ring.mean.means();
  const std::size_t numbers = ring.mean.main_length();
  codec.decode(form.scalars, layout, message_of(codec.numbers, came.first(numbers)), std::span(whole).first(cut.parameters));
  if (ring.left.empty())
    std::ranges::copy(came.subspan(numbers, cut.length - cut.main), whole.begin() + static_cast<std::ptrdiff_t>(cut.main));
  values_.give(mean, whole);
}

/// Behind the vector itself.
void MpiBackend::give_attached(const Ring& ring, const Payload& mean) {
  std::size_t at = ring.mean.main_length() + task_.cut.length - task_.cut.main;
  for (const Handle& each : attached_to(mean)) {
    values_.give(each, ring.mean.means().subspan(at, task_.cut.length));
    at += task_.cut.length;
  }
}

/// The same algebra as in the simulation, on names; the values are set afterwards.
template <class T>
bool MpiBackend::take_sum(Ring& ring) {
  take_flags(ring.mean.flags());
  const std::vector<T> parts = named_parts<T>(ring);
  std::vector<CompressedVector> vectors;
  for (const T& part : parts) vectors.push_back(compressed_vector(part));
  Algebra& algebra = node_.algebra();
  const bool factors = vectors.front().form->factors != nullptr;
  if (factors && !ring.left.empty()) {
    const Handle right = algebra.right_mean(vectors, ring.left);
    give_sum(ring, right);
    *ring.reducing.front().payload = std::move(ring.result);
    ring.left = Handle();
    ring.reducing.pop_front();
    return true;
  }
  const Handle mean = factors ? algebra.left_mean(vectors) : algebra.compressed_mean(vectors).value;
  give_sum(ring, mean);
  T result = algebra.mean(parts, rules::compressed_mean);
  give_attached(ring, result);
  if (factors) {
    ring.result = std::move(result);
    ring.left = algebra.orthogonal(mean, vectors.front().form->scalars);
    values_.of(ring.left);  // `mean` goes
    return false;
  }
  *ring.reducing.front().payload = std::move(result);
  ring.reducing.pop_front();
  return true;
}

bool MpiBackend::take_sum(Ring& ring) {
  return std::holds_alternative<Weights>(*ring.reducing.front().payload) ? take_sum<Weights>(ring) : take_sum<Gradient>(ring);
}

}  // namespace straggler
