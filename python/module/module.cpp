// The extension module: Python bindings of a session (python/straggler has the rest).
#include "python/module/calls.hpp"
#include "python/module/models.hpp"
#include "python/module/node_binding.hpp"
#include "python/module/rules.hpp"
#include "python/module/runs.hpp"
#include "scenarios/results/run_info.hpp"
#include "sim/base/machine.hpp"

PYBIND11_MODULE(_straggler, module) {
  using namespace straggler::python;
  module.doc() = "Straggler's simulator. Import `straggler` instead.";
  module.attr("version") = straggler::version();
  module.attr("most_threads") = straggler::most_threads;
  define_errors(module);
  define_values(module);
  define_operations(module);
  define_rules(module);
  define_models(module);
  define_node(module);
  define_schemes(module);
  define_runs(module);
  define_checks(module);
  define_points(module);
  define_end(module);
  close_module(module);
}
