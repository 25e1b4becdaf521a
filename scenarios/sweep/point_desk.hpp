// Workers fetch points (scenarios to run) here and return the results. A worker may be a thread of this process or another process: it
// knows only the desk.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/experiment/trajectory_store.hpp"
#include "scenarios/schema/scenario.hpp"
#include "scenarios/sweep/sweep_state.hpp"

namespace straggler {

struct PointWork {
  std::uint64_t ticket = 0;  // names it at the desk
  Scenario scenario;
  bool timing_only = false;
  std::string id = {};  // names its results; empty if the point came from another process
};

/// Evaluations that a point requested, and those of them that were in the store.
struct AskedEvaluations {
  std::uint64_t all = 0, known = 0;
};

/// Every call may come from any thread. A ticket ends with exactly one of finish, fail, give_up, or a promise that was refused.
class PointDesk {
 public:
  virtual ~PointDesk() = default;
  /// The next point; waits for one. None: nothing is left, or the sweep was ended.
  virtual std::optional<PointWork> next() = 0;
  /// The trajectory store. Null: nothing is kept.
  virtual TrajectoryStore* store() = 0;
  /// Before math is run for it: the evaluations that its run will bring. False: another run will bring them; the point goes back to the
  /// desk, which hands it out again once they are there.
  virtual bool promise(std::uint64_t ticket, const std::vector<Key>& missing) = 0;
  virtual void finish(std::uint64_t ticket, FinishedPoint point, AskedEvaluations asked) = 0;
  virtual void fail(std::uint64_t ticket, const std::string& what) = 0;
  /// It was interrupted.
  virtual void give_up(std::uint64_t ticket) = 0;
  /// True: runs in progress are to be given up. Called often.
  virtual bool ended() = 0;
};

}  // namespace straggler
