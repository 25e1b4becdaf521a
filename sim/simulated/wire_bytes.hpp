// What a payload weighs on the simulated wire.
#pragma once
#include <cstdint>
#include <variant>

#include "sim/training/payload.hpp"

namespace straggler {

/// A payload moves in one or two parts: its vectors, then a model's running statistics where these are exchanged.
struct WireBytes {
  std::uint64_t model = 0;       // of one gradient or one model
  std::uint64_t state = 0;       // of one vector of optimizer state
  std::uint64_t statistics = 0;  // of running statistics; 0: they stay

  std::uint64_t main_of(const Payload& payload) const {
    if (const auto* weights = std::get_if<Weights>(&payload)) return model + state * (*weights)->optimizer().size();
    if (const auto* samples = std::get_if<Samples>(&payload)) return (*samples)->bytes;
    return std::holds_alternative<Gradient>(payload) ? model : 0;
  }
  std::uint64_t statistics_of(const Payload& payload) const {
    return std::holds_alternative<Weights>(payload) || std::holds_alternative<Gradient>(payload) ? statistics : 0;
  }
};

}  // namespace straggler
