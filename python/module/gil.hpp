// The interpreter's lock, on threads of the interpreter and on others.
#pragma once
#include <pybind11/pybind11.h>

namespace straggler::python {

namespace py = pybind11;

/// The end of the interpreter, while daemon threads still simulate. CPython ends a thread that asks for the lock then, by unwinding its
/// stack, which no destructor survives; and the program's statics go while it works. So a thread asks for the lock through `before_lock`,
/// which stops it for good once the end is near; and the end waits, some seconds at most, until no thread holds the lock or asks for it,
/// and until each call has stopped (its threads stop as by Ctrl-C, or where they ask for the lock).
class InterpreterEnd {
 public:
  /// It has come, and for this thread: not for the one that ends the interpreter.
  static bool is_near();
  /// Called by the interpreter before it ends, with the lock held.
  static void begin();
  /// Before a thread asks for the lock. Returns never if the end is near and this thread does not hold the lock.
  static void before_lock();
  /// After it has given the lock back.
  static void after_lock();
  /// A thread that Python did not start begins and ends to use the lock.
  static void thread_begins();
  static void thread_ends();

 private:
  friend class Released;
  static void call_begins();  // throws std::runtime_error once it has come
  static void call_ends();
};

/// Holds the lock. The first instance on a thread unknown to Python registers the thread until it ends, so that later ones need not.
class Gil {
 public:
  Gil() : state_(entered()) {}
  ~Gil() {
    PyGILState_Release(state_);
    InterpreterEnd::after_lock();
  }
  Gil(const Gil&) = delete;

 private:
  static PyGILState_STATE entered() {
    InterpreterEnd::before_lock();
    if (!PyGILState_GetThisThreadState()) make_known();
    return PyGILState_Ensure();
  }
  static void make_known() {
    struct Known {
      PyGILState_STATE state = PyGILState_Ensure();
      PyThreadState* thread = PyEval_SaveThread();
      Known() { InterpreterEnd::thread_begins(); }
      ~Known() {
        if (!InterpreterEnd::is_near()) {  // else the interpreter frees what it has of all threads
          InterpreterEnd::before_lock();
          PyEval_RestoreThread(thread);
          PyGILState_Release(state);
          InterpreterEnd::after_lock();
        }
        InterpreterEnd::thread_ends();
      }
    };
    static thread_local const Known known;
  }
  PyGILState_STATE state_;
};

/// A call of Python's works without the lock.
class Released {
 public:
  /// Throws std::runtime_error where the interpreter ends.
  Released() {
    InterpreterEnd::call_begins();
    thread_ = PyEval_SaveThread();
  }
  ~Released() {
    InterpreterEnd::before_lock();
    PyEval_RestoreThread(thread_);
    InterpreterEnd::after_lock();
    InterpreterEnd::call_ends();
  }
  Released(const Released&) = delete;

 private:
  PyThreadState* thread_;
};

/// A reference that is kept where the lock is not held.
class Kept {
 public:
  Kept() = default;
  explicit Kept(py::object object) : object_(object.release().ptr()) {}
  Kept(Kept&& o) noexcept : object_(std::exchange(o.object_, nullptr)) {}
  Kept& operator=(Kept&& o) noexcept {
    std::swap(object_, o.object_);
    return *this;
  }
  ~Kept() {
    if (!object_ || !Py_IsInitialized()) return;
    const Gil gil;
    Py_DECREF(object_);
  }
  /// With the lock held.
  py::handle get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

void define_end(py::module_& module);

}  // namespace straggler::python
