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
pthread_t ends_it;                         // written before `end_is_near`
std::atomic<int> calls = 0, standing = 0;  // calls that work without the lock; threads that stand still
}  // namespace

bool InterpreterEnd::is_near() { return end_is_near && !pthread_equal(ends_it, pthread_self()); }

void InterpreterEnd::stand_still_if_near() {
  if (!is_near() || (Py_IsInitialized() && PyGILState_Check())) return;
  ++standing;
  for (;;) pause();
}

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
  while (standing < calls && std::chrono::steady_clock::now() < last) std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

void define_end(py::module_&) { py::module_::import("atexit").attr("register")(py::cpp_function(&InterpreterEnd::begin)); }

}  // namespace straggler::python
