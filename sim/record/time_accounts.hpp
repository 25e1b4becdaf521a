// Every worker's account of time: every tick goes to exactly one phase.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "sim/base/prefetch.hpp"
#include "sim/record/record.hpp"

namespace straggler {

/// At any instant a worker is down, or recovers, or computes, or loads a batch, or is blocked: while a checkpoint is saved, in
/// communication while its bytes are in flight, otherwise idle. A computation can be paused: the worker is idle then. Invariants: after
/// finish(t) each split sums to t, exactly; sums() is the sum over all workers' splits at any moment, at a cost that does not grow with
/// their number.
class TimeAccounts {
 public:
  /// Splits are kept in `records`, which outlives this. With a sink, every span is reported as it ends.
  TimeAccounts(std::vector<WorkerRecord>& records, RecordSink* trace);

  /// A step may begin while a gradient is computed: both together are one span of computing.
  void begin_compute(Rank worker, Time now) {
    if (closed_ || ++clocks_[index_of(worker)].computations > 1) return;
    change(worker, now, computing, true);
  }
  /// Where spans are reported; null: nowhere.
  RecordSink* sink() const { return trace_; }
  /// Returns the time booked as computing since it began, or since the one beside it began earlier.
  Time end_compute(Rank worker, Time now) {
    if (closed_) return clocks_[index_of(worker)].computed;
    Clock& clock = clocks_[index_of(worker)];
    if (--clock.computations > 0)
      advance(worker, clock, now);
    else
      change(worker, now, computing, false);
    return clock.computed;
  }
  /// The computation in progress is cancelled: its time is wasted.
  void discard_compute(Rank worker, Time now);
  /// A computation that ended earlier turns out to be wasted: that part of the worker's computing time becomes wasted time.
  void waste(Rank worker, Time spent);
  /// It encodes or decodes messages, during a computation or not: that counts as computing too.
  void set_coding(Rank worker, Time now, bool on) { change(worker, now, coding, on); }
  void set_loading(Rank worker, Time now, bool on) { change(worker, now, loading, on); }
  void set_down(Rank worker, Time now, bool on) { change(worker, now, down, on); }
  /// A checkpoint is saved: what it is blocked meanwhile is checkpointing.
  void set_saving(Rank worker, Time now, bool on) { change(worker, now, saving, on); }
  /// It detects a failure, starts again, or waits for others that do.
  void set_recovering(Rank worker, Time now, bool on) { change(worker, now, recovering, on); }
  /// While it computes: the time is idle.
  void set_paused(Rank worker, Time now, bool on) { change(worker, now, paused, on); }
  void begin_flight(Rank worker, Time now) {
    if (closed_) return;
    Clock& clock = clocks_[index_of(worker)];
    if (clock.flights > 0) {
      ++clock.flights;
      return;
    }
    advance(worker, clock, now);
    clock.flights = 1;
    recount(clock, now);
  }
  void end_flight(Rank worker, Time now) {
    if (closed_) return;
    Clock& clock = clocks_[index_of(worker)];
    if (clock.flights > 1) {
      --clock.flights;
      return;
    }
    advance(worker, clock, now);
    clock.flights = 0;
    recount(clock, now);
  }
  /// Prefetch: the worker's account will soon change.
  void prefetch(Rank worker) const noexcept {
    prefetch_line_to_write(&clocks_[index_of(worker)]);
    prefetch_line_to_write(&records_[index_of(worker)]);
    prefetch_line_to_write(reinterpret_cast<const char*>(&records_[index_of(worker)]) + 64);
  }
  /// Of one worker, as of `now`.
  TimeSplit split(Rank worker, Time now) const {
    TimeSplit split = records_[index_of(worker)].split;
    const Clock& clock = clocks_[index_of(worker)];
    if (!closed_) split[clock.counted] += now - clock.since;
    return split;
  }
  /// Time that the worker has computed, as of `now`.
  Time computed(Rank worker, Time now) const {
    const Clock& clock = clocks_[index_of(worker)];
    return records_[index_of(worker)].split[Phase::compute] + (clock.counted == Phase::compute ? now - clock.since : Time());
  }
  /// Ticks of all workers together, by phase, as of `now`.
  ByPhase<WideTicks> sums(Time now) const;
  /// Brings all splits up to `now` and closes them: later events, as processes are taken down, are in no account.
  void finish(Time now);

