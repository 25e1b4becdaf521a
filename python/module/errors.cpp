#include "scenarios/schema/errors.hpp"
#include "models/executor/executor.hpp"
#include "python/module/runs.hpp"
#include "scenarios/results/out_file.hpp"
#include "sim/base/shown_text.hpp"

namespace straggler::python {

namespace {

py::object error_class(const char* name) { return py::module_::import("straggler._errors").attr(name); }

/// Python prints messages as they are, and they may quote text of files.
void raise(const char* type, const std::exception& error) { PyErr_SetString(error_class(type).ptr(), shown_text(error.what()).c_str()); }

void raise(const ScenarioErrors& errors) {
  py::list problems;
  const py::object problem_class = error_class("Problem");
  for (const Problem& problem : errors.problems)
    problems.append(
        problem_class(problem.source, problem.place.line, problem.place.column, shown_text(problem.path), shown_text(problem.text())));
  const py::object type = error_class("ScenarioError");
  PyErr_SetObject(type.ptr(), type(shown_text(errors.what()), problems).ptr());
}

void translate(std::exception_ptr failure) {
  try {
    if (failure) std::rethrow_exception(failure);
  } catch (const ScenarioErrors& errors) {
    raise(errors);
  } catch (const DataError& error) {
    raise("DataError", error);
  } catch (const ResultsError& error) {
    raise("ResultsError", error);
  } catch (const RunFailed& error) {
    raise("RunFailed", error);
  } catch (const MemoryBudgetExceeded& error) {
    raise("MemoryBudgetExceeded", error);
  }
}

}  // namespace

void define_errors(py::module_&) { py::register_exception_translator(&translate); }

}  // namespace straggler::python
