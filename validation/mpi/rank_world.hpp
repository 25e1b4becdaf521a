// What the rooms of a rank share: its task, its channel, its values, its clock and its log.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/cluster/compute_plan.hpp"
#include "sim/training/scheme.hpp"
#include "validation/mpi/rank_clock.hpp"
#include "validation/mpi/rank_log.hpp"

namespace straggler {

/// The task of a rank. Referenced objects outlive the back end.
struct RankTask {
  const TrainingPlan& plan;
  const Scheme& scheme;
  bool has_server = false;
  bool reduces = false;      // workers call collectives
  bool votes = false;        // they exchange by all-reduce: they stop together, by a vote that goes around their ring
  bool emulated = true;      // a gradient takes its drawn time; false: its real time
  ComputePlan compute = {};  // the draws
  StopRule stop = {};
  EvaluationRule evaluation = {};
  Cut cut = {};                                                   // of a vector
  const std::atomic<bool>* interrupted = nullptr;                 // set: the run ends as soon as possible; null: it cannot be interrupted
  std::function<void(Time, const Weights&)> published = nullptr;  // called for every update, where they are published
  /// Likewise for every update but the last, with the optimizer's state.
  std::function<void(Time, const Weights&, const std::vector<Handle>&)> go_on = nullptr;
};

struct RankWorld {
  RankTask task;
  Channel& channel;
  Values& values;
  RankClock clock = {};
  RankLog log = {};

  Rank self() const { return channel.self(); }
  /// The rank that publishes: the server, or else worker 0.
  Rank publisher() const { return task.has_server ? task.plan.workers : 0; }
  bool publishes() const { return self() == publisher(); }
  double epochs_of(const Weights& weights) const {
    return static_cast<double>(weights->progress) / static_cast<double>(task.plan.epoch_samples);
  }
  Time now() const { return clock.now(); }
  /// Logs an event of this moment, which it returns.
  Time note(LogEntry::Kind kind, Rank peer = 0, std::uint64_t bytes = 0, double spared = 0) {
    const Time when = now();
    log.entries.push_back({when.ticks(), bytes, peer, kind, spared});
    return when;
  }
};

}  // namespace straggler
