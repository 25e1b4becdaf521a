// A rank's timed events: logged during the run and booked after it by the simulation's recorder, so that a real run's accounts are those of
// docs/model.md.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "sim/record/run_recorder.hpp"
#include "validation/mpi/wire.hpp"

namespace straggler {

struct LogEntry {
  /// dropped: a contribution that arrived goes into no version; its samples and the time spent on them follow, by worker.
  enum class Kind : std::uint8_t {
    compute_begins,
    compute_ends,
    compute_discarded,
    sent,
    statistics_sent,
    arrived,
    dropped,
    dropped_samples,
    dropped_time
  };
  std::int64_t ticks = 0;   // since the start
  std::uint64_t bytes = 0;  // bytes of sent or dropped values; for dropped_samples their number, for dropped_time ticks
  std::int32_t peer = 0;    // the receiver, the sender, or the contributor
  Kind kind = Kind::sent;
  double spared = 0;  // bytes saved by compression
};

/// Gradients whose computation took longer than emulated: real time leaked into the run.
struct Overruns {
  std::uint64_t gradients = 0, late = 0;
  std::int64_t ticks = 0, worst = 0;  // total and largest lateness
};

struct RankLog {
  std::vector<LogEntry> entries;
  std::vector<std::int32_t> choices;  // in program order
  std::uint64_t samples_drawn = 0, events = 0;
  Overruns overruns;
  bool interrupted = false;  // this rank was asked to end the run, and ended it
};
Bytes to_bytes(const RankLog& log);
RankLog log_from(std::span<const std::byte> bytes);

/// A published version; kept by the rank that publishes.
struct Publication {
  Time when;
  Weights weights;  // with a value only if it will be evaluated
  Contributions made;
};

/// The course of a run, for a recorder.
struct RunCourse {
  Weights initial;
  std::deque<Publication> publications;
  std::vector<RankLog> logs;  // [ranks]: workers, then the server, then aggregators
  Time end;
  // Of a job that continues from a checkpoint; what its workers did before is in no log.
  Time start = {};
  std::vector<std::uint64_t> earlier_samples = {};  // [workers]: in the initial weights
};
/// Books everything up to `course.end`, in the order of time; a message arrives no earlier than it was sent, despite clock errors.
/// Meanwhile the recorder makes the evaluations that are due, `evaluate_every` included.
void book(const RunCourse& course, std::optional<Time> evaluate_every, RunRecorder& recorder);

}  // namespace straggler
