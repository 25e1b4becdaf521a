#include "sim/record/time_accounts.hpp"

namespace straggler {

namespace {
constexpr std::size_t at(Phase phase) { return static_cast<std::size_t>(phase); }
}  // namespace

TimeAccounts::TimeAccounts(std::vector<WorkerRecord>& records, RecordSink* trace)
    : records_(records), trace_(trace), clocks_(records.size()), pieces_(trace ? records.size() : 0) {
  count_[at(Phase::idle)] = static_cast<std::int64_t>(records.size());
}

Phase TimeAccounts::phase_of(const Clock& clock) {
  if (clock.flags & down) return Phase::down;
  if (clock.flags & computing) return clock.flags & paused ? Phase::idle : Phase::compute;
  if (clock.flags & coding) return Phase::compute;
  if (clock.flags & loading) return Phase::loading;
  return clock.flights > 0 ? Phase::communication : Phase::idle;
}

void TimeAccounts::recount(Clock& clock, Time now) {
  const Phase phase = phase_of(clock);
  if (phase == clock.counted) return;
  sums_[at(clock.counted)] += now.ticks();
  --count_[at(clock.counted)];
  sums_[at(phase)] -= now.ticks();
  ++count_[at(phase)];
  clock.counted = phase;
}

void TimeAccounts::advance(Rank worker, Time now) {
  Clock& clock = clocks_[index_of(worker)];
  const Phase phase = clock.counted;
  const Time span = now - clock.since;
  if (span == Time()) return;
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

void TimeAccounts::trace(Rank worker, Phase phase, Time from, Time to) {
  if (!(clocks_[index_of(worker)].flags & computing)) return trace_->span(worker, phase, from, to);
  std::vector<Piece>& pieces = pieces_[index_of(worker)];
  if (!pieces.empty() && pieces.back().phase == phase)
    pieces.back().end = to;
  else
    pieces.push_back({phase, from, to});
}

void TimeAccounts::trace_computed(Rank worker, Phase becomes) {
  for (const Piece& piece : pieces_[index_of(worker)])
    trace_->span(worker, piece.phase == Phase::compute ? becomes : piece.phase, piece.start, piece.end);
  pieces_[index_of(worker)].clear();
}

void TimeAccounts::change(Rank worker, Time now, Flag flag, bool on) {
  if (closed_) return;
  advance(worker, now);
  Clock& clock = clocks_[index_of(worker)];
  if (trace_ && flag == computing) trace_computed(worker, Phase::compute);
  if (flag == computing && on) clock.computed = Time();
  clock.flags = static_cast<std::uint8_t>(on ? clock.flags | flag : clock.flags & ~flag);
  recount(clock, now);
}

void TimeAccounts::discard_compute(Rank worker, Time now) {
  if (closed_) return;
  advance(worker, now);
  Clock& clock = clocks_[index_of(worker)];
  TimeSplit& split = records_[index_of(worker)].split;
  split[Phase::compute] -= clock.computed;
  split[Phase::wasted] += clock.computed;
  sums_[at(Phase::compute)] -= clock.computed.ticks();
  sums_[at(Phase::wasted)] += clock.computed.ticks();
  if (trace_) trace_computed(worker, Phase::wasted);
  clock.computed = Time();
  clock.flags = static_cast<std::uint8_t>(clock.flags & ~computing);
  recount(clock, now);
}

void TimeAccounts::waste(Rank worker, Time spent) {
  if (closed_ || spent == Time()) return;
  TimeSplit& split = records_[index_of(worker)].split;
  split[Phase::compute] -= spent;
  split[Phase::wasted] += spent;
  sums_[at(Phase::compute)] -= spent.ticks();
  sums_[at(Phase::wasted)] += spent.ticks();
  if (trace_) trace_->wasted(worker, spent);
}

std::array<WideTicks, phase_count> TimeAccounts::sums(Time now) const {
  std::array<WideTicks, phase_count> sums = sums_;
  for (std::size_t k = 0; k < phase_count; ++k) sums[k] += static_cast<WideTicks>(count_[k]) * now.ticks();
  return sums;
}

void TimeAccounts::finish(Time now) {
  for (Rank worker = 0; index_of(worker) < clocks_.size(); ++worker) {
    advance(worker, now);
    if (trace_) trace_computed(worker, Phase::compute);
  }
  closed_ = true;
}

}  // namespace straggler
