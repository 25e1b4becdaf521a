// Histograms as one SVG picture, a panel each.
#pragma once
#include <string>
#include <vector>

#include "models/quantization/tables.hpp"

namespace straggler {

/// Bars as high as the logarithm of their counts: tails of a few numbers among millions can be seen, and it is they that ranges are about.
std::string histogram_picture(const std::string& title, const std::vector<NamedHistogram>& panels);

}  // namespace straggler
