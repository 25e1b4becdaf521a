#include "scenarios/sweep/point_pool.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "models/kernels/kernels.hpp"
#include "models/zoo/model.hpp"
#include "scenarios/experiment/at_place.hpp"
#include "scenarios/results/run_info.hpp"
#include "scenarios/results/summary.hpp"
#include "scenarios/schema/writer.hpp"
#include "sim/base/problem_text.hpp"
#include "sim/base/registry.hpp"
#include "sim/training/late_schemes.hpp"

namespace straggler {

namespace {

/// Raised where simulated times change, so that a folder's points of an earlier program are run again. 1: a jitter factor for each batch.
constexpr std::uint64_t timing_revision = 1;

}  // namespace

std::string point_id(const Scenario& scenario, bool timing_only, const std::string& kernels) {
  Hasher hasher;
  hasher.add("point").add(std::string_view(version())).add(math_stamp()).add(timing_revision).add(std::uint64_t{timing_only});
  if (!timing_only) hasher.add(select_kernels(kernels).name);
  if (const std::string code = late_code(scenario.training.scheme.name); !code.empty()) hasher.add(std::string_view(code));
  if (const ModelEntry* const model = Registry<ModelEntry>::instance().find(scenario.workload.model.name); model && model->content)
    hasher.add(at_place(scenario, "workload.model", [&] { return model->content(scenario.workload.model.parameters, scenario.seed); }));
  return hasher.add(std::string_view(write_scenario(scenario))).key().text();
}

PointPool::PointPool(PoolOptions options, SweepState& state, EvaluationFile* store, Watch watch)
    : options_(std::move(options)), state_(state), store_(store), watch_(std::move(watch)) {}

SweepProgress PointPool::progress() const {
  const std::lock_guard lock(mutex_);
  return progress_;
}

std::exception_ptr PointPool::error_of(const std::string& failure) const {
  const std::lock_guard lock(mutex_);
  const auto found = errors_.find(failure);
  return found == errors_.end() ? nullptr : found->second;
}

std::vector<PointOutcome> PointPool::run(std::vector<PointRequest> requests, const More& more) {
  return run(
      requests.size(), [&](std::size_t index) { return std::move(requests[index]); }, more);
}

std::vector<PointOutcome> PointPool::run(std::size_t count, const std::function<PointRequest(std::size_t)>& request, const More& more) {
  {
    const std::lock_guard lock(mutex_);
    more_ = more;
    outcomes_.clear();
    for (std::size_t index = 0; index < count; ++index) add(request(index));
    settle();
    if (failure_) std::rethrow_exception(std::exchange(failure_, {}));
  }
  std::vector<std::thread> threads;
  const std::size_t own = std::min<std::size_t>(options_.jobs, more ? options_.jobs : std::max<std::size_t>(queue_.size(), 1));
  for (std::size_t job = serve_ ? 0 : 1; job < own; ++job) threads.emplace_back([this] { work(); });
  if (serve_)
    serve();
  else
    work();
  for (std::thread& each : threads) each.join();
  const std::lock_guard lock(mutex_);
  queue_.clear();
  held_elsewhere_.clear();
  settled_.clear();
  more_ = {};
  abandoned_ = false;
  if (failure_) std::rethrow_exception(std::exchange(failure_, {}));
  if (store_) store_->flush();
  return std::move(outcomes_);
}

void PointPool::expect(std::size_t requests) {
  const std::lock_guard lock(mutex_);
  expected_ += requests;
  progress_.points += requests;
}

bool PointPool::has_finished(const PointRequest& request) const {
  return state_.find(point_id(request.read(), request.timing_only, options_.worker.kernels)).has_value();
}

/// Reads the scenario, so that errors are reported before it runs.
void PointPool::add(PointRequest request) {
  const Scenario scenario = request.read();
  Point point{std::move(request), outcomes_.size(), {}, scenario.seed};
  point.id = point_id(scenario, point.request.timing_only, options_.worker.kernels);
  outcomes_.push_back({point.id, point.seed, state_.find(point.id), {}});
  if (expected_ > 0)
    --expected_;
  else
    ++progress_.points;
  if (outcomes_.back().result) {
    ++progress_.found;
    ++progress_.finished;
    settled_.push_back(point.index);
  } else {
    queue_.push_back(std::move(point));
  }
}

/// Notifies `more_` of ended points, and of requested points that were found at once.
void PointPool::settle() {
  if (settling_) return;
  settling_ = true;
  while (!settled_.empty()) {
    const std::size_t index = settled_.front();
    settled_.pop_front();
    if (!more_) continue;
    try {
      for (PointRequest& each : more_(index, outcomes_[index])) add(std::move(each));
    } catch (...) {
      fail_with(std::current_exception());
    }
  }
  settling_ = false;
}

void PointPool::work() {
  try {
    work_at(*this, options_.worker, data_);
  } catch (...) {
    abandon(std::current_exception());
  }
}

void PointPool::serve() {
  try {
    serve_();
  } catch (...) {
    abandon(std::current_exception());
  }
}

void PointPool::abandon(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  fail_with(std::move(failure));
}

void PointPool::fail_with(std::exception_ptr failure) {
  if (!failure_) failure_ = std::move(failure);
  abandoned_ = true;
  tell();
}

void PointPool::tell() {
  ++changes_;
  changed_.notify_all();
}

bool PointPool::ended() {
  if (stopping_.load(std::memory_order_relaxed) || abandoned_.load(std::memory_order_relaxed)) return true;
  const std::unique_lock lock(watching_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  if (watch_ && watch_(progress())) stopping_ = true;
  return stopping_;
}

bool PointPool::over() {
  const std::lock_guard lock(mutex_);
  return under_way_.empty() && (stopping_ || failure_ || idle());
}

PointPool::Turn PointPool::take(std::optional<PointWork>& work) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (stopping_ || failure_) return Turn::over;
    const auto found =
        std::find_if(queue_.begin(), queue_.end(), [&](const Point& each) { return !each.awaits || !promised_.contains(*each.awaits); });
    if (found == queue_.end()) {
      if (idle()) return Turn::over;
      if (under_way_.empty()) {  // nothing of our own to wait for: check for results of the other processes again
        std::move(held_elsewhere_.begin(), held_elsewhere_.end(), std::back_inserter(queue_));
        held_elsewhere_.clear();
      }
      return Turn::wait;
    }
    Point point = std::move(*found);
    queue_.erase(found);
    if (!claim(point)) continue;
    const std::uint64_t ticket = next_ticket_++;
    ++progress_.running;
    const PointRequest request = point.request;
    const std::string id = point.id;
    under_way_.emplace(ticket, UnderWay{std::move(point), {}});
    lock.unlock();
    try {
      work = PointWork{ticket, request.read(), request.timing_only, id};
      return Turn::work;
    } catch (const std::exception& error) {
      fail(ticket, problem_text(error));
    }
    lock.lock();
  }
}

