// The points of a sweep, a search or a race: finished ones (in the state), claims of workers, shared math.
//
// Invariants:
//  - A point that the state has finished is not run again; one that another living process of this host runs is waited for.
//  - Of points that need the same evaluations one runs the math; the others wait for it and take it from the store.
//  - Results do not depend on the number of workers or their order.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scenarios/sweep/evaluation_file.hpp"
#include "scenarios/sweep/point_desk.hpp"
#include "scenarios/sweep/point_worker.hpp"

namespace straggler {

/// A point to be run.
struct PointRequest {
  std::string name;                // names the point in messages: "PATH=VALUE, repeat 2"
  std::function<Scenario()> read;  // called at the request, and again before the run; throws ScenarioErrors
  bool timing_only = false;
};

/// The outcome of a request; neither result nor failure: it was cancelled, since the sweep was ended.
struct PointOutcome {
  std::string id;
  std::uint64_t seed = 0;
  std::optional<FinishedPoint> result;
  std::string failure;
};

struct SweepProgress {
  std::size_t points = 0, finished = 0, running = 0;
  std::size_t found = 0;  // finished before this run began
  std::size_t failed = 0;
  std::uint64_t evaluations = 0, saved = 0;  // requested, and of these found in the store
  double wall_seconds = 0;                   // sum over the points that this run finished
  std::optional<double> last_accuracy;       // on the test samples, of the point that finished last; none: for timing alone
};

struct PoolOptions {
  unsigned jobs = 1;  // points at a time, each on a thread of this process
  WorkerOptions worker;
};

class PointPool final : public PointDesk {
 public:
  /// Ends the run when it returns true; called now and then, from one thread at a time. May be empty.
  using Watch = std::function<bool(const SweepProgress&)>;
  /// `store` null: none.
  PointPool(PoolOptions options, SweepState& state, EvaluationFile* store, Watch watch);

  /// Called for each request that has ended, with its index: further requests, whose indices go on. One call at a time.
  using More = std::function<std::vector<PointRequest>(std::size_t index, const PointOutcome& outcome)>;
  /// Outcomes in the order of the requests. All scenarios are read first, so that the errors of one (ScenarioErrors) are reported before
  /// anything is run. May be called again: data sets and the store are kept.
  std::vector<PointOutcome> run(std::vector<PointRequest> requests, const More& more = {});
  std::vector<PointOutcome> run(std::size_t count, const std::function<PointRequest(std::size_t)>& request, const More& more = {});

  /// This many requests will come in later calls of run(); progress() counts them from now on.
  void expect(std::size_t requests);
  /// The state has it already. Throws ScenarioErrors.
  bool has_finished(const PointRequest& request) const;
  SweepProgress progress() const;
  /// Of a point that failed in this process, by PointOutcome::failure; null: none, or it failed in another one.
  std::exception_ptr error_of(const std::string& failure) const;
  bool interrupted() const { return stopping_; }
  /// Serves workers elsewhere, on the thread that called run(), until over() holds; the pool's own threads run beside it. Empty: none.
  void serve_by(std::function<void()> serve) { serve_ = std::move(serve); }

  // For workers.
  enum class Turn : std::uint8_t { work, wait, over };
  /// As next(), but does not wait.
  Turn take(std::optional<PointWork>& work);
  std::optional<PointWork> next() override;
  TrajectoryStore* store() override;
  bool promise(std::uint64_t ticket, const std::vector<Key>& missing) override;
  void finish(std::uint64_t ticket, FinishedPoint point, AskedEvaluations asked) override;
  void fail(std::uint64_t ticket, const std::string& what) override;
  void give_up(std::uint64_t ticket) override;
  bool ended() override;
  /// Its worker is gone: the point is handed out again.
  void put_back(std::uint64_t ticket);
  /// Nothing is queued or running, or the run was ended.
  bool over();
  /// Grows whenever take() might answer otherwise than before.
  std::uint64_t changes() const { return changes_; }
  /// Ends the run; run() throws this when nothing runs any more.
  void abandon(std::exception_ptr failure);

 private:
  struct Point {
    PointRequest request;
    std::size_t index = 0;
    std::string id;
    std::uint64_t seed = 0;
    std::optional<Key> awaits = {};  // an evaluation that another point is about to bring
  };
  struct UnderWay {
    Point point;
    std::vector<Key> promised;
  };

  void add(std::vector<PointRequest> requests);
  void add(PointRequest request);
  void settle();
  void fail_with(std::exception_ptr failure);
  void tell();
  bool claim(const Point& point);
  std::optional<UnderWay> end(std::uint64_t ticket);
  bool idle() const { return queue_.empty() && under_way_.empty() && held_elsewhere_.empty(); }
  void work();
  void serve();

  const PoolOptions options_;
  SweepState& state_;
  EvaluationFile* const store_;
  const Watch watch_;
  std::function<void()> serve_;
  DataCache data_;
  std::atomic<bool> stopping_ = false, abandoned_ = false;
  std::atomic<std::uint64_t> changes_ = 0;
  std::mutex watching_;

  // All below: under mutex_.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  More more_;
  std::deque<Point> queue_;
  std::deque<std::size_t> settled_;  // whose outcome `more_` has not seen
  bool settling_ = false;
  std::vector<Point> held_elsewhere_;
  std::map<std::uint64_t, UnderWay> under_way_;
  std::uint64_t next_ticket_ = 1;
  std::set<Key> promised_;
  std::vector<PointOutcome> outcomes_;
  SweepProgress progress_;
  std::size_t expected_ = 0;  // of progress_.points: not requested yet
  std::exception_ptr failure_;
  std::map<std::string, std::exception_ptr> errors_;  // by PointOutcome::failure
};

/// Name of a point's results: hash of its scenario, of whether math is run, of the kernels and of the program.
std::string point_id(const Scenario& scenario, bool timing_only, const std::string& kernels);

}  // namespace straggler
