#include "models/executor/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "models/data/permutation.hpp"

namespace straggler {
namespace {

constexpr std::size_t chunk_rows = 1000;  // of samples with many places, a block of a gradient
constexpr std::size_t remembered = 64;

/// Chunks in any order on any thread; each stores its sums separately.
class ChunkJob final : public Job {
 public:
  struct Sums {
    double loss = 0;
    std::uint64_t correct = 0;
  };
  ChunkJob(const float* weights, const DataSplit& over, const Arithmetic& arithmetic, Resources& resources, ThreadPool& pool)
      : weights_(weights),
        over_(over),
        arithmetic_(arithmetic),
        resources_(resources),
        pool_(pool),
        rows_(over.places() == 1 ? chunk_rows : arithmetic.block()),
        sums_((over.count() + rows_ - 1) / rows_) {}

  bool done() const noexcept override { return active_ == 0 && (failure_ || next_ == sums_.size()); }
  const std::vector<Sums>& sums() const { return sums_; }
  std::exception_ptr failure() const { return failure_; }

  bool step(std::unique_lock<std::mutex>& lock, unsigned thread) noexcept override {
    if (failure_ || next_ == sums_.size()) return false;
    try {
      if (!resources_.prepare(resources_.scratch(thread), std::min(over_.count(), rows_))) {
        if (active_ > 0) return false;  // fewer concurrent threads need less
        throw MemoryBudgetExceeded(resources_.refusal());
      }
    } catch (...) {
      failure_ = std::current_exception();
      return true;
    }
    const std::size_t chunk = next_++;
    ++active_;
    std::condition_variable* const sleeper = next_ < sums_.size() ? pool_.sleeper() : nullptr;
    lock.unlock();
    if (sleeper) sleeper->notify_one();
    std::exception_ptr failure;
    try {
      const std::size_t first = chunk * rows_, rows = std::min(over_.count() - first, rows_);
      Sums& sums = sums_[chunk];
      sums.loss = arithmetic_.loss(weights_, over_, first, rows, sums.correct, resources_.scratch(thread));
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    --active_;
    if (failure && !failure_) failure_ = failure;
    return true;
  }

 private:
  const float* const weights_;
  const DataSplit& over_;
  const Arithmetic& arithmetic_;
  Resources& resources_;
  ThreadPool& pool_;
  const std::size_t rows_;  // of a chunk
  std::vector<Sums> sums_;
  std::size_t next_ = 0, active_ = 0;
  std::exception_ptr failure_;
};

}  // namespace

Evaluations::Evaluations(const Dataset& data, std::size_t train_subset, std::uint64_t seed)
    : data_(data), train_subset_(train_subset), seed_(seed) {}

const Evaluation* Evaluations::find(const Key& weights, EvaluationSet set) const {
  for (const Known& known : known_)
    if (known.set == set && known.weights == weights) return &known.result;
  return nullptr;
}

void Evaluations::remember(const Key& weights, EvaluationSet set, const Evaluation& result) {
  known_.push_back({weights, set, result});
  if (known_.size() > remembered) known_.pop_front();
}

Evaluation Evaluations::evaluate(const Key& key, const float* weights, EvaluationSet set, const Arithmetic& arithmetic,
                                 Resources& resources, ThreadPool& pool) {
  const DataSplit& over = samples(set);
  ChunkJob job(weights, over, arithmetic, resources, pool);
  pool.run(job);
  if (job.failure()) std::rethrow_exception(job.failure());
  Evaluation result;
  std::uint64_t correct = 0;
  for (const ChunkJob::Sums& sums : job.sums()) {
    result.loss += sums.loss;
    correct += sums.correct;
  }
  const auto count = static_cast<double>(over.count());
  result.loss /= count;
  // NaN scores have no largest one.
  result.accuracy = std::isfinite(result.loss) ? static_cast<double>(correct) / (count * static_cast<double>(over.places()))
                                               : std::numeric_limits<double>::quiet_NaN();
  remember(key, set, result);
  resources.count_evaluation();
  return result;
}

const DataSplit& Evaluations::samples(EvaluationSet set) {
  const auto all_of = [](const DataSplit& split, const char* fault) -> const DataSplit& {
    if (split.count() == 0) throw std::invalid_argument(fault);
    return split;
  };
  const DataSplit& train = data_.train;
  switch (set) {
    case EvaluationSet::test:
      return all_of(data_.test, "there are no test samples to evaluate on; give data with a test set");
    case EvaluationSet::validation:
      return all_of(data_.validation, "no samples were held out for validation; hold some out, or evaluate on the test set");
    case EvaluationSet::train_subset:
      if (train_subset_ < train.count()) break;
      [[fallthrough]];
    case EvaluationSet::train:
      return all_of(train, "there are no training samples to evaluate on; give data");
  }
  if (subset_.count() == 0) {
    const std::vector<std::uint32_t> chosen = choose(train_subset_, train.count(), RandomStream(seed_, "evaluate/train_subset"));
    subset_ = train.subset(chosen);
  }
  return all_of(subset_, "a subset of no training samples cannot be evaluated on; use at least one");
}

}  // namespace straggler
