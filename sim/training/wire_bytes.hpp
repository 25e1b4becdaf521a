// Bytes of a payload on the wire. Messages, buckets, shards, all-reduces and accounts all ask here.
#pragma once
#include <cstdint>
#include <type_traits>
#include <variant>

#include "sim/training/payload.hpp"

namespace straggler {

/// A payload moves in one or two parts: its vectors, then a model's running statistics where these are exchanged.
struct WireBytes {
  std::uint64_t model = 0;       // of one gradient or one model, in the precision of the run
  std::uint64_t state = 0;       // of one attached vector
  std::uint64_t statistics = 0;  // of running statistics; 0: they stay

  std::uint64_t main_of(const Payload& payload) const {
    // Most messages: one worker's gradient, and the weights of a version.
    if (const auto* gradient = std::get_if<Gradient>(&payload))
      return (*gradient)->more.there() ? main(*gradient) : has_vector(*gradient) ? model : 0;
    if (const auto* weights = std::get_if<Weights>(&payload)) return (*weights)->more.there() ? main(*weights) : model;
    return std::visit([this](const auto& what) { return main(what); }, payload);
  }
  std::uint64_t statistics_of(const Payload& payload) const {
    return statistics == 0 ? 0 : std::visit([this](const auto& what) { return behind(what); }, payload);
  }
  std::uint64_t all_of(const Payload& payload) const { return main_of(payload) + statistics_of(payload); }
  /// Bytes that compression takes off main_of; negative: it adds some.
  double spared_of(const Payload& payload) const {
    const CompressedForm* const form = compressed_form(payload);
    if (!form) return 0;
    const auto* gradient = std::get_if<Gradient>(&payload);
    const std::uint64_t whole = gradient ? (*gradient)->fragment().share_of(model) : model;
    return static_cast<double>(whole) - static_cast<double>(form->bytes);
  }

 private:
  /// A contribution without steps has no vector: it costs only its latency.
  static bool has_vector(const Gradient& gradient) { return !gradient->value().empty(); }

  std::uint64_t main(const Weights& weights) const {
    if (!weights->more.there()) return model;
    if (weights->kept()) return state;  // of its two vectors the one that its receiver asks for
    const std::uint64_t scalar = weights->push_weight() ? PushWeight::wire_bytes : 0;
    if (const WeightsDifference* const difference = weights->difference())
      return difference->form.bytes + state * weights->attached().size() + scalar;
    return weights->fragment().share_of(model + state * weights->attached().size()) + scalar;
  }
  std::uint64_t main(const Gradient& gradient) const {
    if (!has_vector(gradient)) return 0;
    if (!gradient->more.there()) return model;
    const std::uint64_t attached = gradient->fragment().share_of(state * gradient->attached().size());
    const std::optional<CompressedForm>& compressed = gradient->more.get().compressed;
    return (compressed ? compressed->bytes : gradient->fragment().share_of(model)) + attached;
  }
  std::uint64_t main(const Samples& samples) const { return samples->bytes; }
  std::uint64_t main(const Token& token) const { return token.bytes; }
  std::uint64_t main(const MembershipNotice&) const { return 0; }

  /// Every vector ends in them, also attached ones.
  std::uint64_t behind(const Weights& weights) const {
    if (weights->kept()) return statistics;
    return weights->fragment().share_of(statistics * (1 + weights->attached().size()));
  }
  std::uint64_t behind(const Gradient& gradient) const {
    return has_vector(gradient) ? gradient->fragment().share_of(statistics * (1 + gradient->attached().size())) : 0;
  }
  template <class T>
  std::uint64_t behind(const T&) const {
    return 0;
  }
};

/// True: it goes in the buckets of a gradient, if the cluster uses buckets; otherwise it goes in one piece.
inline bool goes_in_buckets(const Payload& payload) {
  const auto* gradient = std::get_if<Gradient>(&payload);
  return gradient && (*gradient)->fragment().whole();
}

}  // namespace straggler
