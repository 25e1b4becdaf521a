// The interpreter's lock, on threads of the interpreter and on others.
#pragma once
#include <pybind11/pybind11.h>

namespace straggler::python {

namespace py = pybind11;

/// Holds the lock. The first instance on a thread unknown to Python registers the thread until it ends, so that later ones need not.
class Gil {
 public:
  Gil() : state_(entered()) {}
  ~Gil() { PyGILState_Release(state_); }
  Gil(const Gil&) = delete;

 private:
  static PyGILState_STATE entered() {
    if (!PyGILState_GetThisThreadState()) make_known();
    return PyGILState_Ensure();
  }
  static void make_known() {
    struct Known {
      PyGILState_STATE state = PyGILState_Ensure();
      PyThreadState* thread = PyEval_SaveThread();
      ~Known() {
        PyEval_RestoreThread(thread);
        PyGILState_Release(state);
      }
    };
    static thread_local const Known known;
  }
  PyGILState_STATE state_;
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

}  // namespace straggler::python
