// Saves what the math plane has come to, and goes on from there in another process.
//
// The timing plane is cheap and takes the same course every time, so a resumed run takes it again from the start; what is saved is the
// math. Until the saved version is published, nothing is computed: evaluations are answered from the log, and what was evaluated then
// counts as evaluated, without a value, so that the lineage stays as short as it was. Then the live nodes get the saved values, and
// the run goes on as if nothing had happened. When something is evaluated never changes a value; that the same things are evaluated
// before the saved version makes the live nodes the same, whose names are compared.
#pragma once
#include <chrono>
#include <functional>
#include <optional>

#include "models/executor/checkpoint.hpp"

namespace straggler {

/// What is reported about a checkpoint.
struct CheckpointNote {
  enum class What {
    found,     // the run goes on from it
    none,      // there is none to go on from
    reached,   // from here on it computes again
    replaced,  // an earlier run's will be replaced
    written,
    failed,  // could not be written; the run goes on
  } what;
  std::uint64_t version = 0, bytes = 0;
  double seconds = 0;   // that writing took
  std::string problem;  // of What::failed
};

struct CheckpointOptions {
  std::filesystem::path file;
  CheckpointInterval interval;  // none: that of the checkpoint the run goes on from
  bool resume = false;          // goes on from `file`, if it is there
  CheckpointIdentity identity;
  std::function<void(const CheckpointNote&)> tell;  // may be empty
};

/// Stands between the timing plane and the executor.
class Checkpointing final : public Evaluator {
 public:
  /// Throws DataError: what is to be resumed is no checkpoint, damaged, or another run's; or none could be written there.
  Checkpointing(Executor& executor, const Lineage& lineage, CheckpointOptions options);

  Evaluation evaluate(const Handle& weights, EvaluationSet set) override;
  std::optional<LossScale> loss_scale(const Handle& weights) override { return executor_.loss_scale(weights); }
  void force(const Handle& value) override;
  void published(const Handle& weights, std::uint64_t version) override;

  /// The saved version has not been published yet.
  bool catching_up() const { return from_.has_value(); }
  /// The run is over. Throws DataError if the saved version never came.
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
  std::optional<CheckpointFile> from_;  // what the run goes on from, until it is there
  std::size_t next_forced_ = 0, next_evaluation_ = 0;
  CheckpointHead log_;
  Clock::time_point last_ = Clock::now();
  std::size_t window_;  // by wall-clock time: live nodes without a value above which they are evaluated, so that checkpoints come in time
};

}  // namespace straggler
