// Messages in simulated time: from dispatch over the network, or over several links side by side to and from sharded servers, into the
// receiver's mailbox. Lost messages are counted.
#pragma once
#include <boost/container/small_vector.hpp>
#include <boost/container/static_vector.hpp>
#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sim/simulated/coding.hpp"
#include "sim/simulated/processors.hpp"
#include "sim/simulated/signal_board.hpp"
#include "sim/simulated/simulated_run.hpp"
#include "sim/training/envelope.hpp"

namespace straggler {

/// A message that has been dispatched and not delivered.
struct InFlightMessage : Message, boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
  using Message::Message;
};

/// Notified of the end of a state transfer.
class StateTransferWatch {
 public:
  virtual void state_arrived(Rank worker) = 0;
  virtual void state_lost(Rank worker) = 0;

 protected:
  ~StateTransferWatch() = default;
};

/// Notified of invitations and answers.
class InvitationWatch {
 public:
  /// Something is sent to that worker.
  virtual void invited(Rank worker) = 0;
  /// Its reply has left.
  virtual void answered(Rank worker) = 0;

 protected:
  ~InvitationWatch() = default;
};

class PostOffice {
 public:
  /// All outlive this.
  explicit PostOffice(const SimulatedRun& run);
  ~PostOffice();
  PostOffice(const PostOffice&) = delete;
  PostOffice& operator=(const PostOffice&) = delete;

  /// `operation` waits until it has left; null: no waiter. To a worker that is not in, or to a life of it that is over, nothing is sent.
  void dispatch(Rank from, Peer to, Payload&& payload, SendOperation* operation);
  /// The state that `worker` needs to start, from `source`; the watch is notified when it has arrived or is lost.
  void transfer_state(Rank source, Rank worker, Payload state);
  void watch_state_transfers(StateTransferWatch& watch) { state_watch_ = &watch; }
  void watch_invitations(InvitationWatch& watch) { invitation_watch_ = &watch; }
  /// True: a message is there and handled.
  bool receive(MailOperation& operation);
  /// A waiting receive was given its message.
  void received(MailOperation& operation);
  /// The operation no longer waits for its message to have left.
  static void forget(SendOperation& operation) noexcept;

  /// `worker` is no longer a member. Messages to it are lost; with `its_sends`, also those from it whose last byte had not left.
  void remove_worker(Rank worker, bool its_sends);
  /// All messages are lost: those in flight, and those that have arrived and were not taken. The processes of all ranks are gone.
  void lose_all();
  /// It is about to restart: its earlier messages are ignored.
  void forget_former_life(Rank worker);
  /// The life of `worker` that sent the message `node` took last from it; any life if it has taken nothing.
  Peer last_heard(Rank node, Rank worker) const;
  /// The server and the aggregators get notices of changed members; all members do where workers exchange with each other.
  void notify_of_members();

  SignalBoard& signals() { return signals_; }
  Processors& processors() { return processors_; }
  Coding& coding() { return coding_; }
  const WireBytes& wire_bytes() const { return wire_bytes_; }
  /// The rank with more messages in its mailbox than a run may leave waiting, which has stopped it; none: there was none.
  std::optional<Rank> overloaded() const { return overloaded_; }
  /// Messages that may wait in one mailbox. Where a scheme's workers wait for answers, each has one or two there.
  std::size_t most_waiting() const { return most_waiting_; }
  /// Sent, and neither received nor lost.
  std::uint64_t bytes_in_flight() const;
  bool waits_for_message(Rank rank) const {
    const auto* const mail = mail_.find(index_of(rank));
    return mail && mail->first_waiting();
  }
  /// A message for a worker that is not in: nothing was sent.
  void unsent(Rank from, Rank to);
  /// "server 0 waits for weights from worker 13, absent when it was sent a message at 2 s"; first those that wait in vain for a known
  /// reason.
  void describe_waiting(std::vector<std::string>& who) const;
  /// Drops all messages.
  void take_down();

 private:
  class Delivery;
  using InFlight = boost::intrusive::list<InFlightMessage, boost::intrusive::constant_time_size<false>>;

