// The all-reduce of the real back end: what a ring moves, and what its result is called.
#include "validation/mpi/mpi_backend.hpp"

namespace straggler {

/// The same algebra as in the simulation, over names; then the values are given.
template <class T>
Payload MpiBackend::ring_mean() {
  voted_ = voted_ || ring_.vote();
  std::vector<T> parts;
  for (const Bytes& said : ring_.beside()) {
    Unpacker unpacker(said);
    parts.push_back(std::get<T>(unpack_names(values_, unpacker)));
    if (unpacker.get<std::uint8_t>() != 0) broken_off_ = true;
  }
  T mean = node_.algebra().mean(parts, rules::ring_mean);
  values_.give(mean->value, ring_.mean(0));
  if constexpr (std::is_same_v<T, Weights>)
    for (std::size_t k = 0; k < mean->optimizer().size(); ++k) values_.give(mean->optimizer()[k], ring_.mean(k + 1));
  return mean;
}

bool MpiBackend::join_ring(Operation& operation, Payload& payload) {
  broken_off_ = broken_off_ || interrupted();
  if (broken_off_ || (task_.stop.simulated_time && now() >= *task_.stop.simulated_time)) voted_ = true;
  if (task_.plan.workers == 1) return true;
  std::vector<Handle> vectors;
  if (const auto* weights = std::get_if<Weights>(&payload)) {
    vectors = (*weights)->optimizer();
    vectors.insert(vectors.begin(), (*weights)->value);
  } else {
    vectors.push_back(std::get<Gradient>(payload)->value);
  }
  std::vector<float> mine;
  mine.reserve(vectors.size() * task_.cut.length);
  for (const Handle& vector : vectors) {
    const std::span<const float> values = values_.of(vector);
    mine.insert(mine.end(), values.begin(), values.end());
  }
  Packer beside;
  pack_names(payload, beside);
  beside.put(std::uint8_t{broken_off_});  // so that the rank that writes the results knows
  reducing_ = {&operation, &payload};
  ring_.begin(std::move(mine), task_.cut, beside.take(), voted_);
  while (!ring_.done() && !early_.empty()) {
    const Bytes next = std::move(early_.front());
    early_.pop_front();
    ring_.arrived(next);
  }
  if (!ring_.done()) return false;
  reducing_ = {};
  payload = payload.index() == 0 ? ring_mean<Weights>() : ring_mean<Gradient>();
  return true;
}

void MpiBackend::ring_message(Bytes bytes) {
  if (ring_.done() || !reducing_.operation) {
    early_.push_back(std::move(bytes));
    return;
  }
  ring_.arrived(bytes);
  if (!ring_.done()) return;
  const auto [operation, payload] = std::exchange(reducing_, {});
  *payload = payload->index() == 0 ? ring_mean<Weights>() : ring_mean<Gradient>();
  operation->complete();
}

}  // namespace straggler
