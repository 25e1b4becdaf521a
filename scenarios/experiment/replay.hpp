// The choices of an earlier run, to be forced on another.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/schema/scenario.hpp"

namespace straggler {

/// Facts of a run on real ranks, from its folder.
struct RealRun {
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
  std::vector<Rank> makers;                        // of free-running versions: the maker of each
  std::optional<std::string> kernels;              // kernel set of that run; none: its folder has no run.json
  std::optional<std::string> engine;               // that computed the network; none: unknown, or timing alone
  std::optional<RealRun> real;                     // none: the run was simulated
  std::optional<EarlierEnd> simulated;             // none: the run was real, or has no summary
};

/// Names the data of a blueprint; none: by the scenario's description.
using ContentOf = std::function<std::optional<Key>(const WorkloadBlueprint&, const Scenario&)>;

/// Reads a result folder: choices.csv, and the other facts that a replay must follow. Throws DataError if the folder holds no such run, or
/// one of another scenario (only settings that affect times alone may differ: cluster and stop), or of another kernel set.
Replay read_replay(const std::filesystem::path& folder, const Scenario& scenario, const Blueprint& blueprint, const ContentOf& content);

}  // namespace straggler
