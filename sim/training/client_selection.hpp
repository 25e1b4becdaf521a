// How a server draws the clients that it invites.
#pragma once
#include <cstdint>

namespace straggler {

/// Node::draw_clients draws by it.
struct ClientSelection {
  /// chance: uniformly. samples: with probability proportional to their numbers of samples. speed: the fastest of some uniformly drawn
  /// ones.
  enum class By : std::uint8_t { chance, samples, speed } by = By::chance;
  std::int64_t candidates = 1;  // by speed: drawn for each place
};

}  // namespace straggler
