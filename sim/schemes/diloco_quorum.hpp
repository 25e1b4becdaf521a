// DiLoCo by a server that does not wait for all: the parameters quorum, grace, late and average of `diloco`.
#pragma once
#include <memory>
#include <vector>

#include "sim/training/scheme.hpp"

namespace straggler::schemes {

bool has_quorum(const Parameters& parameters);
std::vector<Parameter> quorum_parameters();
/// Without a quorum. Throws std::invalid_argument where another of them is given, as nothing would heed it.
void require_quorum(const Parameters& parameters);
/// Throws std::invalid_argument with fragments or a delay, which are of all-reduces.
std::unique_ptr<Scheme> diloco_by_quorum(const Parameters& parameters);

}  // namespace straggler::schemes
