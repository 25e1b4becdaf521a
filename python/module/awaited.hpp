// Awaitables of a generator.
#pragma once
#include <coroutine>
#include <memory>

#include "python/module/gil.hpp"
#include "sim/engine/process.hpp"
#include "sim/training/operation.hpp"

namespace straggler::python {

class Scope;

/// The result of a subroutine of several operations.
class SubroutineValue {
 public:
  virtual ~SubroutineValue() = default;
  virtual py::object to_python(Scope& scope) = 0;
};
using Subroutine = Task<std::unique_ptr<SubroutineValue>>;

/// One thing to wait for: an operation, the first of two, or a subroutine.
class Awaited {
 public:
  virtual ~Awaited() = default;
  /// Called before it is awaited, with the lock held. Throws std::runtime_error where a part of it is over.
  virtual void require_ready() const {}
  virtual bool await_ready() { return false; }
  virtual bool await_suspend(std::coroutine_handle<> waiter) = 0;
  /// Called once, when it has ended, with the lock held.
  virtual py::object result(Scope& scope) = 0;
  /// Null if it is not an operation, or cannot be part of another.
  virtual Operation* operation() { return nullptr; }
  virtual Subroutine* subroutine() { return nullptr; }
  virtual void subroutine_over(std::unique_ptr<SubroutineValue>) {}
};

}  // namespace straggler::python
