// Sizes of payloads between real ranks.
#include "validation/mpi/wire.hpp"

namespace straggler {

std::vector<Handle> vectors_in(const Payload& payload) {
  std::vector<Handle> vectors;
  const auto add = [&](const Handle& own, const AttachedVectors& attached) {
    if (!own.empty()) vectors.push_back(own);
    for (const AttachedVector& each : attached)
      if (!each.value.empty()) vectors.push_back(each.value);
  };
  if (const auto* weights = std::get_if<Weights>(&payload)) add((*weights)->value, (*weights)->attached());
  if (const auto* gradient = std::get_if<Gradient>(&payload)) add((*gradient)->value(), (*gradient)->attached());
  return vectors;
}

Fragment fragment_of(const Payload& payload) {
  if (const auto* weights = std::get_if<Weights>(&payload)) return (*weights)->fragment();
  const auto* gradient = std::get_if<Gradient>(&payload);
  return gradient ? (*gradient)->fragment() : Fragment();
}

std::uint64_t value_bytes(const Payload& payload, Cut cut) {
  if (const auto* token = std::get_if<Token>(&payload)) return token->bytes;
  const CompressedForm* const compressed = compressed_form(payload);
  const std::size_t whole = vectors_in(payload).size() - (compressed ? 1 : 0);
  const auto* weights = std::get_if<Weights>(&payload);
  const std::uint64_t scalar = weights && (*weights)->push_weight() ? PushWeight::wire_bytes : 0;
  return (compressed ? compressed->bytes : 0) + scalar + whole * sizeof(float) * cut.of(fragment_of(payload)).first;
}

double spared_bytes(const Payload& payload, Cut cut) {
  const CompressedForm* const form = compressed_form(payload);
  return form ? sizeof(float) * static_cast<double>(cut.of(fragment_of(payload)).first) - static_cast<double>(form->bytes) : 0;
}

std::uint64_t statistics_bytes(const Payload& payload, Cut cut) {
  return vectors_in(payload).size() * sizeof(float) * (cut.length - cut.first);
}

}  // namespace straggler
