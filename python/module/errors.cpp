#include "scenarios/schema/errors.hpp"

#include <regex>
#include <stdexcept>

#include "models/executor/executor.hpp"
#include "python/module/runs.hpp"
#include "scenarios/results/out_file.hpp"
#include "sim/base/shown_text.hpp"

namespace straggler::python {

namespace {

py::object error_class(const char* name) { return py::module_::import("straggler._errors").attr(name); }

/// Options of the command line as arguments of Python's functions: `use --out results/b` is `use out="results/b"`. Python prints messages
/// as they are, and they may quote text of files.
std::string in_python(std::string text) {
  static const std::pair<std::regex, const char*> replacements[] = {
      {std::regex(R"((^|[\s(`])use --out ([^,;"\n]+?)(?=, or|;|\n|$))"), "$1use out=\"$2\""},
      {std::regex(R"((^|[\s(`])--([a-z]+)-([a-z]+)\b)"), "$1--$2_$3"},
      {std::regex(R"((^|[\s(`])--(timing_only|force|resume|trace)\b)"), "$1$2=True"},
      {std::regex(R"((^|[\s(`])--([a-z_]+)\b)"), "$1$2"},
      {std::regex("raise the memory budget"), "raise the memory budget (memory= of straggler.run)"}};
  if (text.find("--") != std::string::npos || text.find("memory") != std::string::npos)
    for (const auto& [pattern, with] : replacements) text = std::regex_replace(text, pattern, with);
  return shown_text(text);
}

void raise(const char* type, const std::exception& error) { PyErr_SetString(error_class(type).ptr(), in_python(error.what()).c_str()); }

void raise(const ScenarioErrors& errors) {
  py::list problems;
  const py::object problem_class = error_class("Problem");
  for (const Problem& problem : errors.problems)
    problems.append(problem_class(in_python(problem.source), problem.place.line, problem.place.column, shown_text(problem.path),
                                  in_python(problem.text())));
  const py::object type = error_class("ScenarioError");
  PyErr_SetObject(type.ptr(), type(in_python(errors.what()), problems).ptr());
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
  } catch (const std::invalid_argument& error) {
    PyErr_SetString(PyExc_ValueError, in_python(error.what()).c_str());
  }
}

}  // namespace

void define_errors(py::module_&) { py::register_exception_translator(&translate); }

}  // namespace straggler::python
