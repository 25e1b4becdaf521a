#include "python/module/calls.hpp"

#include <algorithm>
#include <stdexcept>

#include "sim/training/payload.hpp"

namespace straggler::python {

namespace {

PyCFunctionWithKeywords pybinds_call = nullptr;  // by which pybind11 is called, for any function

/// pybind11 lists the signatures of a function that is called with other types; straggler._errors says in one line what is wrong.
PyObject* call(PyObject* self, PyObject* arguments, PyObject* named) {
  PyObject* const result = pybinds_call(self, arguments, named);
  if (result || !PyErr_ExceptionMatches(PyExc_TypeError)) return result;
  try {
    py::error_already_set error;
    const std::string text = py::str(error.value());
    const std::size_t name_ends = text.find("(): incompatible function arguments");
    if (name_ends == std::string::npos) {
      error.restore();
      return nullptr;
    }
    const py::object line = py::module_::import("straggler._errors")
                                .attr("of_call")(text.substr(0, name_ends), text, py::handle(arguments),
                                                 named ? py::reinterpret_borrow<py::object>(named) : py::object(py::dict()));
    PyErr_SetObject(PyExc_TypeError, line.ptr());
  } catch (py::error_already_set& error) {
    error.restore();
  }
  return nullptr;
}

void take_over(py::handle function) {
  PyObject* bare = function.ptr();
  if (PyInstanceMethod_Check(bare)) bare = PyInstanceMethod_GET_FUNCTION(bare);
  if (!bare || !PyCFunction_Check(bare)) return;
  PyMethodDef* const definition = reinterpret_cast<PyCFunctionObject*>(bare)->m_ml;
  const auto own = reinterpret_cast<PyCFunctionWithKeywords>(reinterpret_cast<void (*)()>(definition->ml_meth));
  if (own == call) return;
  if (pybinds_call && own != pybinds_call) throw std::logic_error("pybind11 has more than one way of being called");
  pybinds_call = own;
  definition->ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call));
}

PyObject* make(PyTypeObject* type, PyObject* arguments, PyObject* named) {
  PyObject* const function = type->tp_dict ? PyDict_GetItemString(type->tp_dict, "_make") : nullptr;
  if (function) return PyObject_Call(function, arguments, named);
  const std::string name = type->tp_name;
  return PyErr_Format(PyExc_TypeError, "straggler.%s is made by a run, not by a call", name.substr(name.rfind('.') + 1).c_str());
}

int made_already(PyObject*, PyObject*, PyObject*) { return 0; }

void close(py::handle type) {
  auto* const known = reinterpret_cast<PyTypeObject*>(type.ptr());
  for (const auto& [name, member] : py::reinterpret_borrow<py::dict>(known->tp_dict)) {
    if (Py_IS_TYPE(member.ptr(), &PyProperty_Type)) {
      for (const char* const accessor : {"fget", "fset"}) take_over(py::object(member.attr(accessor)));
    } else {
      take_over(member);
    }
  }
  // `__new__` as an attribute; tp_new alone also refuses that of a base.
  const py::object made = type.attr("__dict__").contains("_make") ? py::object(type.attr("_make")) : py::object();
  const py::str name = type.attr("__name__");
  type.attr("__new__") = py::staticmethod(py::cpp_function(
      [made, name](const py::args& arguments, const py::kwargs& named) -> py::object {
        if (!made) throw py::type_error("straggler." + std::string(name) + " is made by a run, not by a call");
        return made(*arguments[py::slice(1, py::ssize_t(arguments.size()), 1)], **named);  // without the type
      },
      py::name("__new__")));
  known->tp_new = make;
  known->tp_init = made_already;
  known->tp_flags = (known->tp_flags & ~Py_TPFLAGS_BASETYPE) | Py_TPFLAGS_IMMUTABLETYPE;
  PyType_Modified(known);
}

}  // namespace

std::string shown(py::handle value) {
  try {
    const auto start = py::reinterpret_steal<py::str>(PyUnicode_Substring(py::repr(value).ptr(), 0, 80));
    if (!start) throw py::error_already_set();
    std::string text = start;
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
  } catch (py::error_already_set&) {
    return std::string("an object of ") + Py_TYPE(value.ptr())->tp_name;
  }
}

void refuse_argument(const char* what, py::handle value, const char* wanted) {
  throw py::type_error(std::string(what) + " is " + shown(value) + "; it must be " + wanted);
}

double number_argument(py::handle value, const char* what) {
  const double number = PyUnicode_Check(value.ptr()) ? -1 : PyFloat_AsDouble(value.ptr());
  if (!PyErr_Occurred() && !PyUnicode_Check(value.ptr())) return number;
  PyErr_Clear();
  refuse_argument(what, value, "a number");
}

std::string text_argument(py::handle value, const char* what) {
  try {
    return value.cast<std::string>();
  } catch (const py::cast_error&) {
    refuse_argument(what, value, "a text");
  }
}

void close_module(py::module_& module) {
  const auto base = reinterpret_cast<PyTypeObject*>(py::type::of<Peer>().attr("__base__").ptr());
  base->tp_new = make;  // of this module's types alone (PYBIND11_COMPILER_TYPE)
  PyType_Modified(base);
  for (const auto& [name, member] : module.attr("__dict__").cast<py::dict>()) {
    if (PyType_Check(member.ptr()))
      close(member);
    else
      take_over(member);
  }
}

}  // namespace straggler::python
