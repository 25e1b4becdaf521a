#include "sim/record/worker_clock.hpp"

namespace straggler {

void WorkerClock::advance(Time now, std::uint32_t worker, RecordSink* trace) {
  const Time span = now - since_;
  if (span == Time()) return;
  const Phase current = phase();
  split_[current] += span;
  if (in_flight_ > 0) {
    flight_ += span;
    if (computing_) overlapped_ += span;
  }
  if (trace) trace->span(worker, current, since_, now);
  since_ = now;
}

void WorkerClock::end_compute(Time now, Time spent, bool kept, std::uint32_t worker, RecordSink* trace) {
  if (kept) {
    advance(now, worker, trace);
  } else {
    // Time already booked since the computation began was booked as compute: it is moved. What is reported to a trace is what
    // is open still.
    const Time span = now - since_;
    if (in_flight_ > 0) {
      flight_ += span;
      overlapped_ += span;
    }
    split_[Phase::compute] += span;
    split_[Phase::compute] -= spent;
    split_[Phase::wasted] += spent;
    if (trace && span > Time()) trace->span(worker, Phase::wasted, since_, now);
    since_ = now;
  }
  computing_ = false;
}

}  // namespace straggler