 private:
  enum Flag : std::uint8_t { computing = 1, loading = 2, down = 4, paused = 8, coding = 16, saving = 32, recovering = 64 };
  struct Clock {
    Time since;
    Time computed;  // booked as compute since the computation in progress began
    std::uint32_t flights = 0;
    std::uint8_t flags = 0;
    std::int8_t computations = 0;  // in progress
    Phase counted = Phase::idle;   // the worker's phase in `count_`
  };
  static constexpr Phase phase_of(unsigned flags, bool in_flight) {
    if (flags & down) return Phase::down;
    if (flags & recovering) return Phase::recovering;
    if (flags & computing) return flags & paused ? Phase::idle : Phase::compute;
    if (flags & coding) return Phase::compute;
    if (flags & loading) return Phase::loading;
    if (flags & saving) return Phase::checkpointing;
    return in_flight ? Phase::communication : Phase::idle;
  }
  static constexpr unsigned all_flags = 128;  // above each of them
  using Phases = std::array<Phase, 2 * all_flags>;
  static constexpr Phases all_phases() {
    Phases all{};
    for (unsigned flags = 0; flags < all_flags; ++flags) {
      all[flags] = phase_of(flags, false);
      all[all_flags + flags] = phase_of(flags, true);
    }
    return all;
  }
  static Phase phase_of(const Clock& clock) {
    static constexpr Phases phases = all_phases();
    static_assert(std::ranges::all_of(phases, [](Phase phase) { return index_of(phase) < phase_count; }), "each phase has a row");
    return phases[clock.flags + (clock.flights > 0 ? all_flags : 0)];
  }
  void change(Rank worker, Time now, Flag flag, bool on) {
    if (closed_) return;
    Clock& clock = clocks_[index_of(worker)];
    advance(worker, clock, now);
    if (trace_ && flag == computing) trace_computed(worker, Phase::compute);
    if (flag == computing && on) clock.computed = Time();
    clock.flags = static_cast<std::uint8_t>(on ? clock.flags | flag : clock.flags & ~flag);
    recount(clock, now);
  }
  /// Books the time since the last change to the phase that the worker was in.
  [[gnu::always_inline]] void advance(Rank worker, Clock& clock, Time now) {
    const Time span = now - clock.since;
    if (span == Time()) return;
    const Phase phase = clock.counted;
    WorkerRecord& record = records_[index_of(worker)];
    record.split[phase] += span;
    if (phase == Phase::compute) clock.computed += span;
    if (clock.flights > 0) {
      record.bytes_in_flight += span;
      if (phase != Phase::communication) record.overlapped += span;
    }
    if (trace_) trace(worker, phase, clock.since, now);
    clock.since = now;
  }
  /// Reports the span that ends now. During a computation it is kept until the outcome of the computation is known.
  void trace(Rank worker, Phase phase, Time from, Time to);
  void trace_computed(Rank worker, Phase becomes);
  /// After every change, with the worker advanced to now. A worker in phase k since tick s adds now - s to its sum: -s on entry, the rest
  /// by count.
  void recount(Clock& clock, Time now) {
    const Phase phase = phase_of(clock), before = clock.counted;
    if (phase == before) return;
    sums_[before] += now.ticks();
    --count_[before];
    sums_[phase] -= now.ticks();
    ++count_[phase];
    clock.counted = phase;
  }

  std::vector<WorkerRecord>& records_;
  RecordSink* trace_;
  struct Piece {
    Phase phase;
    Time start, end;
  };
  std::vector<Clock> clocks_;
  std::vector<std::vector<Piece>> pieces_;  // [workers] of the computation in progress, pauses too; empty without a trace
  bool closed_ = false;
  ByPhase<WideTicks> sums_;      // without the part in `count_`: sum of phase k at `now` = sums_[k] + count_[k] · now
  ByPhase<std::int64_t> count_;  // workers in each phase
};

}  // namespace straggler
