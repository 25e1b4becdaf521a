// The math of a what-if: the scenario before and after the change, run one after the other into folders, then compared.
#pragma once
#include <atomic>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "scenarios/experiment/data_cache.hpp"
#include "scenarios/schema/scenario.hpp"
#include "scenarios/sweep/evaluation_file.hpp"

namespace straggler {

/// One job at a time, in its own thread. Results stay in memory for the next job, so that the common part of two runs is computed once.
class MathJob {
 public:
  /// Results go to `root`/what-if.
  MathJob(std::filesystem::path root, unsigned threads) : root_(std::move(root)), threads_(threads) {}
  /// Ends the current job; its results are dropped.
  ~MathJob();
  MathJob(const MathJob&) = delete;
  MathJob& operator=(const MathJob&) = delete;

  struct Request {
    Scenario base, changed;
    std::filesystem::path base_folder;  // of a run of `base` with math, which is taken as it is; empty: there is none
  };
  /// False: another one is running.
  bool start(Request request);
  void cancel() { stop_ = true; }

  /// `state` ("idle", "running", "done", "failed", "cancelled"). Running: `step`, `fraction`, `test_accuracy`, `simulated_seconds`. Failed:
  /// `problem`. Done: `verdict`, `notes`, `table` (as `compare` prints it), `page` and `folders` as seen from `root`; and `winner`, the
  /// label of the run that wins, null if none does.
  nlohmann::ordered_json state() const;

 private:
  class Listener;
  void work(const Request& request);
  void run(const Scenario& scenario, const std::filesystem::path& out, const char* step);
  void set(nlohmann::ordered_json state);

  const std::filesystem::path root_;
  const unsigned threads_;
  DataCache data_;
  EvaluationFile store_{":memory:"};
  std::atomic<bool> stop_ = false, running_ = false;
  mutable std::mutex mutex_;
  nlohmann::ordered_json state_ = {{"state", "idle"}};  // guarded by mutex_
  std::thread thread_;
};

}  // namespace straggler
