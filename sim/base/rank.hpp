// The participants of training: the one type for a worker or a server, in every module.
#pragma once
#include <cstddef>
#include <cstdint>

namespace straggler {

using Rank = std::int32_t;  // workers 0 .. p-1, then servers, then aggregators
inline constexpr Rank anyone = -1;

/// The index of the rank in a vector [workers] or [ranks]. `rank` >= 0.
constexpr std::size_t index_of(Rank rank) { return static_cast<std::size_t>(rank); }

}  // namespace straggler
