// Evaluates a plan, on one thread in its order, or on all threads of a pool.
#pragma once
#include <exception>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "models/executor/node_pace.hpp"
#include "models/executor/plan.hpp"
#include "models/executor/remote_chain.hpp"
#include "models/executor/resources.hpp"
#include "models/executor/thread_choice.hpp"
#include "models/executor/thread_pool.hpp"

namespace straggler {

/// On this thread, in the plan's order, without locks. Throws the arithmetic's exceptions, or MemoryBudgetExceeded; nodes evaluated by then
/// keep their values.
void evaluate_in_order(Plan& plan, const Arithmetic& arithmetic, Resources& resources);

/// Hands out the ready nodes of a plan, the earliest in its order first: a thread continues along its chain, and few values are live. If
/// memory is short the work falls back to the plan's own order. Chains go to the `remote` threads, for each of which one of the pool's
/// waits. Of nodes as small as `pace` says, the caller's thread computes all. Else a `choice` decides how many threads take part; each
/// finished gradient is reported to it.
class GraphJob final : public Job {
 public:
  GraphJob(Plan& plan, const Arithmetic& arithmetic, Resources& resources, ThreadPool& pool, std::span<RemoteThread* const> remote,
           NodePace& pace, ThreadChoice* choice = nullptr);
  /// That take part from the start.
  static unsigned threads(const NodePace& pace, const ThreadChoice* choice, const ThreadPool& pool);
  ~GraphJob();
  bool step(std::unique_lock<std::mutex>& lock, unsigned thread) noexcept override;
  bool done() const noexcept override { return active_ == 0 && (failure_ || finished_ == plan_.size()); }
  /// Null on success.
  std::exception_ptr failure() const { return failure_; }

 private:
  struct Item {
    std::uint32_t position = 0, lane = 0;
  };
  /// A large gradient in progress. The first buffer is the sum of the lanes `added`.
  struct Lanes {
    std::vector<float*> buffers;  // null for a lane that is unfinished or added
    std::size_t added = 0;
    bool adding = false;  // by a thread
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
  /// As step(), of a thread that waits for another process.
  bool send(std::unique_lock<std::mutex>& lock, unsigned thread);
  /// A ready gradient to send there, and its chain; of a large one that is the last ready one, a lane.
  struct Sent {
    Item item;
    PlannedChain planned;
  };
  std::optional<Sent> choose_for(const RemoteThread& to);
  /// Whether it takes longer to compute than to send.
  bool pays(const RemoteChain& chain, const RemoteThread& to) const;
  /// Whether it has computed that. Meanwhile others go on.
  bool wait_for(std::unique_lock<std::mutex>& lock, RemoteThread& to, const RemoteChain& chain);
  void add_ready(const Item& item);
  void store(const PlannedChain& sent);
  void evaluate(const Item& item, const StepChain& chain, float* buffer, std::unique_lock<std::mutex>& lock, unsigned thread);
  /// Adds the lanes that are there, in order.
  void finish_lane(const Item& item, float* buffer, std::unique_lock<std::mutex>& lock, unsigned thread);
  void store(std::size_t position, const StepChain& chain, float* buffer, bool sparse);
  void look_at_pace();
  /// Asks the choice after a gradient.
  void choose_threads();

  Plan& plan_;
  const Arithmetic& arithmetic_;
  Resources& resources_;
  ThreadPool& pool_;
  const std::span<RemoteThread* const> remote_;
  NodePace& pace_;
  ThreadChoice* const choice_;
  std::vector<Item> ready_;  // a heap ordered by the plan, the first on top
  std::unordered_map<std::uint32_t, Lanes> lanes_;
  std::optional<Together> together_;
  std::size_t finished_ = 0, active_ = 0;
  std::exception_ptr failure_;
};

}  // namespace straggler
