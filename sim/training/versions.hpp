// The meaning of a published version.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace straggler {

/// Whose weights the versions of a run are.
enum class Versions : std::uint8_t {
  shared,       // all workers have the same weights: one of them, or the server, publishes each version
  lockstep,     // each worker has its own: version n is the mean of all workers' n-th weights
  free_running  // each worker has its own: every update of any worker makes a version, the mean of the current weights of all
};

constexpr std::string_view name_of(Versions versions) {
  constexpr std::array<std::string_view, 3> names = {"shared", "lockstep", "free_running"};
  return names[static_cast<std::size_t>(versions)];
}

}  // namespace straggler