  /// When a processor has handled each part of a message.
  using Moments = boost::container::static_vector<Time, Parts::static_capacity>;
  /// True: each message is one flow to a rank that is in, handled in no time, and without observers.
  bool is_plain() const;
  static std::uint64_t pair_of(Rank node, Rank worker) {
    return static_cast<std::uint64_t>(node) << 32 | static_cast<std::uint32_t>(worker);
  }
  /// Made on first use.
  Mailbox<MessagePointer>& mail_of(Rank rank) { return mail_.made(index_of(rank)); }
  /// Into its mailbox, which an idle worker opens now.
  void deliver(MessagePointer message);
  /// A node's process was given a message; it sees it now or when its processor has handled it.
  void taken(const MailOperation& operation);
  void take_at_newest(const MailOperation& operation) const;
  /// Handling a message that it was given, or decoding it.
  bool takes_time(const MailOperation& operation) const;
  /// The receive completes when its node's processor has handled the message.
  void handle(MailOperation& operation);
  /// Why `node` hears nothing from that worker, as an apposition to its name; empty: unknown.
  std::string why_silent(Rank node, Rank worker) const;
  std::vector<Rank> silent(Rank node) const;
  std::string reasons_of(const MailOperation& operation) const;
  /// Messages from it that have arrived and were not taken.
  void forget_mail_from(Rank worker);
  std::vector<Delivery*> under_way(Rank worker);
  void begin(Delivery& delivery);
  /// The rank's processor handles a message that it sends or receives, and codes it.
  Moments handled(Rank rank, const Message& message);
  void send_part(Delivery& delivery);
  [[gnu::always_inline]] inline void start_flow(Delivery& delivery, std::uint64_t bytes);
  void start_shards(Delivery& delivery, std::uint64_t bytes);
  void drained(Delivery& delivery);
  void delivered(Delivery& delivery);
  void lose(Delivery& delivery);
  // Messages from one rank to another arrive in the order in which they were sent, as on one connection. Flows would do otherwise where a
  // later message is smaller, or where a link has stopped, so that both end at one instant.
  bool may_be_overtaken(const Delivery& delivery) const;
  void keep_in_order(Delivery& delivery);
  bool overtakes(Delivery& delivery);
  void release_next(const Delivery& gone);
  /// With a trace: it has arrived or is lost.
  void trace(const Delivery& delivery, bool lost);
  void trace_server(Rank rank, const char* what, Time from, Time to) const;

  // With many workers, one worker's data have left the cache when its turn comes, so they are prefetched some events ahead.
  static constexpr Rank many = 256;
  void prefetch_worker(Rank rank) noexcept;
  void prefetch_waiter(Rank rank) noexcept;
  void prefetch_messages(const Mailbox<MessagePointer>& mail) noexcept;

  const SimulatedRun run_;
  RecordSink* const trace_;  // notified of every message; null: not observed
  WireBytes wire_bytes_;
  Processors processors_;
  Coding coding_;
  SignalBoard signals_;
  const bool plain_;
  const bool many_workers_;  // more than a cache holds
  const std::size_t most_waiting_;
  std::optional<Rank> overloaded_;
  StateTransferWatch* state_watch_ = nullptr;    // null: no worker is ever sent its state
  InvitationWatch* invitation_watch_ = nullptr;  // null: not observed
  Carriage carriage_;                            // scratch
  InFlight in_flight_;
  std::unordered_set<Rank> noticed_;                     // a notice waits in its mailbox, where units fail again and again
  std::uint32_t begun_ = 0;                              // deliveries, modulo 2^32
  std::unordered_map<Rank, Delivery*> state_transfers_;  // by receiver: that in progress
  /// By sender and receiver: those in progress, if the first of them may be overtaken, in the order in which they were sent.
  std::unordered_map<std::uint64_t, boost::container::small_vector<Delivery*, 2>> in_order_;
  SparseArray<Mailbox<MessagePointer>> mail_;  // [ranks]
  struct Left {
    Time sent, left;
  };
  std::unordered_map<const Message*, Left> left_;  // those in progress; empty without a trace
  // Where workers change:
  bool workers_write_each_other_ = false;                   // and may be in each other's mailboxes
  std::unordered_map<std::uint64_t, Time> unsent_;          // by node and worker: when the node's latest message was not sent
  std::unordered_map<std::uint64_t, std::uint32_t> heard_;  // by node and worker: the life whose message the node took last
};

}  // namespace straggler
