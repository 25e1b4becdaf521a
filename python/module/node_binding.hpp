// The Node surface in Python.
#pragma once
#include "python/module/operations.hpp"

namespace straggler::python {

/// The value, of the node's own run. Throws std::runtime_error else.
template <class T>
const T& value_in(const NodeObject& node, const Held<T>& held) {
  if (&held.scope() != &node.scope()) throw std::runtime_error("this belongs to another run than the node");
  return held.value();
}

void define_node(py::module_& module);
/// Means, sums and derivations, which take no time.
void define_algebra(py::class_<NodeObject>& node);

}  // namespace straggler::python
