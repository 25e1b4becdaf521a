// All-reduces whose times were measured: `collective: {kind: measured, path: FILE}`.
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

#include "sim/collectives/collective.hpp"

namespace straggler {

/// The name that `algorithm` has in the spec of such a collective; its parameter `path` names the file.
inline constexpr const char* measured_algorithm = "measured";

/// An all-reduce of n bytes takes what the CSV says of n (columns `bytes` and `seconds`, others are passed over; the mean of equal sizes),
/// from the moment at which the last rank is ready, and moves no flows. Other sizes: the time of the nearest one. It lives as long as the
/// process: equal files are one. Throws std::invalid_argument.
const CollectiveEntry& measured_collective(const std::filesystem::path& file);
/// Throws std::invalid_argument where the file has no time of one of these sizes, in bytes.
void require_measured(const std::filesystem::path& file, const std::vector<std::uint64_t>& sizes);

}  // namespace straggler
