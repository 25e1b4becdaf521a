// Runs points until its desk has none left.
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "models/executor/checkpoint.hpp"
#include "scenarios/experiment/data_cache.hpp"
#include "scenarios/sweep/point_desk.hpp"

namespace straggler {

/// Each point with math saves its state in `folder`, and continues from what is saved there. Such a point does not use the store.
struct PointCheckpoints {
  std::filesystem::path folder;
  CheckpointInterval interval;
};

struct WorkerOptions {
  unsigned threads = 1;  // of each point's math
  std::string kernels = "auto";
  std::optional<PointCheckpoints> checkpoints = {};
  bool choose_threads = false;  // RunOptions
};

/// Timing first: math is run only for evaluations that the desk's store does not know. An error in one point fails that point; ResultsError
/// (the desk's files cannot be written) is thrown on.
void work_at(PointDesk& desk, const WorkerOptions& options, DataCache& data);

/// The recorded scalars of a run (with `final_validation_loss` where the split is validation): the scalars of summary.json, then for each
/// of its thresholds X `time_to_X_s`, none where it was missed.
std::vector<SummaryField> point_fields(const RunRecord& record);

}  // namespace straggler
