// Threads of other processes that compute for an executor: chains of nodes, lanes of gradients and chunks of evaluations. Values have keys,
// so each needs to travel to a process once.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/executor/evaluation_sums.hpp"
#include "sim/base/key.hpp"
#include "sim/lineage/evaluator.hpp"
#include "sim/lineage/lineage.hpp"

namespace straggler {

struct RemoteValue {
  Key key;
  const float* floats = nullptr;  // [Executor::length()]
};

/// Nodes to compute one after the other, inputs before their consumers.
struct RemoteChain {
  struct Node {
    Key key;
    const Formula* formula = nullptr;
    std::vector<std::int32_t> inputs;  // i >= 0: node i; below: the input ~i
  };
  struct Output {
    Key key;
    std::uint32_t node = 0;
    float* floats = nullptr;  // [Executor::length()], to be filled
  };
  std::vector<RemoteValue> inputs;
  std::vector<Node> nodes;
  std::vector<Output> outputs;
  std::optional<std::uint32_t> lane;  // set: the chain is one gradient, of which only this lane is computed
};

/// One of them. One thread at a time calls it, and waits for the result; `holds` may be called meanwhile.
class RemoteThread {
 public:
  virtual ~RemoteThread() = default;
  /// False: its process is lost, and nothing more can be asked of it.
  virtual bool there() const = 0;
  /// Whether the value need not travel.
  virtual bool holds(const Key& value) const = 0;
  /// Fills the outputs. False: the process is lost, and they hold anything.
  virtual bool compute(const RemoteChain& chain) = 0;
  /// Of that chunk of the set. False: the process is lost.
  virtual bool evaluate(const RemoteValue& weights, EvaluationSet set, std::uint64_t chunk, ChunkSums& sums) = 0;
};

/// All of them, of any number of processes.
class RemoteThreads {
 public:
  virtual ~RemoteThreads() = default;
  /// Before anything is computed. `root`: of the lineage; `length`: Executor::length(). Throws Refusal if a process has another root.
  virtual std::span<RemoteThread* const> begin(const Key& root, std::size_t length) = 0;
};

}  // namespace straggler
