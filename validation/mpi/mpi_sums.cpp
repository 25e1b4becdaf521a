// All-reduces of compressed gradients whose messages add up: what goes around the ring is what a message carries (SumCodec). Of factors
// the left ones go around first; the right ones follow from their mean.
#include <algorithm>

#include "sim/lineage/compressed_mean.hpp"
#include "validation/mpi/mpi_backend.hpp"

namespace straggler {

namespace {
const CompressedForm& form_of(const Gradient& gradient) { return *gradient->more.get().compressed; }
}  // namespace

const SumCodec& MpiBackend::sum_codec(const Ring& ring) const { return task_.cut.codec->entry->sums[ring.left.empty() ? 0 : 1]; }

/// What this rank adds to the sum.
Handle MpiBackend::summed(const Ring& ring) const {
  const auto& mine = std::get<Gradient>(*ring.reducing.front().payload);
  if (!form_of(mine).factors) return mine->value();
  return ring.left.empty() ? form_of(mine).factors->left : node_.algebra().right_factor(mine, ring.left);
}

void MpiBackend::begin_sum(Ring& ring, const Payload& payload) {
  const SumCodec& codec = sum_codec(ring);
  const VectorLayout layout{task_.cut.parameters, task_.cut.codec->tensors};
  const Handle vector = summed(ring);
  const std::span<const float> all = values_.of(vector);
  std::vector<float> mine =
      numbers_in(codec.numbers, codec.encode(compressed_form(payload)->scalars, layout, all.first(task_.cut.parameters)));
  const std::size_t numbers = mine.size();
  // Statistics go with what comes first.
  if (task_.cut.two() && ring.left.empty()) mine.insert(mine.end(), all.begin() + static_cast<std::ptrdiff_t>(task_.cut.first), all.end());
  const Cut cut(mine.size(), numbers);
  Packer beside;
  pack_names(payload, beside);
  beside.put(std::uint8_t{broken_off_});  // so that the rank that writes the results knows
  ring.mean.begin(std::move(mine), cut, beside.take(), ring.of_all() && voted_, codec.numbers);
}

std::vector<Gradient> MpiBackend::named_gradients(const Ring& ring) {
  std::vector<Gradient> parts;
  for (const Bytes& said : ring.mean.beside()) {
    Unpacker unpacker(said);
    parts.push_back(std::get<Gradient>(unpack_names(values_, unpacker)));
    if (unpacker.get<std::uint8_t>() != 0) broken_off_ = true;
  }
  return parts;
}

/// The mean has the value that has come around; behind its parameters what is this rank's own, or the mean of statistics.
void MpiBackend::give_sum(const Ring& ring, const Handle& mean) {
  const SumCodec& codec = sum_codec(ring);
  const VectorLayout layout{task_.cut.parameters, task_.cut.codec->tensors};
  const Handle vector = summed(ring);
  const std::span<const float> own = values_.of(vector);
  std::vector<float> whole(own.begin(), own.end());
  const std::span<const float> came = ring.mean.mean(0);
  const bool statistics = task_.cut.two() && ring.left.empty();
  const std::size_t behind = statistics ? task_.cut.length - task_.cut.first : 0;
  codec.decode(compressed_form(*ring.reducing.front().payload)->scalars, layout,
               message_of(codec.numbers, came.first(came.size() - behind)), std::span(whole).first(task_.cut.parameters));
  if (statistics) std::ranges::copy(came.last(behind), whole.begin() + static_cast<std::ptrdiff_t>(task_.cut.first));
  values_.give(mean, whole);
}

/// The same algebra as in the simulation, over names; then the values are given.
bool MpiBackend::take_sum(Ring& ring) {
  voted_ = voted_ || ring.mean.vote();
  Payload& payload = *ring.reducing.front().payload;
  const std::vector<Gradient> parts = named_gradients(ring);
  Algebra& algebra = node_.algebra();
  if (!form_of(parts.front()).factors) {
    Gradient mean = algebra.mean(parts, rules::compressed_mean);
    give_sum(ring, mean->value());
    payload = std::move(mean);
  } else if (ring.left.empty()) {
    const Handle mean = algebra.left_mean(parts);
    give_sum(ring, mean);
    ring.left = algebra.orthogonal(mean, form_of(parts.front()).scalars);
    values_.of(ring.left);  // `mean` goes
    return false;
  } else {
    const Handle right = algebra.right_mean(parts, ring.left);
    give_sum(ring, right);
    payload = algebra.mean(parts, rules::compressed_mean);
    ring.left = Handle();
  }
  ring.reducing.pop_front();
  return true;
}

}  // namespace straggler
