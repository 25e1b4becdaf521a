// Schemes that are Python classes.
#pragma once
#include "python/module/gil.hpp"

namespace straggler::python {

/// While it lives, no scheme may be registered: entries of the registry are in use. Made and dropped with the lock held.
class RegistryInUse {
 public:
  RegistryInUse() { ++users(); }
  ~RegistryInUse() { --users(); }
  RegistryInUse(const RegistryInUse&) = delete;
  static int& users() {
    static int count = 0;
    return count;
  }
};

void define_schemes(py::module_& module);

}  // namespace straggler::python
