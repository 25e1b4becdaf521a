// Evaluates a plan, on one thread in its order, or on all threads of a pool.
#pragma once
#include <exception>
#include <optional>
#include <unordered_map>
#include <vector>

#include "models/executor/plan.hpp"
#include "models/executor/resources.hpp"
#include "models/executor/thread_pool.hpp"

namespace straggler {

/// On this thread, in the plan's order, without locks. Throws the arithmetic's exceptions, or MemoryBudgetExceeded; nodes evaluated by then
/// keep their values.
void evaluate_in_order(Plan& plan, const Arithmetic& arithmetic, Resources& resources);

/// Hands out the ready nodes of a plan, the earliest in its order first: a thread continues along its chain, and few values are live. If
/// memory is short the work falls back to the plan's own order.
class GraphJob final : public Job {
 public:
  GraphJob(Plan& plan, const Arithmetic& arithmetic, Resources& resources, ThreadPool& pool);
  ~GraphJob();
  bool step(std::unique_lock<std::mutex>& lock, unsigned thread) noexcept override;
  bool done() const noexcept override { return active_ == 0 && (failure_ || finished_ == plan_.size()); }
  /// Null on success.
  std::exception_ptr failure() const { return failure_; }

 private:
  struct Item {
    std::uint32_t position = 0, lane = 0;
  };
  /// A large gradient in progress.
  struct Lanes {
    std::vector<float*> buffers;  // null for an unfinished lane
    std::size_t missing = 0;
  };
  /// A gradient that the threads compute together.
  struct Together {
    std::uint32_t position;
    float* buffer;
    const float* weights;
    StepChain chain;
    SharedWork work;
  };
  void add_ready(std::size_t position);
  /// Whether the node is now computed by all threads.
  bool share(const Item& item, const StepChain& chain, float* buffer, unsigned thread);
  /// Computes a piece of the shared gradient; false if none is there now.
  bool help(std::unique_lock<std::mutex>& lock, unsigned thread);
  Item take_first();
  void evaluate(const Item& item, const StepChain& chain, float* buffer, std::unique_lock<std::mutex>& lock, unsigned thread);
  void finish_lane(const Item& item, float* buffer, std::unique_lock<std::mutex>& lock, unsigned thread);
  void store(std::size_t position, const StepChain& chain, float* buffer, bool sparse);

  Plan& plan_;
  const Arithmetic& arithmetic_;
  Resources& resources_;
  ThreadPool& pool_;
  std::vector<Item> ready_;  // a heap ordered by the plan, the first on top
  std::unordered_map<std::uint32_t, Lanes> lanes_;
  std::optional<Together> together_;
  std::size_t finished_ = 0, active_ = 0;
  std::exception_ptr failure_;
};

}  // namespace straggler
