// Caveats that several comparisons share, as parts of sentences.
#pragma once
#include <string>
#include <vector>

namespace straggler {

/// Of schemes that share a learning rate: "one learning rate for all, 0.1, may suit one scheme better".
std::string one_rate_words(double learning_rate);
/// Of runs whose times differ, as does the work that they did in them: "simulated times are of different work, 32,000 to 384,000 samples:
/// compare samples per second". `samples`, `seconds`: of each run. Empty: all did the same work, within 1 %, or took as long.
std::string different_work(const std::vector<double>& samples, const std::vector<double>& seconds);

}  // namespace straggler
