// Saves the state of the math plane, and resumes from it in another process.
//
// The timing plane is cheap and deterministic, so a resumed run repeats it from the start; only the math is saved. Until the saved version
// is published, nothing is computed: evaluations are answered from the log, and nodes evaluated then count as evaluated, without a value,
// so that the lineage stays equally short. Then the live nodes get the saved values, and the run continues normally. The time of an
// evaluation never changes a value. The same evaluations before the saved version leave the same live nodes, whose keys are compared.
#pragma once
#include <chrono>
#include <functional>
#include <optional>

#include "models/executor/checkpoint.hpp"

namespace straggler {

/// A report about a checkpoint.
struct CheckpointNote {
  enum class What {
    found,     // the run resumes from it
    none,      // there is none to resume from
    reached,   // the saved version: computing starts again
    replaced,  // an earlier run's will be replaced
    written,
    failed,  // could not be written; the run continues
  } what;
  std::uint64_t version = 0, bytes = 0;
  double seconds = 0;   // of writing
  std::string problem;  // of What::failed
};

struct CheckpointOptions {
  std::filesystem::path file;
  CheckpointInterval interval;  // none: that of the resumed checkpoint
  bool resume = false;          // resumes from `file`, if it exists
  CheckpointIdentity identity;
  std::function<void(const CheckpointNote&)> tell;  // may be empty
};

/// Mediates between the timing plane and the executor.
class Checkpointing final : public Evaluator {
 public:
  /// Throws DataError: the file to resume is not a checkpoint, damaged, or another run's; or none could be written there.
  Checkpointing(Executor& executor, const Lineage& lineage, CheckpointOptions options);

  Evaluation evaluate(const Handle& weights, EvaluationSet set) override;
  std::optional<LossScale> loss_scale(const Handle& weights) override { return executor_.loss_scale(weights); }
  void force(const Handle& value) override;
  void published(const Handle& weights, std::uint64_t version) override;

  /// The saved version has not been published yet.
  bool catching_up() const { return from_.has_value(); }
  /// Call at the end of the run. Throws DataError if the saved version was never reached.
  void finish() const;

 private:
  using Clock = std::chrono::steady_clock;
  void open();
  void check_identity(const CheckpointIdentity& saved) const;
  void catch_up(const Handle& weights, std::uint64_t version);
  void restore();
  bool due(std::uint64_t version) const;
  void work_off(const Handle& weights, std::uint64_t version);
  void write(std::uint64_t version);
  [[noreturn]] void fail(const std::string& sentence) const;
  void tell(CheckpointNote::What what, std::uint64_t version = 0, std::uint64_t bytes = 0);

  Executor& executor_;
  const Lineage& lineage_;
  CheckpointOptions options_;
  std::optional<CheckpointFile> from_;  // the resumed checkpoint, until its version is reached
  std::size_t next_forced_ = 0, next_evaluation_ = 0;
  CheckpointHead log_;
  Clock::time_point last_ = Clock::now();
  std::size_t window_;  // by wall-clock time: live nodes without a value above which they are evaluated, so that checkpoints are on time
};

}  // namespace straggler
