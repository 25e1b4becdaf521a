#include "scenarios/sweep/sweep_run.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>
#include <unordered_map>

#include "models/kernels/kernels.hpp"
#include "scenarios/experiment/data_cache.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "scenarios/results/run_info.hpp"
#include "scenarios/schema/writer.hpp"
#include "scenarios/sweep/statistics.hpp"

namespace straggler {
namespace {

struct Point {
  std::size_t group;
  std::int64_t repeat;
  std::uint64_t seed;
  std::string id;
  std::optional<Key> awaits = {};  // an evaluation that another point is about to bring
};

/// Ends runs whose sweep was ended.
class Watcher final : public ProgressListener {
 public:
  explicit Watcher(const std::function<bool()>& stop) : stop_(stop) {}
  void progress(const State&) override {}
  bool interrupted() override { return stop_(); }

 private:
  const std::function<bool()>& stop_;
};

const SummaryField* field(const std::vector<SummaryField>& fields, const std::string& key) {
  const auto at = std::find_if(fields.begin(), fields.end(), [&](const SummaryField& each) { return each.key == key; });
  return at == fields.end() || at->kind != SummaryField::Kind::number ? nullptr : &*at;
}

class Runner {
 public:
  Runner(const Sweep& sweep, const SweepOptions& options, SweepState& state, EvaluationFile* store,
         const std::function<bool(const SweepProgress&)>& watch)
      : sweep_(sweep),
        options_(options),
        state_(state),
        store_(store),
        watch_(watch),
        reader_(sweep, options.more),
        groups_(groups_of(sweep)) {
    stop_ = [this] { return stopping_.load(std::memory_order_relaxed) || look(); };
    for (std::size_t group = 0; group < groups_.size(); ++group)
      for (std::int64_t repeat = 0; repeat < sweep.repeats; ++repeat) add(group, repeat);
  }

  SweepOutcome run() {
    const auto jobs = static_cast<unsigned>(std::clamp<std::size_t>(queue_.size() + (sweep_.until ? groups_.size() : 0), 1, options_.jobs));
    std::vector<std::thread> others;
    for (unsigned job = 1; job < jobs; ++job) others.emplace_back([this] { work(); });
    work();
    for (std::thread& each : others) each.join();
    if (failure_) std::rethrow_exception(failure_);
    SweepOutcome outcome;
    outcome.progress = progress_;
    outcome.interrupted = stopping_;
    for (auto& [place, row] : rows_) outcome.rows.push_back(std::move(row));
    for (auto& [place, text] : failures_) outcome.failures.push_back(std::move(text));
    outcome.groups = std::move(groups_);
    return outcome;
  }

 private:
  using Place = std::pair<std::size_t, std::int64_t>;  // group, repeat

  bool ours(std::size_t number) const { return !options_.shard || number % options_.shard->second == options_.shard->first - 1; }

  /// Under the mutex, or before there are threads. All scenarios are read here, so that what is wrong is told before anything runs.
  void add(std::size_t group, std::int64_t repeat) {
    if (!ours(group * static_cast<std::size_t>(sweep_.repeats) + static_cast<std::size_t>(repeat))) return;
    const Scenario scenario = reader_.read(groups_[group], repeat);
    Point point{group, repeat, scenario.seed, point_id(scenario, timing_only(), options_.kernels)};
    ++progress_.points;
    if (auto known = state_.find(point.id)) {
      ++progress_.found;
      finish(point, std::move(known->fields));
    } else {
      queue_.push_back(std::move(point));
    }
  }

  bool timing_only() const { return options_.timing_only || sweep_.timing_only; }

  void finish(const Point& point, std::vector<SummaryField> fields) {
    ++progress_.finished;
    rows_[{point.group, point.repeat}] = {point.group, point.repeat, point.seed, point.id, std::move(fields)};
    if (sweep_.until) repeat_if_wide(point.group);
  }

