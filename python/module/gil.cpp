#include "python/module/gil.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

namespace straggler::python {

namespace {
std::atomic<bool> end_is_near = false;
pthread_t ends_it;                 // written before `end_is_near`
std::atomic<int> using_lock = 0;   // threads that hold the lock or ask for it, once for each Gil
std::atomic<int> calls = 0;        // calls that work without the lock
std::atomic<int> threads = 0;      // threads that Python did not start
std::atomic<int> stopped = 0;      // threads that stand still
std::atomic<int> own_stopped = 0;  // of these, threads that Python did not start
thread_local bool is_own = false;
}  // namespace

bool InterpreterEnd::is_near() { return end_is_near && !pthread_equal(ends_it, pthread_self()); }

// `begin` sets `end_is_near` and then reads `using_lock`; a thread adds to `using_lock` and then reads `end_is_near`. One of them sees the
// other.
void InterpreterEnd::before_lock() {
  ++using_lock;
  if (!is_near() || (Py_IsInitialized() && PyGILState_Check())) return;
  --using_lock;
  if (is_own) ++own_stopped;
  ++stopped;
  for (;;) pause();
}

void InterpreterEnd::after_lock() { --using_lock; }

void InterpreterEnd::thread_begins() {
  is_own = true;
  ++threads;
}

void InterpreterEnd::thread_ends() { --threads; }

void InterpreterEnd::call_begins() {
  if (end_is_near) throw std::runtime_error("the interpreter is ending, and nothing can be simulated any longer; join the thread before");
  ++calls;
}

void InterpreterEnd::call_ends() { --calls; }

void InterpreterEnd::begin() {
  ends_it = pthread_self();
  end_is_near = true;
  const py::gil_scoped_release released;
  const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  // A call whose other threads stand still waits for them without end. It counts as stopped by one of them.
  const auto all_stopped = [] { return using_lock == 0 && stopped >= calls && own_stopped >= threads; };
  while (!all_stopped() && std::chrono::steady_clock::now() < last) std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

void define_end(py::module_&) { py::module_::import("atexit").attr("register")(py::cpp_function(&InterpreterEnd::begin)); }

}  // namespace straggler::python
