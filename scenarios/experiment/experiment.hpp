// A scenario made runnable: both planes built, joined and run.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/zoo/model.hpp"
#include "scenarios/experiment/explanation.hpp"
#include "scenarios/experiment/run_options.hpp"
#include "scenarios/schema/scenario.hpp"
#include "sim/record/record.hpp"

namespace straggler {

/// Progress of a run; called from the simulation every few thousand events and at each update.
class ProgressListener {
 public:
  virtual ~ProgressListener() = default;
  struct State {
    Time time;
    double epochs = 0;
    std::uint64_t updates = 0, samples = 0;
    double fraction = 0;                                   // of the stop that is nearest, 0 .. 1
    std::optional<double> test_accuracy, test_perplexity;  // perplexity: where the data are symbols
  };
  virtual void progress(const State& state) = 0;
  /// True: the run ends here, with Outcome::interrupted.
  virtual bool interrupted() { return false; }
  /// Events between two calls, and between two looks at the links where a sink sees them. None: 16 where a sink sees them, else 256.
  virtual std::optional<std::uint64_t> pulse() const { return std::nullopt; }
};

/// The run could not continue (deadlock, memory budget).
struct RunFailed : CannotContinue {
  using CannotContinue::CannotContinue;
};

class RemoteThreads;

class Experiment {
 public:
  /// Reads the run's inputs. Throws ScenarioErrors or DataError if they are wrong.
  Experiment(const Scenario& scenario, const RunOptions& options);
  ~Experiment();
  /// Threads of other processes, too, compute the math of run(); they outlive it.
  void compute_with(RemoteThreads& remote);
  /// Runs to the stop. `sink` may be null. Throws RunFailed, MemoryBudgetExceeded.
  RunRecord run(RecordSink* sink, ProgressListener* progress);
  /// The result of a run with math, from the evaluations in the store, without any math.
  struct FromStore {
    std::optional<RunRecord> record;  // none: not all are known
    std::vector<Key> missing;         // evaluations, in order; a stop at a target, once they are known, may need fewer
    std::size_t found = 0;
  };
  /// Needs RunOptions::store. Throws RunFailed.
  FromStore run_from_store(ProgressListener* progress);
  /// After run(), with math: the final weights and how they are laid out. After run_from_store(): if the store has them, else empty.
  std::vector<float> final_weights() const;
  std::vector<TensorInfo> tensors() const;
  /// After run(): values that were computed again because the memory budget had no room to keep them.
  std::uint64_t recomputed() const;
  /// After run(): statistics of the math plane.
  const ExecutorStatistics& computed() const;
  /// Vocabulary of the word vectors in the weights; null for other data.
  const WordList* vocabulary() const;
  const char* kernels() const;  // name of the set in use
  std::string engine() const;   // that computes the network (NetworkEngine); empty: none does
  Explanation explain() const;
  /// Of all algorithms that fit: an all-reduce of Explanation::reduced_bytes alone on the network, as one flow, fastest first. Empty: the
  /// scheme has none.
  std::vector<CollectiveTime> collective_times() const;
  /// The network of hosts as GraphML or DOT, by the ending. Throws DataError.
  void write_graph(const std::string& path) const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace straggler
