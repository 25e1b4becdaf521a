// What an executor is given, and what it counts.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

#include "models/executor/known_values.hpp"
#include "models/executor/numerics.hpp"

namespace straggler {

/// More memory would be needed than the budget allows: says how much, for what, and what to change.
struct MemoryBudgetExceeded : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct ExecutorOptions {
  unsigned threads = 0;               // 0: all cores
  std::size_t memory_budget = 0;      // bytes for values and workspaces; 0: three quarters of the machine's memory
  std::size_t train_subset = 10'000;  // samples of EvaluationSet::train_subset, chosen by the seed
  std::uint64_t seed = 1;
  Numerics numerics = {};
  std::span<const float> initial_weights = {};  // used instead of the model's own; they outlive the executor
  bool exchange_statistics = true;              // running statistics are averaged with the weights; false: the first one's count
  KnownValues* known = nullptr;                 // outlives the executor; null: nothing is known from elsewhere
};

struct ExecutorStatistics {
  std::uint64_t nodes = 0, gradient_samples = 0, evaluations = 0;  // computed here
  std::uint64_t taken = 0;                                         // values of nodes that were known from elsewhere
  std::size_t values = 0, peak_value_bytes = 0;
  std::uint64_t set_aside = 0, remade = 0;  // values that made room for others, and those of them that were computed again
};

}  // namespace straggler
