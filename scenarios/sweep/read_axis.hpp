// The values that a path takes, as a sweep file writes them: a list, or a range.
#pragma once
#include <string>
#include <vector>

#include "scenarios/schema/key.hpp"
#include "scenarios/schema/section.hpp"
#include "scenarios/sweep/sweep.hpp"

namespace straggler {

/// The forms that the values of a path may take.
std::vector<ScenarioKey> axis_forms();

/// `path`: its place in the file. Errors are added to the context's problems.
std::vector<AxisValue> read_axis(ReadContext& context, const YamlNode& node, const std::string& path);

}  // namespace straggler
