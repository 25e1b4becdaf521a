// The functions of NLopt that minimize.cpp calls, through NLopt's inline C++ interface: taken from the library when something is first
// fitted. The library of its C++ interface has the same functions and takes twice as long to load.
#include <nlopt.h>

#include "sim/base/late_library.hpp"

namespace straggler {
namespace {
const LateLibrary library(STRAGGLER_NLOPT, "libnlopt0");
}
}  // namespace straggler

#define STRAGGLER_LATE(name)                                                        \
  [] {                                                                              \
    static auto* const late = straggler::library.function<decltype(::name)>(#name); \
    return late;                                                                    \
  }()

nlopt_opt nlopt_create(nlopt_algorithm algorithm, unsigned dimensions) { return STRAGGLER_LATE(nlopt_create)(algorithm, dimensions); }
void nlopt_destroy(nlopt_opt opt) {
  if (opt) STRAGGLER_LATE(nlopt_destroy)(opt);
}
unsigned nlopt_get_dimension(const nlopt_opt opt) { return STRAGGLER_LATE(nlopt_get_dimension)(opt); }
const char* nlopt_get_errmsg(nlopt_opt opt) { return STRAGGLER_LATE(nlopt_get_errmsg)(opt); }
nlopt_result nlopt_optimize(nlopt_opt opt, double* at, double* value) { return STRAGGLER_LATE(nlopt_optimize)(opt, at, value); }
nlopt_result nlopt_set_force_stop(nlopt_opt opt, int value) { return STRAGGLER_LATE(nlopt_set_force_stop)(opt, value); }
nlopt_result nlopt_set_initial_step1(nlopt_opt opt, double step) { return STRAGGLER_LATE(nlopt_set_initial_step1)(opt, step); }
nlopt_result nlopt_set_lower_bounds1(nlopt_opt opt, double bound) { return STRAGGLER_LATE(nlopt_set_lower_bounds1)(opt, bound); }
nlopt_result nlopt_set_maxeval(nlopt_opt opt, int most) { return STRAGGLER_LATE(nlopt_set_maxeval)(opt, most); }
nlopt_result nlopt_set_min_objective(nlopt_opt opt, nlopt_func function, void* data) {
  return STRAGGLER_LATE(nlopt_set_min_objective)(opt, function, data);
}
void nlopt_set_munge(nlopt_opt opt, nlopt_munge on_destroy, nlopt_munge on_copy) {
  STRAGGLER_LATE(nlopt_set_munge)(opt, on_destroy, on_copy);
}
nlopt_result nlopt_set_stopval(nlopt_opt opt, double value) { return STRAGGLER_LATE(nlopt_set_stopval)(opt, value); }
nlopt_result nlopt_set_upper_bounds1(nlopt_opt opt, double bound) { return STRAGGLER_LATE(nlopt_set_upper_bounds1)(opt, bound); }
nlopt_result nlopt_set_xtol_abs1(nlopt_opt opt, double tolerance) { return STRAGGLER_LATE(nlopt_set_xtol_abs1)(opt, tolerance); }
