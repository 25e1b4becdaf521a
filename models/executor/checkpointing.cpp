#include "models/executor/checkpointing.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace straggler {
namespace {

constexpr std::size_t smallest_window = 16, first_window = 64, largest_window = 4096;
constexpr double short_work = 0.5, long_work = 2;  // seconds

}  // namespace

Checkpointing::Checkpointing(Executor& executor, const Lineage& lineage, CheckpointOptions options)
    : executor_(executor), lineage_(lineage), options_(std::move(options)), window_(first_window) {
  std::error_code error;
  const bool there = std::filesystem::exists(options_.file, error);
  if (options_.resume && there) {
    open();
  } else if (options_.resume) {
    tell(CheckpointNote::What::none);
  } else if (there) {
    tell(CheckpointNote::What::replaced);
  }
  if (options_.interval.given()) probe_checkpoint(options_.file);
  log_.identity = options_.identity;
  log_.interval = options_.interval;
}

void Checkpointing::open() {
  from_.emplace(options_.file);
  const CheckpointHead& saved = from_->head();
  check_identity(saved.identity);
  if (!options_.interval.given()) options_.interval = saved.interval;
  tell(CheckpointNote::What::found, saved.version, from_->bytes());
}

void Checkpointing::check_identity(const CheckpointIdentity& saved) const {
  const CheckpointIdentity& own = options_.identity;
  if (saved.kernels != own.kernels)
    fail(fmt::format("was computed by the kernel set '{}', this would be by '{}', whose sums differ; add --kernels {}", saved.kernels,
                     own.kernels, saved.kernels));
  if (saved.scenario != own.scenario)
    fail("belongs to a different scenario, --replay or scheme code; continue with the same one, or leave out --resume to start again");
  if (saved.root != own.root) fail("was made with other data, which have changed since; leave out --resume to start again");
  if (saved.build != own.build)
    fail(fmt::format(
        "was written by {}, this is {}, whose bits may differ; continue with that program, or leave out --resume to start again",
        saved.build, own.build));
}

void Checkpointing::fail(const std::string& sentence) const { throw DataError(options_.file.string() + ": " + sentence); }

void Checkpointing::tell(CheckpointNote::What what, std::uint64_t version, std::uint64_t bytes) {
  if (options_.tell) options_.tell({what, version, bytes, 0, {}});
}

Evaluation Checkpointing::evaluate(const Handle& weights, EvaluationSet set) {
  LoggedEvaluation entry{weights.key(), set, {}};
  if (from_) {
    const std::vector<LoggedEvaluation>& known = from_->head().evaluations;
    if (next_evaluation_ == known.size() || known[next_evaluation_].weights != entry.weights || known[next_evaluation_].set != set)
      fail("has other evaluations than this run makes: it is not this run's; leave out --resume to start again");
    entry.result = known[next_evaluation_++].result;
    executor_.pass_over(weights, set, entry.result);
  } else {
    entry.result = executor_.evaluate(weights, set);
  }
  log_.evaluations.push_back(entry);
  return entry.result;
}

void Checkpointing::force(const Handle& value) {
  if (from_)
    executor_.pass_over(value);
  else
    executor_.force(value);
}

void Checkpointing::published(const Handle& weights, std::uint64_t version) {
  if (from_) return catch_up(weights, version);
  if (!options_.interval.given()) return;
  if (due(version)) {
    executor_.force(weights);
    log_.forced.push_back(version);
    write(version);
  } else if (options_.interval.seconds > 0 && lineage_.pending() > window_) {
    work_off(weights, version);
  }
}

void Checkpointing::catch_up(const Handle& weights, std::uint64_t version) {
  const std::vector<std::uint64_t>& forced = from_->head().forced;
  if (next_forced_ == forced.size() || forced[next_forced_] != version) return;
  ++next_forced_;
  executor_.pass_over(weights);
  log_.forced.push_back(version);
  if (next_forced_ == forced.size()) restore();  // a version may come twice (training.recovery)
}

void Checkpointing::restore() {
  constexpr const char* other = "has other values than this run has here: it is not this run's; leave out --resume to start again";
  if (next_evaluation_ != from_->head().evaluations.size() || executor_.live_values().size() != from_->values()) fail(other);
  Key key;
  std::vector<float> values;
  while (from_->next(key, values))
    if (!executor_.restore(key, values)) fail(other);
  const std::uint64_t version = from_->head().version;
  from_.reset();
  last_ = Clock::now();
  tell(CheckpointNote::What::reached, version);
}

bool Checkpointing::due(std::uint64_t version) const {
  if (options_.interval.updates > 0) return version % options_.interval.updates == 0;
  return std::chrono::duration<double>(Clock::now() - last_).count() >= options_.interval.seconds;
}

/// Evaluates the pending nodes; halves or doubles the window if that took long or short.
void Checkpointing::work_off(const Handle& weights, std::uint64_t version) {
  const Clock::time_point start = Clock::now();
  executor_.force(weights);
  log_.forced.push_back(version);
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (seconds < short_work) window_ = std::min(2 * window_, largest_window);
  if (seconds > long_work) window_ = std::max(window_ / 2, smallest_window);
}

void Checkpointing::write(std::uint64_t version) {
  log_.version = version;
  const Clock::time_point start = Clock::now();
  CheckpointNote note{CheckpointNote::What::written, version, 0, 0, {}};
  try {
    executor_.bring_back();
    note.bytes = write_checkpoint(options_.file, log_, executor_.live_values(), executor_.length());
  } catch (const std::runtime_error& error) {  // DataError, MemoryBudgetExceeded
    note.what = CheckpointNote::What::failed;
    note.problem = error.what();
  }
  last_ = Clock::now();
  note.seconds = std::chrono::duration<double>(last_ - start).count();
  if (options_.tell) options_.tell(note);
}

void Checkpointing::finish() const {
  if (from_) fail("belongs to a later update than this run reaches, so to another run; leave out --resume to start again");
}

}  // namespace straggler
