#include "sim/record/run_recorder.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace straggler {

namespace {

RunRecord with_workers(std::size_t workers) {
  RunRecord record;
  record.workers.resize(workers);
  return record;
}

}  // namespace

RunRecorder::RunRecorder(std::size_t workers, std::uint64_t epoch_samples, StopRule stop, EvaluationRule evaluation, Evaluator* evaluator,
                         RecordSink* sink, bool trace)
    : epoch_samples_(epoch_samples),
      stop_(stop),
      evaluation_(std::move(evaluation)),
      schedule_(evaluation_),
      evaluator_(evaluator),
      sink_(sink),
      trace_(trace ? sink : nullptr),
      record_(with_workers(workers)),
      times_(record_.workers, trace_) {
  record_.thresholds = evaluation_.thresholds;
  record_.sustain = evaluation_.sustain;
  record_.target_accuracy = stop_.target_accuracy;
}

void RunRecorder::charge(const Tariffs& tariffs, AbsentTime absent) {
  tariffs_ = tariffs;
  absent_ = std::move(absent);
  record_.currency = tariffs.currency;
  const bool has_servers = tariffs.servers + tariffs.aggregators > 0;
  if (tariffs.powered && has_servers) server_times_.emplace(1 + tariffs.aggregators);
}

Costs RunRecorder::costs(Time now) {
  Costs costs;
  if (tariffs_.priced) costs.price = 0;
  if (tariffs_.powered) costs.joules = tariffs_.joules_per_byte * static_cast<double>(bytes_.sent);
  const auto add = [&](const Tariff& tariff, const ByPhase<WideTicks>& ticks, double machines) {
    if (costs.price) *costs.price += machines * tariff.price(ticks);
    if (costs.joules) *costs.joules += machines * tariff.joules(ticks);
  };
  Rank worker = 0;
  for (const Tariffs::Group& group : tariffs_.groups) {
    ByPhase<WideTicks> ticks;
    for (const Rank end = worker + static_cast<Rank>(group.workers); worker < end; ++worker) {
      TimeSplit split = times_.split(worker, now);
      // A client that goes while nobody waits for it stays idle in its account.
      if (const Time away = absent_ ? std::min(absent_(worker, now) - split[Phase::down], split[Phase::idle]) : Time(); away > Time()) {
        split[Phase::idle] -= away;
        split[Phase::down] += away;
      }
      for (std::size_t k = 0; k < phase_count; ++k) ticks[k] += split[k].ticks();
    }
    add(group.tariff, ticks, 1);
  }
  for (std::size_t machine = 0; machine <= tariffs_.aggregators; ++machine) {
    ByPhase<WideTicks> ticks;
    if (server_times_)
      ticks = server_times_->ticks(machine, now);
    else
      ticks[Phase::idle] = now.ticks();
    add(tariffs_.server, ticks, machine == 0 ? static_cast<double>(tariffs_.servers) : 1);
  }
  return costs;
}

bool RunRecorder::begin(const Weights& initial, Time now) {
  latest_ = initial;
  if (initial->version > 0) {
    schedule_.due(initial->version, epochs());
    epochs_closed_ = whole_epochs();
  }
  begin_work(now);
  if (kept_) kept_ = as_it_is();
  return (evaluation_.every_epochs || evaluation_.every_updates || evaluation_.every_time) && evaluate(now);
}

