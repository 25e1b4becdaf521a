// The operations that a scheme awaits, and their ownership.
//
// The awaiting coroutine's frame owns the operation, through a Pending. The node has room for one, beside its own data. When the frame
// dies, or when the operation loses a first_of, the operation removes itself from every queue: nothing refers to it afterwards. A completed
// operation wakes its coroutine through the back end's queue.
#pragma once
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "sim/base/prefetch.hpp"
#include "sim/engine/event_queue.hpp"

namespace straggler {

class Participant;
class Operation;

/// A first_of: the side of it that its operations see.
class OperationParent {
 public:
  virtual void completed(Operation& operation) = 0;
  std::coroutine_handle<> waiter() const { return waiter_; }

 protected:
  ~OperationParent() = default;
  std::coroutine_handle<> waiter_;
};

class Operation : public Event {
 public:
  enum class Kind : std::uint8_t {
    gradient,
    averaged_gradient,
    step,
    send,
    receive,
    signal,
    proceed,
    all_reduce,
    all_gather,
    reduce_scatter,
    slice,
    shard,
    publish,
    load,
    host,
    cell_read,
    cell_step,
    timer
  };
  enum class State : std::uint8_t { idle, pending, woken, done };

  Operation(Participant& owner, Kind what) : kind_(what), node_(&owner) {}
  ~Operation() = default;

  [[gnu::always_inline]] bool await_suspend(std::coroutine_handle<> waiter) {
    set_waiter(waiter);
    return !begin();
  }
  /// True: done, at once or since it began earlier (Node::begin).
  [[gnu::always_inline]] inline bool begin();
  /// Whether or not it has begun: afterwards nothing refers to it. Derived destructors call it.
  [[gnu::always_inline]] inline void give_up() noexcept;
  /// For back ends: it is done; the waiter resumes through the queue at this instant.
  void complete();
  /// The same for a back end that already holds the queue.
  void complete(EventQueue& queue) {
    settle();
    queue.at_once(*this);
  }
  /// For back ends, called from this operation's own event: the waiter resumes at once.
  void complete_from_event() {
    settle();
    resume();
  }
  /// For back ends: nothing can change the outcome any more (first_of cancels the other branch), but the waiter resumes later,
  /// when this operation's event comes, which the back end schedules.
  void settle() {
    if (in_first_of_) parent_->completed(*this);
    state_ = State::woken;
  }
  /// Null: nobody waits.
  void set_waiter(std::coroutine_handle<> waiter) {
    waiter_ = waiter;
    in_first_of_ = false;
  }
  void set_parent(OperationParent& parent) {
    parent_ = &parent;
    in_first_of_ = true;
  }
  /// In a first_of that a replay decides for the other branch: it takes its time, and completes silently.
  void complete_unheard();
  bool unheard() const { return unheard_; }
  Participant& node() const { return *node_; }
  /// For back ends: its coroutine will soon be resumed.
  void prefetch_waiter() const noexcept {
    if (in_first_of_) return;
    const char* const frame = static_cast<const char*>(waiter_.address());
    prefetch_line(frame);
    prefetch_line(frame + 64);
    prefetch_line(frame + 128);
  }
  Kind kind() const { return kind_; }
  State state() const { return state_; }

 private:
  void happen() final;
  void resume() {
    state_ = State::done;
    const std::coroutine_handle<> waiter = in_first_of_ ? parent_->waiter() : waiter_;
    if (waiter) waiter.resume();  // this operation may be gone after it; without a waiter it was in flight
  }
  /// Called before it starts, for kinds that need preparation: a forced choice is looked up here.
  virtual void prepare() {}

  Kind kind_;  // first: these fit in the padding at the end of Event
  State state_ : 4 = State::idle;
  bool unheard_ : 1 = false;
  bool in_first_of_ : 1 = false;  // parent_, not waiter_

 protected:
  bool prepares_ : 1 = false;  // prepare() is to be called
  std::uint16_t count_ = 0;    // for kinds that count something

 private:
  Participant* node_;
  union {
    std::coroutine_handle<> waiter_ = nullptr;
    OperationParent* parent_;
  };
};

/// Room for one operation, since a process mostly waits in one at a time; others, and large ones, are allocated.
class OperationSlot {
 public:
  static constexpr std::size_t size = 88;

  // What is made and destroyed with every message is inlined.
  template <class T, class... Arguments>
  [[gnu::always_inline]] T* make(Arguments&&... arguments) {
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
  [[gnu::always_inline]] void destroy(T* operation) {
    if (static_cast<void*>(operation) != static_cast<void*>(bytes_)) {
      delete operation;
      return;
    }
    operation->~T();
    used_ = false;
  }

 private:
  alignas(8) std::byte bytes_[size];
  bool used_ = false;
};

/// Of the operation's node.
OperationSlot& slot_of(const Operation& operation);

/// A scheme awaits a Pending, which owns the operation.
template <class T>
class [[nodiscard]] Pending {
 public:
  template <class... Arguments>
  [[gnu::always_inline]] Pending(OperationSlot& slot, Participant& node, Arguments&&... arguments)
      : operation_(slot.make<T>(node, std::forward<Arguments>(arguments)...)) {}
  Pending(Pending&& o) noexcept : operation_(std::exchange(o.operation_, nullptr)) {}
  Pending& operator=(Pending&&) = delete;
  [[gnu::always_inline]] ~Pending() {
    if (operation_) slot_of(*operation_).destroy(operation_);
  }
  T& operator*() const { return *operation_; }
  T* operator->() const { return operation_; }
  bool await_ready() const noexcept { return operation_->state() == Operation::State::done; }
  [[gnu::always_inline]] bool await_suspend(std::coroutine_handle<> waiter) { return operation_->await_suspend(waiter); }
  [[gnu::always_inline]] decltype(auto) await_resume() { return operation_->await_resume(); }

 private:
  T* operation_;
};

}  // namespace straggler