  /// Decides when all repeats so far are there, so that it does not depend on who finished first.
  void repeat_if_wide(std::size_t group) {
    std::vector<double> values;
    std::int64_t repeats = 0;
    for (auto at = rows_.lower_bound({group, 0}); at != rows_.end() && at->first.first == group; ++at, ++repeats) {
      if (at->first.second != repeats) return;
      if (const SummaryField* value = field(at->second.fields, metric(at->second.fields))) values.push_back(std::stod(value->value));
    }
    if (repeats < sweep_.repeats || repeats >= sweep_.until->most) return;
    const RepeatStatistics statistics = statistics_of(values);
    if (statistics.count >= 2 && statistics.half_width <= sweep_.until->relative * std::abs(statistics.mean)) return;
    add(group, repeats);
  }

  std::string metric(const std::vector<SummaryField>& fields) const {
    if (!sweep_.until->metric.empty()) return sweep_.until->metric;
    return field(fields, "target_accuracy") ? "time_to_target_s" : "samples_per_second";
  }

  bool look() {
    const std::unique_lock lock(watching_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    SweepProgress now;
    {
      const std::lock_guard counts(mutex_);
      now = progress_;
    }
    if (watch_ && watch_(now)) stopping_ = true;
    return stopping_;
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (!stopping_ && !failure_) {
      const auto next =
          std::find_if(queue_.begin(), queue_.end(), [&](const Point& each) { return !each.awaits || !awaited_.contains(*each.awaits); });
      if (next == queue_.end()) {
        if (queue_.empty() && progress_.running == 0 && held_elsewhere_.empty()) break;
        if (progress_.running == 0) retry_held();
        changed_.wait_for(lock, std::chrono::milliseconds(200));
        lock.unlock();
        stop_();
        lock.lock();
        continue;
      }
      Point point = std::move(*next);
      queue_.erase(next);
      if (!claim(point)) continue;
      ++progress_.running;
      lock.unlock();
      const bool parked = attempt(point);
      lock.lock();
      --progress_.running;
      if (parked) queue_.push_front(std::move(point));
      changed_.notify_all();
    }
    changed_.notify_all();
  }

  /// False: another process has finished the point, or is at it.
  bool claim(const Point& point) {
    if (!state_.claim(point.id)) {
      held_elsewhere_.push_back(point);
      return false;
    }
    if (auto known = state_.find(point.id)) {  // meanwhile
      state_.release(point.id);
      finish(point, std::move(known->fields));
      return false;
    }
    return true;
  }

  void retry_held() {
    queue_.insert(queue_.end(), held_elsewhere_.begin(), held_elsewhere_.end());
    held_elsewhere_.clear();
  }

  /// True: to be tried again, since somebody is about to learn what it needs.
  bool attempt(Point& point) {
    try {
      return run(point);
    } catch (const ScenarioErrors& errors) {
      fail(point, errors.what());
    } catch (const ResultsError&) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    } catch (const std::exception& error) {
      fail(point, error.what());
    }
    return false;
  }

  bool run(Point& point) {
    const auto start = std::chrono::steady_clock::now();
    RunOptions options;
    options.timing_only = timing_only();
    options.threads = options_.threads;
    options.kernels = options_.kernels;
    options.store = options.timing_only ? nullptr : store_;
    options.data = &data_;
    Watcher watcher(stop_);
    Experiment experiment(reader_.read(groups_[point.group], point.repeat), options);
    std::vector<Key> awaited;
    if (options.store) {
      Experiment::FromStore known = experiment.run_from_store(&watcher);
      if (stopping_) return false;
      count(known.missing.size() + known.found, known.found);
      if (known.record) return keep(point, *known.record, start);
      if (!await(known.missing)) {  // counted again when it is tried again
        uncount(known.missing.size() + known.found, known.found);
        point.awaits = known.missing.back();
        return true;
      }
      awaited = std::move(known.missing);
    }
    const Promise promise(*this, std::move(awaited));
    const RunRecord record = experiment.run(nullptr, &watcher);
    if (stopping_) return false;
    return keep(point, record, start);
  }

  bool keep(const Point& point, const RunRecord& record, std::chrono::steady_clock::time_point start) {
    if (record.outcome == Outcome::interrupted) return false;
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::vector<SummaryField> fields = summarize(record);
    const std::lock_guard lock(mutex_);
    state_.record(point.id, {fields, wall});
    progress_.wall_seconds += wall;
    finish(point, std::move(fields));
    return false;
  }

