// Whether an accuracy held after it was reached.
#pragma once
#include <optional>
#include <utility>
#include <vector>

namespace straggler {

/// Evaluations in the order of time: seconds, and the accuracy that a target is compared with.
using AccuracyCurve = std::vector<std::pair<double, double>>;

/// Seconds of the first evaluation after `reached` whose accuracy is below `accuracy` (a NaN is below everything); none: it held to the
/// end.
std::optional<double> below_again(const AccuracyCurve& curve, double accuracy, double reached);

}  // namespace straggler
