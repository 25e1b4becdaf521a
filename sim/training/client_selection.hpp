// How a server draws the clients of a round.
#pragma once
#include <cstdint>

namespace straggler {

/// The rule of Node::draw_clients.
struct ClientSelection {
  /// chance: uniformly. samples: with probability proportional to their numbers of samples. speed: the fastest of uniformly drawn
  /// candidates.
  enum class By : std::uint8_t { chance, samples, speed } by = By::chance;
  std::int64_t candidates = 1;  // by speed: drawn for each place
};

}  // namespace straggler
