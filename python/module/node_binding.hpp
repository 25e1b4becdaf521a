// The Node surface in Python.
#pragma once
#include "python/module/calls.hpp"
#include "python/module/operations.hpp"

namespace straggler::python {

/// The value. Throws std::runtime_error if it belongs to another run.
template <class T>
const T& value_in(const NodeObject& node, const Held<T>& held) {
  if (&held.scope() != &node.scope()) throw std::runtime_error("this belongs to another run than the node");
  return held.value();
}

/// The same of a gradient that has a value. Throws std::invalid_argument.
inline const Gradient& taken_in(const NodeObject& node, const GradientObject& held) {
  const Gradient& gradient = value_in(node, held);
  if (gradient->value().empty()) throw std::invalid_argument("this gradient belongs to no step and has no value (node.no_gradient)");
  return gradient;
}

/// As messages name them.
inline const char* wanted(const WeightsObject*) { return "straggler.Weights"; }
inline const char* wanted(const GradientObject*) { return "a straggler.Gradient"; }

/// Weights, or gradients. Throws py::type_error, or std::invalid_argument if there are none.
template <class T>
std::vector<T> values_of(const NodeObject& node, const py::sequence& parts) {
  std::vector<T> values;
  for (const py::object part : parts)
    values.push_back(value_in(node, argument<Held<T>>(part, "a part", wanted(static_cast<Held<T>*>(nullptr)))));
  if (values.empty()) throw std::invalid_argument("the list is empty; at least one is needed");
  return values;
}

/// Throws std::runtime_error if it belongs to another run.
inline const DrawnBatch& batch_in(const NodeObject& node, const BatchObject& batch) {
  if (batch.run != node.scope().number()) throw std::runtime_error("this batch belongs to another run than the node");
  return batch.batch;
}

/// The rank. Throws std::invalid_argument unless it is from 0 to below `limit`.
Rank rank_below(const NodeObject& node, Rank rank, Rank limit);
/// The same of a worker.
Rank worker_rank(const NodeObject& node, Rank rank);
/// Throws std::invalid_argument: "server 0 DOES; only workers do".
void require_worker(const NodeObject& node, const char* does);

/// Seconds, or a text such as '50ms'. Throws std::invalid_argument if it is negative or not a time.
Time time_of(py::handle time);

void define_node(py::module_& module);
/// Messages, collectives and gatherings.
void define_messages(py::class_<NodeObject>& node);
/// Votes, invited clients, aggregators, one process that drives all, push-sum.
void define_roles(py::module_& module, py::class_<NodeObject>& node);
/// Means, sums and derivations, which take no time.
void define_algebra(py::class_<NodeObject>& node);

}  // namespace straggler::python
