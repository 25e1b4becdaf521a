// Options of a run that are not in its scenario: with or without math, resources, stored values.
#pragma once
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "models/executor/checkpointing.hpp"
#include "scenarios/experiment/what_if.hpp"

namespace straggler {

class DataCache;
class TrajectoryStore;

/// Saves the math at intervals, so that a killed run can be resumed.
struct CheckpointRequest {
  std::filesystem::path file;
  CheckpointInterval interval;
  bool resume = false;
  std::string build;                                // the program that computes: bits of another build may differ
  std::function<void(const CheckpointNote&)> tell;  // may be empty
};

/// Which values a run leaves in the store for others to continue from (stored_trajectory.hpp).
struct SavingRule {
  double share = 0.01;   // of the math's time that saving may take, about
  double growth = 1.25;  // a version is saved when it is at least this factor times the last saved one
};

struct RunOptions {
  bool timing_only = false;
  bool trace = false;
  unsigned threads = 0;         // 0: all cores
  bool choose_threads = false;  // of these as many as are fastest
  std::string kernels = "auto";
  std::size_t memory_budget = 0;                // bytes of a run with math, data and all; 0: three quarters of the machine's
  std::optional<std::filesystem::path> replay;  // a result folder whose choices are forced
  std::optional<CheckpointRequest> checkpoint;  // with math only
  TrajectoryStore* store = nullptr;             // evaluations and values of other runs; null: none. Not used with a checkpoint
  SavingRule saving;                            // with a store
  DataCache* data = nullptr;                    // data sets of other runs; null: none
  WhatIf what_if;
};

}  // namespace straggler
