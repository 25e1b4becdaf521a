// How a rank waits: asleep, so that others have its core.
#pragma once
#include <poll.h>

#include <array>
#include <cstdint>
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

/// By which processes of one machine wake each other: a datagram socket, whose name the kernel chooses. A ring holds nothing, and means:
/// look for messages. Rings of other programs cost one look.
class Doorbell {
 public:
  using Name = std::array<char, 8>;  // all zero: none
  Doorbell();
  ~Doorbell();
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;
  const Name& name() const { return name_; }
  /// False if there is no such doorbell.
  bool ring(const Name& other) const;
  /// At most this long. True if it was rung, perhaps before.
  bool wait(std::int64_t nanoseconds) const;

 private:
  int socket_;
  Name name_{};
};

}  // namespace straggler
