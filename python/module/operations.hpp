// Operations that a generator yields, and the coroutine that awaits them: a process written as a Python generator.
#pragma once
#include <coroutine>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "python/module/scope.hpp"
#include "sim/training/first_of.hpp"

namespace straggler::python {

class Life;
class Rounds;

/// `kept`: what the operation refers to.
template <class T, class Kept = std::monostate>
class AwaitedOperation final : public Awaited {
 public:
  explicit AwaitedOperation(Pending<T> pending, Kept kept = {}) : kept_(std::move(kept)), pending_(std::move(pending)) {}
  bool await_ready() override { return pending_.await_ready(); }
  bool await_suspend(std::coroutine_handle<> waiter) override { return pending_.await_suspend(waiter); }
  py::object result(Scope& scope) override {
    if constexpr (std::is_void_v<decltype(pending_.await_resume())>) {
      pending_.await_resume();
      return py::none();
    } else {
      return to_python(scope, pending_.await_resume());
    }
  }
  Operation* operation() override { return &*pending_; }

 private:
  [[no_unique_address]] Kept kept_;
  Pending<T> pending_;
};

template <class T>
class AwaitedSubroutine final : public Awaited {
 public:
  explicit AwaitedSubroutine(Task<T> task) : task_(wrapped(std::move(task))) {}
  bool await_suspend(std::coroutine_handle<>) override { return false; }
  py::object result(Scope& scope) override { return outcome_->to_python(scope); }
  Subroutine* subroutine() override { return &task_; }
  void subroutine_over(std::unique_ptr<SubroutineValue> outcome) override { outcome_ = std::move(outcome); }

 private:
  class Value final : public SubroutineValue {
   public:
    explicit Value(T value) : value_(std::move(value)) {}
    py::object to_python(Scope& scope) override { return python::to_python(scope, std::move(value_)); }

   private:
    T value_;
  };
  static Subroutine wrapped(Task<T> task) {
    T value = co_await std::move(task);
    co_return std::make_unique<Value>(std::move(value));
  }
  Subroutine task_;
  std::unique_ptr<SubroutineValue> outcome_;
};

/// An operation as a Python object. Belongs to one life and is awaited once.
class OperationObject final : public Linked {
 public:
  OperationObject(Life& life, std::unique_ptr<Awaited> what);
  ~OperationObject();
  /// Throws std::runtime_error if it has ended, is being awaited or belongs to another life than `life`.
  Awaited& awaited(const Life& life) const;
  /// The same, and it is awaited from now on.
  Awaited& wait(const Life& life);
  Life* life() const { return life_; }
  /// Null: it is over.
  Awaited* what() const { return what_.get(); }
  std::unique_ptr<Awaited> take();
  /// The life is over.
  void drop();
  /// Starts it now, to be awaited later. Throws std::invalid_argument if it cannot be in flight.
  void begin();
  bool begun() const { return begun_; }
  void may_begin() { may_begin_ = true; }

 private:
  Life* life_;  // null: it was awaited, or the life has ended
  std::unique_ptr<Awaited> what_;
  bool may_begin_ = false, begun_ = false, waits_ = false;
};

/// A life of a node: its generator. Lives in the frame of the coroutine that drives it.
class Life {
 public:
  enum class Role { worker, server, aggregator };
  /// Makes the generator. Throws py::error_already_set.
  Life(Node& node, std::shared_ptr<Scope> scope, Role role);
  ~Life();
  Life(const Life&) = delete;

  Node& node() const { return node_; }
  Scope& scope() const { return *scope_; }
  /// Its generator runs, or a function that one of its operations calls.
  bool has_turn() const { return scope_->is_here() && scope_->is_turn_of(*this); }
  Linked& operations() { return operations_; }
  Linked& push_weights() { return push_weights_; }
  /// The rounds of clients that a server or an aggregator holds; made on first use.
  Rounds& rounds();
  /// An operation was dropped before it began or was awaited: a `yield` is missing.
  void note_forgotten() { forgotten_ = true; }
  /// Sends the generator the awaited result; returns its next awaitable. Throws py::error_already_set.
  Awaited& next();

 private:
  py::object take_result();
  [[noreturn]] void refuse(PyObject* type, const std::string& text);
  Node& node_;
  std::shared_ptr<Scope> scope_;
  Kept object_;  // the node, as Python sees it
  Kept generator_;
  Kept current_;         // the operation that is being awaited
  Linked operations_;    // head
  Linked push_weights_;  // head
  std::unique_ptr<Rounds> rounds_;
  bool forgotten_ = false;
};

/// A node as Python sees it, until its life is over.
class NodeObject {
 public:
  explicit NodeObject(Life& life) : life_(&life) {}
  /// Throws std::runtime_error if the life is over, or does not have its turn.
  Life& life() const;
  Node& node() const { return life().node(); }
  Scope& scope() const { return life().scope(); }
  void end() { life_ = nullptr; }
  std::string text() const;
  bool drew = false;     // a batch has begun
  bool invited = false;  // an invitation was asked for

 private:
  Life* life_;
};

/// A share of push-sum weights as a Python object of one life. When the life ends, its shares return to the run's pool, even if Python
/// still holds the variables.
class PushWeightObject final : public Linked {
 public:
  PushWeightObject(Life& life, PushWeight&& share) : life_(&life), share_(std::make_unique<PushWeight>(std::move(share))) {
    link(life.push_weights());
  }
  ~PushWeightObject() {
    if (life_ && !life_->scope().is_here()) life_->scope().leave(std::move(share_));
  }
  /// Throws std::runtime_error if the life is over, or does not have its turn.
  Life& life() const {
    if (!life_) throw std::runtime_error("this push-sum weight is of a life that is over");
    if (!life_->has_turn()) throw std::runtime_error("a push-sum weight is for its own generator, on the thread of the run");
    return *life_;
  }
  PushWeight& weight() const {
    life();
    return *share_;
  }
  /// The life is over.
  void drop() {
    unlink();
    life_ = nullptr;
    share_.reset();
  }

 private:
  Life* life_;
  std::unique_ptr<PushWeight> share_;
};

template <class T>
std::unique_ptr<OperationObject> operation(NodeObject& node, Pending<T> pending, bool may_begin = may_be_in_flight<T>) {
  auto object = std::make_unique<OperationObject>(node.life(), std::make_unique<AwaitedOperation<T>>(std::move(pending)));
  if (may_begin) object->may_begin();
  return object;
}
template <class T, class Kept>
std::unique_ptr<OperationObject> operation_with(NodeObject& node, Kept kept, Pending<T> pending) {
  return std::make_unique<OperationObject>(node.life(), std::make_unique<AwaitedOperation<T, Kept>>(std::move(pending), std::move(kept)));
}
template <class T>
std::unique_ptr<OperationObject> operation(NodeObject& node, Task<T> task) {
  return std::make_unique<OperationObject>(node.life(), std::make_unique<AwaitedSubroutine<T>>(std::move(task)));
}

/// Races two operations of one life. `keeps_first`: the first one, which has begun, stays in flight if it loses.
std::unique_ptr<OperationObject> first_of_two(const py::object& a, const py::object& b, bool keeps_first);

/// The coroutine of a process written as a generator.
Process drive(Node& node, std::shared_ptr<Scope> scope, Life::Role role);

void define_operations(py::module_& module);

}  // namespace straggler::python
