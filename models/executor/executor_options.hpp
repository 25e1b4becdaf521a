// The executor's options and counters.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "models/executor/known_values.hpp"
#include "models/executor/numerics.hpp"
#include "sim/base/refusal.hpp"

namespace straggler {

/// The computation needs more memory than the budget allows. The message has the amount, its purpose, and the option to change.
struct MemoryBudgetExceeded : CannotContinue {
  using CannotContinue::CannotContinue;
};

class RemoteThread;

struct ExecutorOptions {
  unsigned threads = 0;               // 0: all cores
  bool choose_threads = false;        // of these as many as are fastest; not with `remote`
  std::size_t memory_budget = 0;      // bytes for values and workspaces; 0: three quarters of the machine's memory
  std::size_t train_subset = 10'000;  // samples of EvaluationSet::train_subset, chosen by the seed
  std::uint64_t seed = 1;
  Numerics numerics = {};
  std::span<const float> initial_weights = {};  // replace the model's own; they outlive the executor
  bool exchange_statistics = true;              // running statistics are averaged with the weights; false: the first one's are kept
  KnownValues* known = nullptr;                 // outlives the executor; null: none
  std::span<RemoteThread* const> remote = {};   // likewise; not used where one thread must compute everything
};

struct ExecutorStatistics {
  std::uint64_t nodes = 0, gradient_samples = 0, evaluations = 0;  // computed here
  std::uint64_t taken = 0;                                         // node values taken from KnownValues
  std::size_t values = 0, peak_value_bytes = 0;
  std::uint64_t set_aside = 0, remade = 0;  // values evicted to free memory, and those of them that were recomputed
  unsigned threads = 0;                     // that compute gradients; if they were chosen, the fastest number
  bool threads_compared = false;
};

}  // namespace straggler
