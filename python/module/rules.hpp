// Arithmetic in numpy: rules over vectors, and optimizers built from them.
#pragma once
#include <cstdint>

#include "python/module/gil.hpp"
#include "sim/lineage/lineage.hpp"

namespace straggler::python {

/// A rule whose arithmetic is a Python function. Its key is the author's name and version, with the scalars.
struct NumpyRule {
  const Rule* rule = nullptr;
  double id = 0;  // the first scalar: key of the function

  /// The scalars of one of its outputs.
  std::vector<double> scalars(std::size_t output, const std::vector<double>& given) const;
};

void define_rules(py::module_& module);

}  // namespace straggler::python
