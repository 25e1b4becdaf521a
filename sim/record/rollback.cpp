// Checkpoints and rollbacks of a record.
#include <algorithm>
#include <utility>

#include "sim/record/run_recorder.hpp"

namespace straggler {

struct RunRecorder::Kept {
  Weights latest;
  EvaluationSchedule schedule;
  StalenessHistogram staleness;
  std::map<std::uint64_t, std::uint64_t> stalest;
  std::uint64_t empty_updates;
  bool target_reached;
  struct Counts {
    std::uint64_t samples, updates, staleness_sum, staleness_max;
  };
  std::vector<Counts> workers;
  Time productive;
  // What had been spent when work went on from there: later time is lost with the versions.
  ByPhase<WideTicks> sums = {};
  std::vector<Time> computed = {};  // [workers]
};

std::shared_ptr<RunRecorder::Kept> RunRecorder::as_it_is() const {
  auto kept = std::make_shared<Kept>(
      Kept{latest_, schedule_, record_.staleness, stalest_, record_.empty_updates, target_reached_, {}, record_.recovery.productive});
  kept->workers.reserve(record_.workers.size());
  for (const WorkerRecord& worker : record_.workers)
    kept->workers.push_back({worker.samples, worker.updates, worker.staleness_sum, worker.staleness_max});
  kept->computed.resize(record_.workers.size());
  return kept;
}

void RunRecorder::note_spent(Kept& kept, Time now) const {
  kept.sums = times_.sums(now);
  for (std::size_t i = 0; i < record_.workers.size(); ++i) kept.computed[i] = times_.computed(static_cast<Rank>(i), now);
}

void RunRecorder::begin_work(Time now) { working_since_ = now; }

void RunRecorder::end_work(Time now) {
  if (working_since_) record_.recovery.productive += now - *working_since_;
  working_since_.reset();
}

void RunRecorder::may_roll_back() {
  has_failures();
  kept_ = as_it_is();
}

void RunRecorder::begin_checkpoint(Time now) {
  end_work(now);
  saving_ = as_it_is();
}

void RunRecorder::resume(Time now) {
  begin_work(now);
  if (saving_) note_spent(*saving_, now);
}

void RunRecorder::saved(Time now) {
  kept_ = std::exchange(saving_, nullptr);
  if (!working_since_) note_spent(*kept_, now);
  if (record_.recovery.notes()) record_.recovery.events.push_back({now, RecoveryAct::checkpoint, {}, kept_->latest->version});
  if (sink_) sink_->kept(kept_->latest->version);
}

void RunRecorder::roll_back(Time now) {
  end_work(now);
  saving_ = nullptr;
  ++record_.recovery.rollbacks;
  const std::uint64_t version = kept_->latest->version;
  if (record_.recovery.notes()) record_.recovery.events.push_back({now, RecoveryAct::rollback, {}, version});
  record_.recovery.lost_updates += latest_->version - version;
  const ByPhase<WideTicks> sums = times_.sums(now);
  for (const PhaseRow& row : phase_rows)
    if (!row.of_recovery && row.phase != Phase::down) record_.recovery.lost += sums[row.phase] - kept_->sums[row.phase];
  for (std::size_t i = 0; i < record_.workers.size(); ++i) {
    const auto rank = static_cast<Rank>(i);
    const Time spent = times_.computed(rank, now) - kept_->computed[i];
    if (spent > Time()) times_.waste(rank, spent);
    WorkerRecord& worker = record_.workers[i];
    const Kept::Counts& counts = kept_->workers[i];
    worker.samples = counts.samples;
    worker.updates = counts.updates;
    worker.staleness_sum = counts.staleness_sum;
    worker.staleness_max = counts.staleness_max;
  }
  latest_ = kept_->latest;
  schedule_ = kept_->schedule;
  record_.staleness = kept_->staleness;
  stalest_ = kept_->stalest;
  record_.empty_updates = kept_->empty_updates;
  target_reached_ = kept_->target_reached;
  record_.recovery.productive = kept_->productive;
  for (CurvePoint& point : record_.curve) point.lost = point.lost || point.update > version;
  if (sink_) sink_->rolled_back(version);
}

void RunRecorder::restart(Time now) {
  begin_work(now);
  note_spent(*kept_, now);
}

}  // namespace straggler
