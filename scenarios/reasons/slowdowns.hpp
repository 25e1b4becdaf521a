// How much unevenness slows a run down: by kind of work and by worker, as Lin et al. 2025 (arXiv 2505.05713) define S, S_t and S_w.
// T_ideal is the run with even workers: all compute as long for a sample as the run's workers do on average, and loaders, links and updates
// are the median worker's.
// S = T / T_ideal. S_t: all even but one kind of work. S_w: all even but one worker. Where the order of updates is the same (synchronous
// schemes), each also has a value for every step.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/reasons/interventions.hpp"
#include "sim/base/rank.hpp"

namespace straggler {

/// `computing`: batches, updates and encoding, with slow spells; `loading`: loaders and copies to devices; `communicating`: links of
/// workers, and faults of links.
enum class WorkKind : std::uint8_t { computing, loading, communicating };
inline constexpr std::array all_work_kinds = {WorkKind::computing, WorkKind::loading, WorkKind::communicating};
const char* name_of(WorkKind kind);

/// The workers and kinds of work that stay uneven.
struct Uneven {
  std::vector<WorkKind> kinds;  // of every worker
  std::vector<Rank> workers;    // in every kind; ascending
};
/// The scenario with even workers, but for `kept`. `batch_seconds`: the time of a batch on every even worker. Crashes, joins and leaves
/// stay.
Scenario evened(const Scenario& scenario, const Blueprint& blueprint, double batch_seconds, const Uneven& kept);

struct Slowdowns {
  std::string note;                       // why there are none; then nothing else is set
  std::uint64_t updates = 0;              // that were compared: the first ones of the run
  double seconds = 0, ideal_seconds = 0;  // T and T_ideal of these
  double batch_seconds = 0;               // of a batch of even workers
  double all() const { return seconds / ideal_seconds; }
  struct Kind {
    WorkKind kind;
    double slowdown = 1;
    bool even = false;  // all workers are alike in it
  };
  std::vector<Kind> kinds;
  struct Worker {
    Rank rank = 0;
    std::string name;  // "worker 6 (3x slower)"
    double slowdown = 1;
    std::vector<double> by_step;  // [columns]; empty: the scheme has no steps that workers share
  };
  std::vector<Worker> workers;     // by rank; if there are many, those that compute longest
  bool some = false;               // some workers are left out
  std::vector<double> by_step;     // [columns]: of the whole run
  std::uint64_t column_steps = 1;  // updates of a column
  /// M_W: the share of T - T_ideal that goes when the slowest 3 % of workers, at least one, are even; none: nothing is lost.
  std::size_t slowest = 0;
  std::optional<double> slowest_share;
  /// Workers by how much each slows the run, the worst first.
  std::vector<const Worker*> ranked() const;
};

/// Thrown once `interrupted` returns true.
struct ExplainInterrupted {};

/// Runs side by side: work(i) for each i below the count.
using EachOf = std::function<void(std::size_t, const std::function<void(std::size_t)>&)>;
/// By runs of the timing alone. Throws ScenarioErrors, RunFailed, ExplainInterrupted.
Slowdowns slowdowns(const Scenario& scenario, const Blueprint& blueprint, const EachOf& each, const std::function<bool()>& interrupted);

/// The file slowdowns.csv: `what,name,slowdown,time_lost`. Rows: all, each kind, each worker; time_lost is 1 - 1 / slowdown.
std::string slowdowns_csv(const Slowdowns& slowdowns);
/// The file step_slowdowns.csv: `worker,first_update,last_update,slowdown`, a row each cell of the picture ("all": the run); none without
/// steps that workers share.
std::string step_slowdowns_csv(const Slowdowns& slowdowns);
/// A smaller slowdown is none.
inline constexpr double worth_telling = 1.005;

}  // namespace straggler