std::optional<PointWork> PointPool::next() {
  std::optional<PointWork> work;
  while (true) {
    switch (take(work)) {
      case Turn::work:
        return work;
      case Turn::over:
        changed_.notify_all();
        return std::nullopt;
      case Turn::wait:
        break;
    }
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(200));
    lock.unlock();
    ended();
  }
}

/// False: another process has finished the point, or is at it.
bool PointPool::claim(const Point& point) {
  if (!state_.claim(point.id)) {
    held_elsewhere_.push_back(point);
    return false;
  }
  if (auto known = state_.find(point.id)) {  // meanwhile
    state_.release(point.id);
    outcomes_[point.index].result = std::move(known);
    ++progress_.finished;
    settled_.push_back(point.index);
    settle();
    return false;
  }
  return true;
}

TrajectoryStore* PointPool::store() { return store_; }

std::optional<PointPool::UnderWay> PointPool::end(std::uint64_t ticket) {
  auto found = under_way_.extract(ticket);
  if (found.empty()) return std::nullopt;
  --progress_.running;
  for (const Key& key : found.mapped().promised) promised_.erase(key);
  tell();
  return std::move(found.mapped());
}

bool PointPool::promise(std::uint64_t ticket, const std::vector<Key>& missing) {
  const std::lock_guard lock(mutex_);
  // Points that end with the same evaluation share their trajectory.
  if (!missing.empty() && promised_.contains(missing.back())) {
    if (std::optional<UnderWay> parked = end(ticket)) {
      parked->point.awaits = missing.back();
      queue_.push_front(std::move(parked->point));
    }
    return false;
  }
  const auto found = under_way_.find(ticket);
  if (found == under_way_.end()) return false;
  for (const Key& key : missing)
    if (promised_.insert(key).second) found->second.promised.push_back(key);
  return true;
}

void PointPool::finish(std::uint64_t ticket, FinishedPoint result, AskedEvaluations asked) {
  const std::lock_guard lock(mutex_);
  const auto found = under_way_.find(ticket);
  if (found == under_way_.end()) return;
  state_.record(found->second.point.id, result);
  const std::optional<UnderWay> ended = end(ticket);
  ++progress_.finished;
  progress_.wall_seconds += result.wall_seconds;
  progress_.evaluations += asked.all;
  progress_.saved += asked.known;
  progress_.last_accuracy = scalar_of(result.fields, "final_test_accuracy").number();
  outcomes_[ended->point.index].result = std::move(result);
  settled_.push_back(ended->point.index);
  settle();
}

void PointPool::fail(std::uint64_t ticket, const std::string& what) {
  const std::lock_guard lock(mutex_);
  const std::optional<UnderWay> ended = end(ticket);
  if (!ended) return;
  state_.release(ended->point.id);
  ++progress_.failed;
  PointOutcome& outcome = outcomes_[ended->point.index];
  outcome.failure = ended->point.request.name + (ended->point.request.name.empty() ? "" : ": ") + what;
  // Its own threads report a failure while they handle the exception; a rank has only the text.
  if (const std::exception_ptr error = std::current_exception()) errors_.emplace(outcome.failure, error);
  settled_.push_back(ended->point.index);
  settle();
}

void PointPool::give_up(std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  if (const std::optional<UnderWay> ended = end(ticket)) state_.release(ended->point.id);
}

void PointPool::put_back(std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  if (std::optional<UnderWay> ended = end(ticket)) queue_.push_front(std::move(ended->point));
}

}  // namespace straggler
