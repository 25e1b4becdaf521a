// The interpreter's lock, on threads of the interpreter and on others.
#pragma once
#include <pybind11/pybind11.h>

namespace straggler::python {

namespace py = pybind11;

/// The end of the interpreter, while daemon threads still simulate. CPython ends a thread that asks for the lock then, by unwinding its
/// stack, which no destructor survives; and the program's statics go while it works. So the end waits, some seconds at most, until each
/// call has stopped, as by Ctrl-C, and its thread stands still where it would ask for the lock.
class InterpreterEnd {
 public:
  /// It has come, and for this thread: not for the one that ends the interpreter.
  static bool is_near();
  /// Called by the interpreter before it ends, with the lock held.
  static void begin();
  /// Returns never if it is near and this thread does not hold the lock.
  static void stand_still_if_near();

 private:
  friend class Released;
  static void call_begins();  // throws std::runtime_error once it has come
  static void call_ends();
};

/// Holds the lock. The first instance on a thread unknown to Python registers the thread until it ends, so that later ones need not.
class Gil {
 public:
  Gil() : state_(entered()) {}
  ~Gil() { PyGILState_Release(state_); }
  Gil(const Gil&) = delete;

 private:
  static PyGILState_STATE entered() {
    InterpreterEnd::stand_still_if_near();
    if (!PyGILState_GetThisThreadState()) make_known();
    return PyGILState_Ensure();
  }
  static void make_known() {
    struct Known {
      PyGILState_STATE state = PyGILState_Ensure();
      PyThreadState* thread = PyEval_SaveThread();
      ~Known() {
        if (InterpreterEnd::is_near()) return;  // which frees what it has of all threads
        PyEval_RestoreThread(thread);
        PyGILState_Release(state);
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
    InterpreterEnd::stand_still_if_near();
    PyEval_RestoreThread(thread_);
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