  void fail(const Point& point, const std::string& what) {
    const std::lock_guard lock(mutex_);
    state_.release(point.id);
    ++progress_.failed;
    std::string text;
    const std::vector<std::string> columns = sweep_.columns();
    for (std::size_t i = 0; i < columns.size(); ++i) text += columns[i] + "=" + groups_[point.group].labels[i] + ", ";
    failures_[{point.group, point.repeat}] = text + "repeat " + std::to_string(point.repeat) + ": " + what;
  }

  void count(std::size_t asked, std::size_t known) {
    const std::lock_guard lock(mutex_);
    progress_.evaluations += asked;
    progress_.saved += known;
  }
  void uncount(std::size_t asked, std::size_t known) {
    const std::lock_guard lock(mutex_);
    progress_.evaluations -= asked;
    progress_.saved -= known;
  }

  /// Evaluations that a run under way will bring. Points that end with the same one share their trajectory.
  bool await(const std::vector<Key>& missing) {
    const std::lock_guard lock(mutex_);
    if (awaited_.contains(missing.back())) return false;
    awaited_.insert(missing.begin(), missing.end());
    return true;
  }
  struct Promise {
    Promise(Runner& its_runner, std::vector<Key> its_keys) : runner(its_runner), keys(std::move(its_keys)) {}
    ~Promise() {
      const std::lock_guard lock(runner.mutex_);
      for (const Key& key : keys) runner.awaited_.erase(key);
      runner.changed_.notify_all();
    }
    Promise(const Promise&) = delete;
    Promise& operator=(const Promise&) = delete;
    Runner& runner;
    std::vector<Key> keys;
  };

  const Sweep& sweep_;
  const SweepOptions& options_;
  SweepState& state_;
  EvaluationFile* store_;
  const std::function<bool(const SweepProgress&)>& watch_;
  PointReader reader_;
  std::vector<SweepGroup> groups_;
  DataCache data_;
  std::function<bool()> stop_;
  std::atomic<bool> stopping_ = false;
  std::mutex watching_;

  // All below: under mutex_ once there are threads.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Point> queue_;
  std::vector<Point> held_elsewhere_;
  std::set<Key> awaited_;
  std::map<Place, SweepRow> rows_;
  std::map<Place, std::string> failures_;
  SweepProgress progress_;
  std::exception_ptr failure_;
};

}  // namespace

std::string point_id(const Scenario& scenario, bool timing_only, const std::string& kernels) {
  Hasher hasher;
  hasher.add("point").add(std::string_view(version())).add(math_stamp()).add(std::uint64_t{timing_only});
  if (!timing_only) hasher.add(select_kernels(kernels).name);
  return hasher.add(std::string_view(write_scenario(scenario))).key().text();
}

std::vector<std::string> describe(const Sweep& sweep, const std::vector<std::string>& more) {
  std::vector<std::string> lines;
  const PointReader reader(sweep, more);
  std::istringstream base(write_scenario(reader.read(groups_of(sweep).front(), 0)));
  for (std::string line; std::getline(base, line);) lines.push_back("scenario of the first point: " + line);
  for (const Axis& axis : sweep.axes)
    for (std::size_t i = 0; i < axis.paths.size(); ++i)
      for (const auto& values : axis.values) lines.push_back("axis " + axis.paths[i] + ": " + values[i].yaml);
  lines.push_back("repeats: " + std::to_string(sweep.repeats));
  return lines;
}

SweepOutcome run_sweep(const Sweep& sweep, const SweepOptions& options, SweepState& state, EvaluationFile* store,
                       const std::function<bool(const SweepProgress&)>& watch) {
  SweepOutcome outcome = Runner(sweep, options, state, store, watch).run();
  if (store) store->flush();
  std::vector<PlacedPoint> places;
  for (const SweepRow& row : outcome.rows) places.push_back({row.group, row.repeat, row.seed, outcome.groups[row.group].labels, row.id});
  state.place(places);
  return outcome;
}

}  // namespace straggler
