#include "sim/record/time_accounts.hpp"

namespace straggler {

TimeAccounts::TimeAccounts(std::vector<WorkerRecord>& records, RecordSink* trace)
    : records_(records), trace_(trace), clocks_(records.size()), pieces_(trace ? records.size() : 0) {
  count_[Phase::idle] = static_cast<std::int64_t>(records.size());
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

void TimeAccounts::discard_compute(Rank worker, Time now) {
  if (closed_) return;
  Clock& clock = clocks_[index_of(worker)];
  advance(worker, clock, now);
  TimeSplit& split = records_[index_of(worker)].split;
  split[Phase::compute] -= clock.computed;
  split[Phase::wasted] += clock.computed;
  sums_[Phase::compute] -= clock.computed.ticks();
  sums_[Phase::wasted] += clock.computed.ticks();
  if (trace_) trace_computed(worker, Phase::wasted);
  clock.computed = Time();
  if (--clock.computations > 0) return;
  clock.flags = static_cast<std::uint8_t>(clock.flags & ~computing);
  recount(clock, now);
}

void TimeAccounts::waste(Rank worker, Time spent) {
  if (closed_ || spent == Time()) return;
  TimeSplit& split = records_[index_of(worker)].split;
  split[Phase::compute] -= spent;
  split[Phase::wasted] += spent;
  sums_[Phase::compute] -= spent.ticks();
  sums_[Phase::wasted] += spent.ticks();
  if (trace_) trace_->wasted(worker, spent);
}

ByPhase<WideTicks> TimeAccounts::sums(Time now) const {
  ByPhase<WideTicks> sums = sums_;
  for (std::size_t k = 0; k < phase_count; ++k) sums[k] += static_cast<WideTicks>(count_[k]) * now.ticks();
  return sums;
}

void TimeAccounts::finish(Time now) {
  for (Rank worker = 0; index_of(worker) < clocks_.size(); ++worker) {
    advance(worker, clocks_[index_of(worker)], now);
    if (trace_) trace_computed(worker, Phase::compute);
  }
  closed_ = true;
}

}  // namespace straggler
