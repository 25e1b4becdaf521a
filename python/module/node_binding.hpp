// The Node surface in Python.
#pragma once
#include "python/module/operations.hpp"

namespace straggler::python {

/// The value. Throws std::runtime_error if it belongs to another run.
template <class T>
const T& value_in(const NodeObject& node, const Held<T>& held) {
  if (&held.scope() != &node.scope()) throw std::runtime_error("this belongs to another run than the node");
  return held.value();
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
