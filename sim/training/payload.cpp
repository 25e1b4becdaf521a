#include "sim/training/payload.hpp"

#include <algorithm>

namespace straggler {

Handle find_attached(const AttachedVectors& vectors, std::string_view name) {
  const auto at = std::find_if(vectors.begin(), vectors.end(), [name](const AttachedVector& each) { return each.name == name; });
  return at == vectors.end() ? Handle() : at->value;
}

const CompressedForm* compressed_form(const Payload& payload) {
  if (const auto* weights = std::get_if<Weights>(&payload)) {
    const WeightsDifference* const difference = (*weights)->difference();
    return difference ? &difference->form : nullptr;
  }
  const auto* gradient = std::get_if<Gradient>(&payload);
  return gradient && (*gradient)->more.get().compressed ? &*(*gradient)->more.get().compressed : nullptr;
}

CompressedVector compressed_vector(const Gradient& gradient) { return {gradient->value(), &*gradient->more.get().compressed}; }

CompressedVector compressed_vector(const Weights& weights) { return {weights->difference()->change, &weights->difference()->form}; }

Contributions made_of(const Payload& payload) {
  if (const auto* weights = std::get_if<Weights>(&payload)) return (*weights)->made();
  if (const auto* gradient = std::get_if<Gradient>(&payload)) return (*gradient)->made();
  return {};
}

}  // namespace straggler
