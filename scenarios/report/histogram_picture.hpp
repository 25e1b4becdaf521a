// Histograms as one SVG picture, a panel each.
#pragma once
#include <string>
#include <vector>

#include "models/quantization/tables.hpp"

namespace straggler {

/// Counts on a logarithmic axis: tails of a few numbers among millions can be seen, and ranges are about tails. A grey line is at 0.
std::string histogram_picture(const std::string& title, const std::vector<NamedHistogram>& panels);

}  // namespace straggler
