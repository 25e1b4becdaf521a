// How a rank waits: asleep, so that others have its core.
#pragma once
#include <poll.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace straggler {

/// Lets others run for this long, to within microseconds.
void nap(std::int64_t nanoseconds);

/// Lowers the priority of this thread alone, by a niceness of 10, so that the threads of all ranks that handle messages run first. If it
/// cannot be set, messages are handled later.
void go_behind_messages();

/// A sleep that ends early when bytes arrive on a TCP connection of this process; MPI's are among them. MPI itself can only be polled, and
/// a message that arrives during a plain sleep waits for its end: up to 100 us in each step of a ring. Without connections (shared memory,
/// other fabrics) it is a plain sleep.
class SocketWait {
 public:
  /// At least `least` ns, whatever arrives, so that the core is free meanwhile; at most `most` ns. True if bytes ended it.
  bool wait(std::int64_t least, std::int64_t most);

 private:
  void find_connections();

  std::vector<pollfd> connections_;
  std::uint64_t waits_ = 0, next_look_ = 0;
};

/// By which the ranks of one machine wake each other: words of shared memory, on which each rank sleeps. Who sends a rank messages adds
/// their number and rings. Ringing is safe on any thread; one thread of each rank waits.
class Doorbells {
 public:
  Doorbells() = default;  // of no rank
  ~Doorbells();
  Doorbells(const Doorbells&) = delete;
  Doorbells& operator=(const Doorbells&) = delete;
  /// Makes them in memory of that name, or opens those that another process has made. False if that cannot be done.
  bool make(const std::string& name, std::size_t ranks) { return open(name, ranks, true); }
  bool open(const std::string& name, std::size_t ranks) { return open(name, ranks, false); }
  void close();
  /// Once all have opened them: the name is free again.
  static void forget(const std::string& name);
  bool empty() const { return bells_.empty(); }

  void ring(std::size_t rank, std::uint32_t messages = 0) const;
  /// Its message has left, or it has to help.
  void confirm(std::size_t rank) const;
  /// How often it was rung, how many messages it was told of, and how often one was confirmed; all wrap around.
  std::uint32_t rings(std::size_t rank) const { return bells_[rank].rings; }
  std::uint32_t messages(std::size_t rank) const { return bells_[rank].messages; }
  std::uint32_t confirmed(std::size_t rank) const { return bells_[rank].confirmed; }
  /// Sleeps until it was rung more often than `rings`, at most so many ns. True: it was.
  bool wait(std::size_t rank, std::uint32_t rings, std::int64_t nanoseconds) const;

 private:
  struct alignas(64) Bell {
    std::atomic<std::uint32_t> rings{0}, messages{0}, confirmed{0}, asleep{0};
  };
  bool open(const std::string& name, std::size_t ranks, bool make);

  std::span<Bell> bells_;
};

}  // namespace straggler
