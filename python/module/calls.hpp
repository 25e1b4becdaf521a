// How Python calls the module: constructors, arguments of wrong types, types that nobody can break.
//
// pybind11 gives memory without a value to an object that `__new__` has made and `__init__` has not seen, and to one whose `__class__` was
// changed. So types are closed: they have no subclasses and cannot be changed, and an object comes from the module or from a constructor
// that makes its value.
#pragma once
#include <pybind11/pybind11.h>

#include <string>
#include <utility>

namespace straggler::python {

namespace py = pybind11;

/// Type(...) calls `make`, which returns a T.
template <class T, class Make, class... Extra>
void def_constructor(py::class_<T>& type, Make make, const Extra&... extra) {
  const std::string name = py::str(type.attr("__name__"));
  type.attr("_make") = py::cpp_function(std::move(make), py::name(name.c_str()), py::scope(type), extra...);
}

/// The argument as that type. Throws py::type_error: "WHAT is VALUE; it must be WANTED".
[[noreturn]] void refuse_argument(const char* what, py::handle value, const char* wanted);
template <class T>
T& argument(py::handle value, const char* what, const char* wanted) {
  if (!py::isinstance<T>(value)) refuse_argument(what, value, wanted);
  return value.cast<T&>();
}
double number_argument(py::handle value, const char* what);
std::string text_argument(py::handle value, const char* what);

/// The value's repr, at most 80 characters. Throws nothing.
std::string shown(py::handle value);

/// Called once, when all is defined: closes the types, and makes errors of calls one line.
void close_module(py::module_& module);

}  // namespace straggler::python
