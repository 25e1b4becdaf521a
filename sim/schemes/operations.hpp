// Operations that a scheme awaits, and the back end behind them.
//
// The awaiting coroutine's frame owns the operation, through a Pending; the node has room for one, where it lies beside what it works
// on. When the frame dies, or when it loses a first_of, it takes itself out of whatever it waits in: nothing of it is left. A completed
// operation wakes its coroutine through the back end's queue.
#pragma once
#include <algorithm>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "sim/engine/event_queue.hpp"
#include "sim/engine/mailbox.hpp"
#include "sim/lineage/update_rule.hpp"
#include "sim/schemes/payload.hpp"

namespace straggler {

class Node;
class Operation;

class Backend {
 public:
  virtual ~Backend() = default;
  /// True: completed at once. Otherwise it completes later, by Operation::complete.
  virtual bool start(Operation& operation) = 0;
  /// A pending operation is given up.
  virtual void cancel(Operation& operation) noexcept = 0;
  /// The operation's event has come (it was scheduled by start).
  virtual void due(Operation& operation) = 0;
  /// Resume the operation's coroutine from the queue at this instant: schedule its event now.
  virtual void wake(Operation& operation) = 0;
  /// A waiting receive was given its message: it completes, now or after the receiver's handling time.
  virtual void received(class MailOperation& operation) = 0;
  /// To be sent at once.
  virtual MessagePointer make_message(Rank from, Peer to, Payload payload) = 0;
  virtual void post(MessagePointer message) = 0;
  /// To every worker but `from`; each gets it one route latency later.
  virtual void signal_workers(Rank from, SyncSignal signal) = 0;
  /// Workers that are in: up, and not yet to join. All of them unless the cluster has faults.
  virtual bool is_member(Rank worker) const = 0;
  /// The life of `other` that sent what `node` last received from it; any life if it has received nothing.
  virtual Peer last_heard(Rank node, Rank other) const = 0;
  virtual bool awaits(Rank worker) const = 0;
  virtual Rank members() const = 0;
  /// Workers can all-reduce: not beside a server, nor where one process drives them all.
  virtual bool reduces() const = 0;
  /// False: members are always all workers.
  virtual bool members_change() const = 0;
  /// Everything that timing can decide passes here: whom a receive-from-anyone takes, which branch of first_of wins.
  virtual std::int32_t forced_choice(Rank rank) = 0;  // -1: free
  virtual void chosen(Rank rank, std::int32_t choice) = 0;
};

/// The other side of a first_of.
class OperationParent {
 public:
  virtual void completed(Operation& operation) = 0;

 protected:
  ~OperationParent() = default;
};

class Operation : public Event {
 public:
  enum class Kind : std::uint8_t { gradient, averaged_gradient, step, send, receive, signal, proceed, all_reduce, publish, load, host };
  enum class State : std::uint8_t { idle, pending, woken, done };

  Operation(Node& owner, Kind what) : kind_(what), node_(&owner) {}
  ~Operation() = default;

  bool await_suspend(std::coroutine_handle<> waiter) {
    waiter_ = waiter;
    return !begin();
  }
  /// True: done at once.
  bool begin();
  /// Whether or not it has begun: afterwards nothing refers to it. Derived destructors call it.
  void give_up() noexcept;
  /// For back ends: it is done; the waiter resumes through the queue at this instant.
  void complete();
  /// For back ends, called from this operation's own event: the waiter resumes at once.
  void complete_from_event();
  /// For back ends: nothing can change the outcome any more (first_of gives up the other branch), but the waiter resumes later,
  /// when this operation's event comes, which the back end schedules.
  void settle();
  void set_waiter(std::coroutine_handle<> waiter, OperationParent* parent) {
    waiter_ = waiter;
    parent_ = parent;
  }
  /// In a first_of that a replay decides for the other branch: it takes its time, and nobody is told when it completes.
  void complete_unheard();
  bool unheard() const { return unheard_; }
  Node& node() const { return *node_; }
  /// For back ends: its coroutine will soon be resumed.
  void prefetch_waiter() const noexcept {
    const char* const frame = static_cast<const char*>(waiter_.address());
    __builtin_prefetch(frame);
    __builtin_prefetch(frame + 64);
    __builtin_prefetch(frame + 128);
  }
  Kind kind() const { return kind_; }
  State state() const { return state_; }

 private:
  void happen() final;
  /// Called before it starts: a forced choice is looked up here.
  virtual void prepare() {}

  Kind kind_;  // first: these lie in what Event leaves free at its end
  State state_ = State::idle;
  bool unheard_ = false;
  Node* node_;
  std::coroutine_handle<> waiter_;
  OperationParent* parent_ = nullptr;
};

/// Computes the gradient of a batch.
class ComputeOperation : public Operation {
 public:
  const DrawnBatch& batch() const { return batch_; }
  const Weights& weights() const { return weights_; }
  /// What has been computed.
  Gradient gradient() const;
  // Back end's own.
  std::uint32_t milestone = 0;
  Time span;