double RunRecorder::epochs() const {
  if (epoch_samples_ == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(latest_->progress) / static_cast<double>(epoch_samples_);
}

bool EvaluationSchedule::due(std::uint64_t version, double epochs) {
  if (!every_epochs_) return every_updates_ && version % *every_updates_ == 0;
  const double done = epochs / *every_epochs_ * (1 + 1e-12);  // a multiple may fall short by rounding
  if (done < static_cast<double>(next_)) return false;
  next_ = static_cast<std::uint64_t>(done) + 1;
  return true;
}

void RunRecorder::count_contributions(std::uint64_t version, const Contributions& made, Time now) {
  for (const Contribution& each : made) {
    const std::uint64_t staleness = version - 1 - each.read_version;
    if (staleness < few_versions) {
      StalenessHistogram& histogram = record_.staleness;
      for (std::uint64_t next = histogram.size(); next <= staleness; ++next) histogram.emplace_back(next, 0);
      ++histogram[staleness].second;
    } else {
      ++stalest_[staleness];
    }
    WorkerRecord& from = worker(each.worker);
    ++from.updates;
    from.samples += each.samples;
    from.staleness_sum += staleness;
    from.staleness_max = std::max(from.staleness_max, staleness);
    if (sink_) sink_->contribution(version, now, each.worker, each.read_version, each.first_position, each.steps, each.samples);
  }
}

bool RunRecorder::published(const Weights& weights, const Contributions& made, Time now) {
  count_contributions(weights->version, made, now);
  if (made.empty()) ++record_.empty_updates;
  latest_ = weights;
  if (!epochs_end_later_) end_epochs(now);

  if (schedule_.due(latest_->version, epochs()) && evaluate(now)) return true;
  return stop_.ends_at(latest_->version, epochs());
}

const Weights& RunRecorder::latest_with_value() {
  if (latest_->value.empty() && look_up_) latest_.edit().value = look_up_();
  return latest_;
}

void RunRecorder::discarded(std::span<const Contribution> made, std::uint64_t bytes) {
  ++record_.dropped.contributions;
  record_.dropped.bytes += bytes;
  for (const Contribution& each : made) {
    record_.dropped.samples += each.samples;
    times_.waste(each.worker, each.spent);
  }
}

bool RunRecorder::evaluate_now(Time now) { return evaluate(now); }

bool RunRecorder::evaluate(Time now) {
  CurvePoint point;
  point.time = now;
  point.update = point.round = latest_->version;
  point.samples = latest_->progress;
  point.epoch = epochs();
  point.bytes_sent = bytes_.sent;
  if (tariffs_.any()) point.costs = costs(now);
  if (evaluator_) {
    const Handle value = latest_with_value()->value;
    const Evaluation train = evaluator_->evaluate(value, EvaluationSet::train_subset);
    const Evaluation test = evaluator_->evaluate(value, evaluation_.set);
    point.train_loss = train.loss;
    point.train_accuracy = train.accuracy;
    point.test_loss = test.loss;
    point.test_accuracy = test.accuracy;
    diverged_ = !std::isfinite(train.loss) || !std::isfinite(test.loss);
  }
  record_.curve.push_back(point);
  target_reached_ = target_reached_ || target_sustained();
  return diverged_ || (target_reached_ && stop_.at_target);
}

bool RunRecorder::target_sustained() const {
  if (!stop_.target_accuracy) return false;
  std::int64_t held = 0;
  for (auto point = record_.curve.rbegin(); point != record_.curve.rend() && held < evaluation_.sustain; ++point) {
    if (point->lost) continue;
    if (!point->test_accuracy || !(*point->test_accuracy >= *stop_.target_accuracy)) return false;
    ++held;
  }
  return held == evaluation_.sustain;
}

void RunRecorder::close_epoch(Time now) {
  const ByPhase<WideTicks> sums = times_.sums(now);
  EpochRecord epoch;
  epochs_closed_ = std::max(whole_epochs(), epochs_closed_ + 1);
  epoch.epoch = epochs_closed_;
  epoch.start = epoch_start_;
  epoch.end = now;
  for (std::size_t k = 0; k < phase_count; ++k)
    epoch.mean_seconds[k] = static_cast<double>(sums[k] - epoch_sums_[k]) / static_cast<double>(Time::ticks_per_second) /
                            static_cast<double>(record_.workers.size());
  epoch.bytes_sent = bytes_.sent - epoch_bytes_;
  if (!sink_ || !sink_->epoch(epoch)) record_.epochs_record.push_back(epoch);
  epoch_sums_ = sums;
  epoch_bytes_ = bytes_.sent;
  epoch_start_ = now;
}

void RunRecorder::finish(Time now, std::optional<Outcome> failure) {
  if (now > epoch_start_ || epochs_closed_ == 0) close_epoch(now);
  const auto last = std::find_if(record_.curve.rbegin(), record_.curve.rend(), [](const CurvePoint& point) { return !point.lost; });
  if ((last == record_.curve.rend() || last->update != latest_->version) && failure != Outcome::interrupted) evaluate(now);
  record_.outcome = failure ? *failure : diverged_ ? Outcome::diverged : target_reached_ ? Outcome::target_reached : Outcome::completed;
  record_.end = now;
  end_work(now);
  record_.updates = record_.rounds = latest_->version;
  record_.samples = latest_->progress;
  record_.epochs = epochs();
  record_.bytes_sent = bytes_.sent;
  record_.bytes_received = bytes_.received;
  record_.bytes_lost = bytes_.lost;
  record_.statistics_bytes = bytes_.statistics;
  record_.spared_bytes = bytes_.spared;
  record_.weights_key = latest_with_value()->value.key().text();
  std::erase_if(record_.staleness, [](const auto& row) { return row.second == 0; });
  record_.staleness.insert(record_.staleness.end(), stalest_.begin(), stalest_.end());
  times_.finish(now);
  if (tariffs_.any()) record_.costs = costs(now);
  for (const WorkerRecord& worker : record_.workers) {
    record_.bytes_up += worker.bytes_sent;
    record_.bytes_down += worker.bytes_received;
  }
  warn();
  check_accounts();
}

void RunRecorder::warn() {
  if (evaluator_ && (stop_.target_accuracy || !evaluation_.thresholds.empty()) &&
      record_.curve.size() < static_cast<std::size_t>(evaluation_.sustain))
    record_.warnings.push_back("an accuracy counts as reached when it holds for " + std::to_string(evaluation_.sustain) +
                               " evaluations, and there were " + std::to_string(record_.curve.size()) +
                               ": no target or threshold can be reached; set evaluate.every, or evaluate.sustain: 1");
}

/// The invariants of docs/model.md, Accounts, that every run can afford: one pass over the workers.
void RunRecorder::check_accounts() const {
  const auto require = [](bool holds, const char* what, std::optional<std::size_t> of = std::nullopt) {
    if (holds) return;
    const std::string whose = of ? " (worker " + std::to_string(*of) + ")" : "";
    throw std::logic_error(what + whose + ": the simulator contradicts itself; please report it with the scenario");
  };
  std::uint64_t samples = 0;
  ByPhase<WideTicks> sums;
  for (std::size_t i = 0; i < record_.workers.size(); ++i) {
    const WorkerRecord& worker = record_.workers[i];
    require(worker.split.total() == record_.end, "a worker's time account does not sum to the simulated time", i);
    require(worker.overlapped <= worker.bytes_in_flight && worker.bytes_in_flight <= record_.end,
            "a worker's bytes are in flight for longer than the run", i);
    if (worker.split[Phase::compute] < Time())
      throw CountedTwice("more of worker " + std::to_string(i) +
                         "'s time was wasted than it has computed: a contribution is discarded once");
    for (std::size_t k = 0; k < phase_count; ++k) {
      require(worker.split[k] >= Time(), "an account of time is below 0", i);
      sums[k] += worker.split[k].ticks();
    }
    samples += worker.samples;
  }
  require(sums == times_.sums(record_.end), "the workers' accounts do not sum to those of the epochs");
  if (samples != record_.samples)
    throw CountedTwice("the versions count " + std::to_string(record_.samples) + " samples, and the contributions in them " +
                       std::to_string(samples) + ": publish weights with the contributions of all the samples that they count");
  if (record_.samples + record_.dropped.samples > record_.samples_drawn)
    throw CountedTwice(
        "more samples were counted or dropped than drawn: weights carry their contributions until they are published; mix in others' "
        "weights "
        "with `blend`, and after sending weights continue from `without_contributions`");
  require(record_.statistics_bytes <= record_.bytes_sent, "more bytes of running statistics were sent than bytes");
  require(record_.bytes_sent == record_.bytes_received + record_.bytes_lost, "bytes sent are not bytes received and lost");
}

double StopRule::fraction_done(std::uint64_t version, double now_epochs, Time now) const {
  double fraction = 0;
  if (epochs) fraction = std::max(fraction, now_epochs / *epochs);
  if (updates) fraction = std::max(fraction, static_cast<double>(version) / static_cast<double>(*updates));
  if (simulated_time) fraction = std::max(fraction, now.seconds() / simulated_time->seconds());
  return std::min(fraction, 1.0);
}

}  // namespace straggler
