#include "scenarios/serve/math_job.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "scenarios/experiment/experiment.hpp"
#include "scenarios/report/compare_page.hpp"
#include "scenarios/report/run_files.hpp"
#include "scenarios/results/live_progress.hpp"
#include "scenarios/results/recorder.hpp"
#include "scenarios/results/verdict.hpp"
#include "scenarios/results/whole_files.hpp"
#include "sim/base/problem_text.hpp"

namespace straggler {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

struct Cancelled {};

/// ROOT/what-if/NAME-1, or the next free number.
fs::path new_place(const fs::path& root, const std::string& name) {
  std::error_code ignored;
  for (int number = 1;; ++number) {
    fs::path place = root / "what-if" / fmt::format("{}-{}", name, number);
    if (!fs::exists(place, ignored)) return place;
  }
}

}  // namespace

/// Reports the progress of a run, at most ten times a second.
class MathJob::Listener final : public ProgressListener {
 public:
  Listener(MathJob& job, const char* step, const Recorder& recorder) : job_(job), step_(step), recorder_(recorder) {}
  void progress(const State& state) override {
    const Clock::time_point now = Clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(100);
    job_.set({{"state", "running"},
              {"step", step_},
              {"fraction", state.fraction},
              {"simulated_seconds", state.time.seconds()},
              {"test_accuracy", state.test_accuracy ? Json(*state.test_accuracy) : Json()}});
  }
  bool interrupted() override { return job_.stop_ || recorder_.failed(); }

 private:
  using Clock = std::chrono::steady_clock;
  MathJob& job_;
  const char* step_;
  const Recorder& recorder_;
  Clock::time_point next_{};
};

MathJob::~MathJob() {
  cancel();
  if (thread_.joinable()) thread_.join();
}

void MathJob::set(Json state) {
  const std::lock_guard lock(mutex_);
  state_ = std::move(state);
}

Json MathJob::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

bool MathJob::start(Request request) {
  if (running_.exchange(true)) return false;
  if (thread_.joinable()) thread_.join();
  stop_ = false;
  set({{"state", "running"}, {"step", "reads"}, {"fraction", 0}});
  thread_ = std::thread([this, request = std::move(request)] {
    try {
      work(request);
    } catch (const Cancelled&) {
      set({{"state", "cancelled"}});
    } catch (const std::exception& problem) {
      set({{"state", "failed"}, {"problem", problem_text(problem)}});
    }
    running_ = false;
  });
  return true;
}

void MathJob::run(const Scenario& scenario, const fs::path& out, const char* step) {
  RunOptions options;
  options.threads = threads_;
  options.store = &store_;
  options.data = &data_;
  ResultFolder folder({out, scenario.name, scenario.file, false});
  Experiment experiment(scenario, options);
  Recorder recorder(folder, true, false, scenario.recovers());
  Listener listener(*this, step, recorder);
  const auto start = std::chrono::steady_clock::now();
  const RunRecord record = [&] {
    LiveProgress live(listener, folder.temporary(LiveProgress::name));
    return experiment.run(&recorder, &live);
  }();
  const double wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  recorder.finish(folder, scenario.name, &record);
  if (record.outcome == Outcome::interrupted) throw Cancelled();
  write_run_files(folder, scenario, options, experiment, record, {}, wall_seconds);
  folder.commit();
}

void MathJob::work(const Request& request) {
  const fs::path place = new_place(root_, request.base.name);
  fs::path base = request.base_folder;
  if (base.empty()) {
    base = place / "as-it-is";
    run(request.base, base, "as it is");
  }
  Scenario changed = request.changed;
  changed.name = request.base.name + "-changed";
  run(changed, place / "changed", "changed");
  const Comparison comparison = compare({read_run_result(base), read_run_result(place / "changed")});
  write_whole_files(place, {{"report.html", compare_page(comparison, place)}});
  const auto seen = [&](const fs::path& path) { return path.lexically_relative(root_).generic_string(); };
  set({{"state", "done"},
       {"verdict", plain(verdict(comparison))},
       {"winner", comparison.winner ? Json(comparison.labels[*comparison.winner]) : Json()},
       {"notes", plain(comparison_notes(comparison))},
       {"table", comparison_table(comparison)},
       {"page", seen(place / "report.html")},
       {"folders", {seen(base), seen(place / "changed")}}});
}

}  // namespace straggler