 protected:
  ComputeOperation(Node& owner, Kind what, const Weights& weights, const DrawnBatch& batch)
      : Operation(owner, what), batch_(batch), weights_(weights) {}
  ~ComputeOperation() = default;

 private:
  DrawnBatch batch_;
  Weights weights_;
};

class GradientOperation final : public ComputeOperation {
 public:
  GradientOperation(Node& node, const Weights& weights, const DrawnBatch& batch) : ComputeOperation(node, Kind::gradient, weights, batch) {}
  ~GradientOperation() { give_up(); }
  Gradient await_resume() { return gradient(); }
};

class AveragedGradientOperation final : public ComputeOperation {
 public:
  AveragedGradientOperation(Node& node, const Weights& weights, const DrawnBatch& batch)
      : ComputeOperation(node, Kind::averaged_gradient, weights, batch) {}
  ~AveragedGradientOperation() { give_up(); }
  Gradient await_resume() { return std::get<Gradient>(std::move(payload)); }
  // Back end's own.
  Payload payload;        // this worker's gradient, then the mean
  bool computed = false;  // backward is through

 private:
  void prepare() final;
};

class StepOperation final : public Operation {
 public:
  StepOperation(Node& node, const Weights& weights, const Gradient& gradient);
  ~StepOperation() { give_up(); }
  Weights await_resume();

 private:
  Weights weights_;
  Gradient gradient_;
};

class SendOperation final : public Operation {
 public:
  SendOperation(Node& node, MessagePointer message) : Operation(node, Kind::send), message_(std::move(message)) {}
  ~SendOperation() { give_up(); }
  void await_resume() const noexcept {}
  MessagePointer take_message() { return std::move(message_); }
  void* in_flight = nullptr;  // back end's own

 private:
  MessagePointer message_;
};

/// Waits in the node's mailbox.
class MailOperation : public Operation, public Mailbox<MessagePointer>::Receiver {
 public:
  MailOperation(Node& owner, Kind what) : Operation(owner, what) {}
  virtual std::string describe() const = 0;
  MessagePointer message;

 protected:
  ~MailOperation() { give_up(); }

 private:
  void take(MessagePointer item) final;
};

template <class T>
constexpr std::size_t payload_kind() {
  return std::is_same_v<T, Weights> ? 0 : std::is_same_v<T, Gradient> ? 1 : std::is_same_v<T, MembershipNotice> ? 2 : 3;
}
static_assert(std::is_same_v<std::variant_alternative_t<0, Payload>, Weights> &&
              std::is_same_v<std::variant_alternative_t<1, Payload>, Gradient> &&
              std::is_same_v<std::variant_alternative_t<2, Payload>, MembershipNotice> &&
              std::is_same_v<std::variant_alternative_t<3, Payload>, Samples>);

class ReceiveOperationBase : public MailOperation {
 public:
  ReceiveOperationBase(Node& owner, Rank from, std::size_t payload_kind)
      : MailOperation(owner, Kind::receive), from_(from), anyone_(from == anyone), payload_kind_(static_cast<std::uint8_t>(payload_kind)) {}
  std::string describe() const final;

 protected:
  ~ReceiveOperationBase() = default;
  void note_choice() const;
  Peer sender() const;

 private:
  void prepare() final;
  bool wants(const MessagePointer& item) const final {
    return item->payload.index() == payload_kind_ && (from_ == anyone || item->from == from_);
  }
  Rank from_;
  bool anyone_;
  std::uint8_t payload_kind_;
};

template <class T>
class ReceiveOperation final : public ReceiveOperationBase {
 public:
  ReceiveOperation(Node& owner, Rank from) : ReceiveOperationBase(owner, from, payload_kind<T>()) {}
  From<T> await_resume() {
    note_choice();
    return From<T>(std::get<T>(std::move(message->payload)), sender());
  }
};

class SignalOperation final : public Operation {
 public:
  SignalOperation(Node& owner, std::uint64_t number) : Operation(owner, Kind::signal), number_(number) {}
  ~SignalOperation() { give_up(); }
  SyncSignal await_resume() const { return SyncSignal(number_); }
  std::uint64_t number() const { return number_; }
  /// For back ends: this is the signal that came; its number is at least the one waited for.
  void came(std::uint64_t number) { number_ = number; }
  std::string describe() const;

 private:
  std::uint64_t number_;
};

struct Proceed {};
class ProceedOperation final : public Operation {
 public:
  explicit ProceedOperation(Node& owner) : Operation(owner, Kind::proceed) {}
  ~ProceedOperation() { give_up(); }
  Proceed await_resume() const { return {}; }
};

/// Waits until this worker's loader has prepared so many samples, of which `first` is a part, and they lie on its device.
class LoadOperation final : public Operation {
 public:
  LoadOperation(Node& owner, const DrawnBatch& first, std::int64_t samples)
      : Operation(owner, Kind::load), first_(first), samples_(samples) {}
  ~LoadOperation() { give_up(); }
  void await_resume() const noexcept {}
  const DrawnBatch& first() const { return first_; }
  std::int64_t samples() const { return samples_; }

