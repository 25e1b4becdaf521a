// Models and arrays that a call of Python's is given.
#pragma once
#include <memory>
#include <optional>

#include "models/zoo/given_models.hpp"
#include "python/module/errands.hpp"
#include "python/module/gil.hpp"

namespace straggler::python {

/// What `how` has under "model" and "data": a description of a model (straggler._models.Given), and Arrays; or None.
class GivenInUse {
 public:
  /// `for_all`: other threads run, and this one serves them with `errands`. With the lock held, as at its end. Throws std::runtime_error.
  GivenInUse(const py::dict& how, Errands& errands, bool for_all);
  ~GivenInUse();
  bool has_model() const { return model_.has_value(); }

 private:
  std::optional<GivenModelInUse> model_;
};

void define_models(py::module_& module);

}  // namespace straggler::python
