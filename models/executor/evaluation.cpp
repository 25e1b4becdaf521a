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

std::size_t rows_of_a_chunk(const DataSplit& over, const Arithmetic& arithmetic) {
  return over.places() == 1 ? chunk_rows : arithmetic.block();
}

ChunkSums sums_of(const float* weights, const DataSplit& over, std::size_t chunk, std::size_t rows, const Arithmetic& arithmetic,
                  Scratch& scratch) {
  ChunkSums sums;
  const std::size_t first = chunk * rows;
  sums.loss = arithmetic.loss(weights, over, first, std::min(over.count() - first, rows), sums.correct, scratch);
  return sums;
}

/// Chunks in any order on any thread, here or elsewhere; each stores its sums separately.
class ChunkJob final : public Job {
 public:
  ChunkJob(const RemoteValue& weights, EvaluationSet set, const DataSplit& over, const Arithmetic& arithmetic, Resources& resources,
           ThreadPool& pool, std::span<RemoteThread* const> remote)
      : weights_(weights),
        set_(set),
        over_(over),
        arithmetic_(arithmetic),
        resources_(resources),
        pool_(pool),
        remote_(remote),
        rows_(rows_of_a_chunk(over, arithmetic)),
        sums_((over.count() + rows_ - 1) / rows_) {
    for (std::size_t chunk = sums_.size(); chunk > 0; --chunk) left_.push_back(chunk - 1);
  }

  bool done() const noexcept override { return active_ == 0 && (failure_ || left_.empty()); }
  const std::vector<ChunkSums>& sums() const { return sums_; }
  std::exception_ptr failure() const { return failure_; }

  bool step(std::unique_lock<std::mutex>& lock, unsigned thread) noexcept override {
    if (failure_ || left_.empty()) return false;
    RemoteThread* const to = thread < pool_.computing() ? nullptr : remote_[thread - pool_.computing()];
    if (to && !to->there()) return false;
    try {
      if (!to && !resources_.prepare(resources_.scratch(thread), std::min(over_.count(), rows_))) {
        if (active_ > 0) return false;  // fewer concurrent threads need less
        throw MemoryBudgetExceeded(resources_.refusal());
      }
    } catch (...) {
      failure_ = std::current_exception();
      return true;
    }
    const std::size_t chunk = left_.back();
    left_.pop_back();
    ++active_;
    std::condition_variable* sleeper = left_.empty() ? nullptr : pool_.sleeper();
    lock.unlock();
    if (sleeper) sleeper->notify_one();
    std::exception_ptr failure;
    bool computed = true;
    try {
      if (to)
        computed = to->evaluate(weights_, set_, chunk, sums_[chunk]);
      else
        sums_[chunk] = sums_of(weights_.floats, over_, chunk, rows_, arithmetic_, resources_.scratch(thread));
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    --active_;
    if (failure && !failure_) failure_ = failure;
    if (!computed) {
      left_.push_back(chunk);
      sleeper = pool_.sleeper();
      if (sleeper) sleeper->notify_one();
    }
    return true;
  }

 private:
  const RemoteValue weights_;
  const EvaluationSet set_;
  const DataSplit& over_;
  const Arithmetic& arithmetic_;
  Resources& resources_;
  ThreadPool& pool_;
  const std::span<RemoteThread* const> remote_;
  const std::size_t rows_;  // of a chunk
  std::vector<ChunkSums> sums_;
  std::vector<std::size_t> left_;  // chunks, the next one last
  std::size_t active_ = 0;
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

ChunkSums Evaluations::chunk(const float* weights, EvaluationSet set, std::uint64_t chunk, const Arithmetic& arithmetic,
                             Resources& resources) {
  const DataSplit& over = samples(set);
  const std::size_t rows = rows_of_a_chunk(over, arithmetic);
  if (chunk >= (over.count() + rows - 1) / rows) throw std::logic_error("a chunk beyond the last one is to be evaluated");
  if (!resources.prepare(resources.scratch(0), std::min(over.count(), rows))) throw MemoryBudgetExceeded(resources.refusal());
  resources.count_evaluation();
  return sums_of(weights, over, chunk, rows, arithmetic, resources.scratch(0));
}

Evaluation Evaluations::evaluate(const Key& key, const float* weights, EvaluationSet set, const Arithmetic& arithmetic,
                                 Resources& resources, ThreadPool& pool, std::span<RemoteThread* const> remote) {
  const DataSplit& over = samples(set);
  ChunkJob job({key, weights}, set, over, arithmetic, resources, pool, remote);
  pool.run(job);
  if (job.failure()) std::rethrow_exception(job.failure());
  Evaluation result;
  std::uint64_t correct = 0;
  for (const ChunkSums& sums : job.sums()) {
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