 private:
  DrawnBatch first_;
  std::int64_t samples_;
};

/// The process that drives this worker is busy with something else than computing.
struct HostWork {
  Time span;
  bool ahead = false;          // it began when the last such work was over that the worker has waited for, and the worker with it
  bool loader_stands = false;  // it takes the core on which the loader would prepare batches
};

class HostOperation final : public Operation {
 public:
  HostOperation(Node& owner, const HostWork& work) : Operation(owner, Kind::host), work_(work) {}
  ~HostOperation() { give_up(); }
  void await_resume() const noexcept {}
  const HostWork& work() const { return work_; }

 private:
  HostWork work_;
};

class AllReduceOperationBase : public Operation {
 public:
  AllReduceOperationBase(Node& owner, Payload what) : Operation(owner, Kind::all_reduce), payload(std::move(what)) {}
  Payload payload;  // in: mine; out: the mean

 protected:
  ~AllReduceOperationBase() { give_up(); }

 private:
  void prepare() final;
};

template <class T>
class AllReduceOperation final : public AllReduceOperationBase {
 public:
  AllReduceOperation(Node& owner, T mine) : AllReduceOperationBase(owner, Payload(std::move(mine))) {}
  T await_resume() { return std::get<T>(std::move(payload)); }
};

class PublishOperation final : public Operation {
 public:
  PublishOperation(Node& node, const Weights& weights);
  ~PublishOperation() { give_up(); }
  Weights await_resume();
  /// Stamped: version and progress are those of the new version.
  const Weights& weights() const { return weights_; }
  /// What went into it.
  const Contributions& made() const { return made_; }

 private:
  Weights weights_;
  Contributions made_;
};

/// A replay's choices do not fit the scheme: they are of another run.
struct ReplayMismatch : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A scheme asks for what this run does not have: who asks, for what, and what would be right.
struct UnsupportedOperation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Room for one operation, since a process mostly waits in one at a time; others, and large ones, are allocated.
class OperationSlot {
 public:
  template <class T, class... Arguments>
  T* make(Arguments&&... arguments) {
    if constexpr (sizeof(T) <= sizeof(bytes_)) {
      if (!used_) {
        T* made = new (bytes_) T(std::forward<Arguments>(arguments)...);
        used_ = true;
        return made;
      }
    }
    return new T(std::forward<Arguments>(arguments)...);
  }
  template <class T>
  void destroy(T* operation) {
    if (static_cast<void*>(operation) != static_cast<void*>(bytes_)) {
      delete operation;
      return;
    }
    operation->~T();
    used_ = false;
  }

 private:
  alignas(8) std::byte bytes_[96];
  bool used_ = false;
};

/// Of the operation's node.
OperationSlot& slot_of(const Operation& operation);

/// What a scheme awaits: owns the operation.
template <class T>
class [[nodiscard]] Pending {
 public:
  template <class... Arguments>
  Pending(OperationSlot& slot, Node& node, Arguments&&... arguments)
      : operation_(slot.make<T>(node, std::forward<Arguments>(arguments)...)) {}
  Pending(Pending&& o) noexcept : operation_(std::exchange(o.operation_, nullptr)) {}
  Pending& operator=(Pending&&) = delete;
  ~Pending() {
    if (operation_) slot_of(*operation_).destroy(operation_);
  }
  T& operator*() const { return *operation_; }
  T* operator->() const { return operation_; }
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> waiter) { return operation_->await_suspend(waiter); }
  decltype(auto) await_resume() { return operation_->await_resume(); }

 private:
  T* operation_;
};

/// Waits for whichever of two operations completes first and gives up the other at that instant. The second wins ties at the
/// start: put what interrupts there. The choice is recorded; a replay forces it.
template <class A, class B>
class FirstOf final : OperationParent {
 public:
  FirstOf(Pending<A>&& a, Pending<B>&& b) : a_(std::move(a)), b_(std::move(b)) {}
  FirstOf(const FirstOf&) = delete;
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> waiter);
  using Result = std::variant<decltype(std::declval<A&>().await_resume()), decltype(std::declval<B&>().await_resume())>;
  Result await_resume();

 private:
  /// The branch that a replay decides against, unless it waits for a message or a signal: beginning to wait takes no time, and would take
  /// the message.
  static void begin_loser(Operation& operation) {
    if (operation.kind() == Operation::Kind::receive || operation.kind() == Operation::Kind::signal) return;
    operation.complete_unheard();
    operation.begin();
  }
  void completed(Operation& operation) override {
    winner_ = &operation;
    if (winner_ == &*a_)
      b_->give_up();
    else
      a_->give_up();
  }
  Pending<A> a_;
  Pending<B> b_;
  Operation* winner_ = nullptr;
};

template <class A, class B>
FirstOf<A, B> first_of(Pending<A> a, Pending<B> b) {
  return FirstOf<A, B>(std::move(a), std::move(b));
}

}  // namespace straggler
