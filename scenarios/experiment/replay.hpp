// The choices of an earlier run, to be forced on another.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/schema/scenario.hpp"

namespace straggler {

/// What run.json says of a run on real ranks.
struct RealRun {
  std::string kernels;
  std::uint64_t updates = 0;  // published
  std::string weights_key;    // of the last one
};

/// How a simulated run ended.
struct EarlierEnd {
  std::uint64_t updates = 0;
  std::string weights_key;
  bool timing_only = false;
};

struct Replay {
  std::vector<std::vector<std::int32_t>> choices;  // a sequence a rank, in its program order
  std::optional<RealRun> real;                     // none: the run was simulated
  std::optional<EarlierEnd> simulated;             // none: the run was real, or has no summary
};

/// Reads a result folder: choices.csv, and what else a replay must follow. Throws DataError if the folder holds no such run, or one of
/// another scenario (only what decides times may differ: cluster and stop).
Replay read_replay(const std::filesystem::path& folder, const Scenario& scenario);

}  // namespace straggler
