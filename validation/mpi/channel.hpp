// Messages between ranks over MPI, without blocking: a long message must not stop a rank's timers, and a waiting rank must not busy-wait.
//  Ranks are those of the scheme: workers 0 .. p-1, then the server. MPI's rank 0 publishes, and therefore writes the results: it is the
// server if there is one, otherwise worker 0.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/engine/time.hpp"
#include "validation/mpi/wire.hpp"

namespace straggler {

class Operation;

/// The kind of a message: its MPI tag.
enum class MessageKind : std::uint8_t {
  vector,     // of a payload of a scheme, whose parts follow
  part,       // of a payload of a scheme, whose next part follows
  payload,    // its last part
  ring,       // a step of an all-reduce
  signal,     // a number
  published,  // to the rank that publishes: a worker's next weights, without their value
  averaged,   // to it: a worker has averaged its weights with another's
  forget,     // from it: the value of such weights will not be needed
  stop,       // the run ends; with text: because of an error
  bye,        // the sender's last
  sweep,      // of a sweep (validation/sweep_ranks)
};

/// Is called when messages were sent or have arrived.
class ChannelUser {
 public:
  /// In the order of sending, for each sender.
  virtual void arrived(Rank from, MessageKind kind, Bytes bytes) = 0;
  /// A vector of so many bytes comes: where it is received, and then it has arrived.
  virtual LentFloats place_for(std::size_t /*bytes*/) { throw std::logic_error("a vector between ranks that have no values"); }
  virtual void arrived(Rank /*from*/, LentFloats /*vector*/) {}
  /// The last byte of a message that `operation` waits for has left (as far as MPI can tell: a small message has left once it is buffered).
  virtual void left(Operation& operation) = 0;

 protected:
  ~ChannelUser() = default;
};

/// MPI from MPI_Init to MPI_Finalize. Only the thread that made it calls it. Any MPI error ends all ranks (its default handler).
class Mpi {
 public:
  Mpi(int& count, char**& arguments);
  ~Mpi();
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;
  int size() const { return size_; }
  bool first() const { return rank_ == 0; }
  /// The outcome, the same on all ranks: the first MPI rank with a nonzero code, and that code. Waits for all, sleeping.
  struct Verdict {
    int rank = -1, code = 0;
  };
  Verdict agree(int code) const;
  int rank() const { return rank_; }

 private:
  int rank_ = 0, size_ = 1;
};

class Channel {
 public:
  /// `server`: the scheme's rank of MPI's rank 0, so that the first rank publishes; the others follow in MPI's order. None: ranks are MPI's
  /// own.
  Channel(const Mpi& mpi, std::optional<Rank> server);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  Rank self() const { return self_; }
  Rank ranks() const { return ranks_; }
  /// The longest message that MPI accepts.
  static constexpr std::uint64_t most_bytes = 0x7fffffff;

  /// `operation`, if not null, is completed when the message and everything else sent for it have left. Throws std::length_error beyond
  /// most_bytes.
  void send(Rank to, MessageKind kind, const std::shared_ptr<const Bytes>& bytes, Operation* operation) {
    send(to, kind, *bytes, bytes, operation);
  }
  /// `keeper` keeps the bytes until they have left.
  void send(Rank to, MessageKind kind, std::span<const std::byte> bytes, std::shared_ptr<const void> keeper, Operation* operation);
  /// It is no longer awaited; its bytes still leave.
  void forget(const Operation& operation) noexcept;
  /// Advances all pending messages, and notifies. True: something has happened.
  bool progress(ChannelUser& user);
  bool all_left() const { return outgoing_.empty(); }
  /// Sleeps until messages should be looked for, at most `most` ns: until another rank has sent one, where all are on one machine.
  void await_message(std::int64_t least, std::int64_t most);
  /// All ranks wake each other so, and themselves.
  bool wakes() const;
  /// Ends a sleep of this rank; on any thread.
  void wake() const;
  /// No message is in flight to or from this rank, as far as it knows.
  bool quiet() const { return outgoing_.empty() && waits_asleep(); }
  /// Nothing is coming, and only long messages are leaving: their receivers ring, if they can.
  bool waits_asleep() const;

  /// On the rank `root`: everybody's bytes, by rank; elsewhere nothing. All ranks call it, when no message is in flight. Throws
  /// std::length_error on all if one has more than most_bytes.
  std::vector<Bytes> gather(const Bytes& mine, Rank root);
  /// The bytes of `root`, on all ranks.
  Bytes share(Bytes mine, Rank root);
  /// A moment in the near future, the same for all ranks, on each rank's steady clock, in ns. Clocks of different machines are compared
  /// first.
  std::int64_t agree_on_start();

 private:
  struct Pending;
  std::int64_t clock_offset();
  /// This rank was told of more messages than have come.
  bool expects() const;
  bool test_outgoing(ChannelUser& user, bool long_ones);
  bool probe(ChannelUser& user, bool unexpected);
  bool test_incoming(ChannelUser& user);

  struct Implementation;
  std::unique_ptr<Implementation> mpi_;
  Rank self_ = 0, ranks_ = 1;
  std::vector<Pending> outgoing_;
};

}  // namespace straggler
