// Runs of scenarios, checks and tables for a session in Python.
#pragma once
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <thread>

#include "python/module/errands.hpp"
#include "python/module/schemes.hpp"
#include "scenarios/experiment/experiment.hpp"

namespace straggler::python {

/// A scenario from Python: a file, or a text with a name for messages, and changes.
struct Source {
  std::string path, text, name;  // a path or a text
  std::vector<std::string> sets;
  std::optional<std::uint64_t> seed;
  bool timing_only = false;
};
Source source_of(const py::dict& given);
/// Throws ScenarioErrors. The lock need not be held.
Scenario read(const Source& source);

/// Polls Python for interrupts (Ctrl-C) and for its end, and reports progress to it.
class Watch {
 public:
  /// `tell`: a function, or None. With the lock held.
  explicit Watch(const py::object& tell) : tell_(tell.is_none() ? Kept() : Kept(tell)) {}
  /// True: stop. `arguments()` makes the arguments of `tell`. On any thread, without the lock; one thread at a time.
  template <class Arguments>
  bool look(const Arguments& arguments) {
    const auto now = std::chrono::steady_clock::now();
    if (failure_ || now < next_look_) return failure_ != nullptr;
    if (InterpreterEnd::is_near()) return true;
    next_look_ = now + std::chrono::milliseconds(50);
    const Gil gil;
    try {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      if (tell_ && now >= next_tell_) {
        next_tell_ = now + std::chrono::milliseconds(200);
        tell_.get()(*arguments());
      }
    } catch (...) {
      failure_ = std::current_exception();
    }
    return failure_ != nullptr;
  }
  /// Throws the exception that stopped it, if any.
  void raise() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  Kept tell_;
  std::exception_ptr failure_;
  std::chrono::steady_clock::time_point next_look_{}, next_tell_{};
};

/// Runs `body` on a thread of its own, while this thread handles Ctrl-C: it sets `stop`, and `body` must end soon; and runs the errands of
/// other threads. `arguments()` makes the watch's progress report. The lock is held on entry and return. Throws the exception that stopped
/// it, or that of `body`.
template <class Arguments, class Body>
void run_beside(Watch& watch, std::atomic<bool>& stop, Errands& errands, const Arguments& arguments, const Body& body) {
  std::exception_ptr failure;
  {
    const Released released;
    std::thread thread([&] {
      try {
        body();
      } catch (...) {
        failure = std::current_exception();
      }
      errands.finish();
    });
    for (bool ended = false; !ended;) {
      ended = errands.serve(std::chrono::milliseconds(50));
      if (watch.look(arguments) || errands.ending()) stop = true;
    }
    thread.join();
  }
  watch.raise();
  if (errands.ending()) std::rethrow_exception(errands.ending());
  if (failure) std::rethrow_exception(failure);
}

void define_runs(py::module_& module);
void define_checks(py::module_& module);
void define_points(py::module_& module);
void define_errors(py::module_& module);

}  // namespace straggler::python
