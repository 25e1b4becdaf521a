// Shares as pages write them.
#pragma once
#include <string>

namespace straggler {

/// "43.2 %"; of small ones two digits that count: "0.034 %". Only 0 is "0 %".
std::string share_text(double share);

}  // namespace straggler
