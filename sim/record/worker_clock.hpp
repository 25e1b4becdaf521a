// A worker's account of time: every tick goes to exactly one phase.
#pragma once
#include <cstdint>

#include "sim/record/record.hpp"

namespace straggler {

/// At any instant a worker computes, or is blocked: in communication while bytes of its own are in flight, else idle.
/// Invariant: after advance(t) the split sums to t, exactly.
class WorkerClock {
 public:
  /// With a sink, every span is reported as it ends.
  void begin_compute(Time now, std::uint32_t worker, RecordSink* trace) {
    advance(now, worker, trace);
    computing_ = true;
  }
  /// `kept` false: what was computed in the last `spent` is discarded.
  void end_compute(Time now, Time spent, bool kept, std::uint32_t worker, RecordSink* trace);
  void begin_flight(Time now, std::uint32_t worker, RecordSink* trace) {
    if (in_flight_ == 0) advance(now, worker, trace);
    ++in_flight_;
  }
  void end_flight(Time now, std::uint32_t worker, RecordSink* trace) {
    if (in_flight_ == 1) advance(now, worker, trace);
    --in_flight_;
  }
  void advance(Time now, std::uint32_t worker, RecordSink* trace);
  /// As of the last advance.
  const TimeSplit& split() const { return split_; }
  Time bytes_in_flight() const { return flight_; }
  Time overlapped() const { return overlapped_; }

 private:
  Phase phase() const { return computing_ ? Phase::compute : in_flight_ > 0 ? Phase::communication : Phase::idle; }
  TimeSplit split_;
  Time since_, flight_, overlapped_;
  std::uint32_t in_flight_ = 0;
  bool computing_ = false;
};

}  // namespace straggler
