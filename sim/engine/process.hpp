// Coroutines: a Process is the whole life of a worker or server, a Task<T> a subroutine of one.
//
// Destroying a Process or Task destroys its frame, and with it every operation that waits in it: an awaiter is part of the awaiting frame
// and removes itself from queues, mailboxes and the network when it dies. This cancels a process.
//
// g++ 12 destroys capturing lambdas and aggregate temporaries inside a co_await expression twice: the operand of co_await is
// one call whose arguments are named variables or values built by constructors (tests/tree/check_tree refuses others).
#pragma once
#include <coroutine>
#include <cstdint>
#include <exception>
#include <optional>
#include <utility>

#include "sim/base/pool.hpp"

namespace straggler {

/// Notified when a process ended, by itself or by an exception. Called from inside the frame: it must not destroy it.
class ProcessWatcher {
 public:
  virtual void process_ended(std::uint32_t id, std::exception_ptr failure) noexcept = 0;

 protected:
  ~ProcessWatcher() = default;
};

class [[nodiscard]] Process {
 public:
  struct promise_type : pool::PooledFrame {
    ProcessWatcher* watcher = nullptr;
    std::uint32_t id = 0;  // the watcher's name for it
    bool started = false;
    Process get_return_object() { return Process(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }  // its owner destroys it, never from inside
    void return_void() noexcept {
      if (watcher) watcher->process_ended(id, nullptr);
    }
    void unhandled_exception() noexcept {
      if (watcher) watcher->process_ended(id, std::current_exception());
    }
  };

  Process() = default;
  explicit Process(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Process(Process&& o) noexcept : handle_(std::exchange(o.handle_, {})) {}
  Process& operator=(Process&& o) noexcept {
    if (this != &o) {
      reset();
      handle_ = std::exchange(o.handle_, {});
    }
    return *this;
  }
  ~Process() { reset(); }

  explicit operator bool() const { return static_cast<bool>(handle_); }
  bool done() const { return handle_.done(); }
  void watch(ProcessWatcher& watcher, std::uint32_t id) {
    handle_.promise().watcher = &watcher;
    handle_.promise().id = id;
  }
  /// No effect if it has been started.
  void start() {
    const auto handle = handle_;  // the process may be moved meanwhile
    if (!std::exchange(handle.promise().started, true)) handle.resume();
  }
  std::coroutine_handle<> handle() const { return handle_; }
  /// Cancels it. The handle is set to null first, so that destructors see no process.
  void reset() {
    if (auto handle = std::exchange(handle_, {})) handle.destroy();
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

/// Of a Task<T>.
template <class T>
struct TaskResult {
  std::optional<T> value;
  void return_value(T result) { value.emplace(std::move(result)); }
  T taken() { return std::move(*value); }
};
template <>
struct TaskResult<void> {
  void return_void() noexcept {}
  void taken() noexcept {}
};

template <class T>
class [[nodiscard]] Task {
 public:
  struct promise_type : pool::PooledFrame, TaskResult<T> {
    std::coroutine_handle<> parent;
    std::exception_ptr failure;
    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct Return {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> handle) noexcept { return handle.promise().parent; }
      void await_resume() noexcept {}
    };
    Return final_suspend() noexcept { return {}; }
    void unhandled_exception() { failure = std::current_exception(); }
  };

  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Task(Task&& o) noexcept : handle_(std::exchange(o.handle_, {})) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> parent) {
    handle_.promise().parent = parent;
    return handle_;
  }
  T await_resume() {
    if (handle_.promise().failure) std::rethrow_exception(handle_.promise().failure);
    return handle_.promise().taken();
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

}  // namespace straggler
