// The interface behind a Node: simulated time (sim/simulated) or real ranks (validation/mpi).
#pragma once
#include <cstdint>
#include <stdexcept>

#include "sim/training/payload.hpp"

namespace straggler {

class Operation;
class MailOperation;

/// A replay's choices do not fit the scheme: they come from another run.
struct ReplayMismatch : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A scheme uses an operation that this run does not have; the message names the process and the operation, and how to fix it.
struct UnsupportedOperation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Two workers average their own weights: atomically at `at`, with the weights that `with` has sent it.
struct Averaging {
  Rank at = 0, with = 0;
  std::uint64_t number = 0;  // version of the weights of `with`
  Weights mixed;             // of the teller
};

/// Carries out operations. An operation that `start` does not complete at once is completed later, from an event or a message.
class Backend {
 public:
  virtual ~Backend() = default;
  /// True: completed at once. Otherwise it completes later, by Operation::complete.
  virtual bool start(Operation& operation) = 0;
  /// A pending operation is cancelled.
  virtual void cancel(Operation& operation) noexcept = 0;
  /// The operation's event has come (it was scheduled by start).
  virtual void due(Operation& operation) = 0;
  /// Resume the operation's coroutine from the queue at this instant: schedule its event now.
  virtual void wake(Operation& operation) = 0;
  /// A waiting receive was given its message: it completes now, or after the receiver's handling time.
  virtual void received(MailOperation& operation) = 0;
  /// A message without a waiter for its departure.
  virtual void post(Rank from, Peer to, Payload&& payload) = 0;
  /// A message for a worker that is not in: nothing is sent.
  virtual void unsent(Rank /*from*/, Rank /*to*/) {}
  /// `node` drops a contribution: its samples, the time spent on it and its bytes are wasted.
  virtual void discarded(Rank node, const Payload& contribution) = 0;
  /// To every worker but `from`; each gets it one route latency later.
  virtual void signal_workers(Rank from, SyncSignal signal) = 0;
  /// Members: workers that have joined and are up. All workers unless the cluster has faults.
  virtual bool is_member(Rank worker) const = 0;
  /// The life of `other` that sent the latest message that `node` received from it; any life if there is none.
  virtual Peer last_heard(Rank node, Rank other) const = 0;
  /// The present life of that worker, or its last one if it is down.
  virtual Peer present(Rank worker) const = 0;
  virtual bool awaits(Rank worker) const = 0;
  /// Workers that have joined and have not left, whether they are up or not.
  virtual Rank enrolled() const = 0;
  virtual bool is_enrolled(Rank worker) const = 0;
  /// Where workers publish weights of their own: the version of the weights from which the present life of `worker` began.
  virtual std::uint64_t first_version(Rank /*worker*/) const { return 0; }
  /// Where workers publish weights of their own: `worker` is in at that version, by what all know who have begun it.
  virtual bool is_in(Rank /*worker*/, std::uint64_t /*version*/) const { return true; }
  /// Where workers publish weights of their own and run free: `teller`, one of the two, reports that they have averaged.
  virtual void averaged(Rank /*teller*/, const Averaging& /*averaging*/) {}
  /// Workers can all-reduce: the scheme's entry says so (SchemeEntry::all_reduces), or there is one worker and no server.
  virtual bool reduces() const = 0;
  /// A process waits until an absent worker is present again (TrainingPlan::clients_come_and_go): when the next worker arrives, every node
  /// that gets MembershipNotices gets one.
  virtual void await_comers() {}
  /// False: members are always all workers.
  virtual bool members_change() const = 0;
  /// Time of the run, to measure spans: only the lengths of timers may depend on it, since it is no choice that a replay forces.
  virtual Time now() const = 0;
  /// Every choice that depends on timing passes here: whose message a receive-from-anyone takes, which branch of first_of wins.
  virtual std::int32_t forced_choice(Rank rank) = 0;  // -1: free
  virtual void chosen(Rank rank, std::int32_t choice) = 0;
  /// The same where workers draw from one pool: the samples between a worker's last draw and this one. Real ranks have no pool.
  virtual std::int32_t forced_draw(Rank /*worker*/) { return -1; }
  virtual void drawn(Rank /*worker*/, std::int32_t /*samples*/) {}
};

}  // namespace straggler
