// Which values of a long row are kept: the extremes among them.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

namespace straggler {

/// Which of `values` are kept: all, or of each of about most / 2 equal stretches the lowest and the highest; the first and the last
/// always. Ascending.
inline std::vector<std::size_t> thinned(const std::vector<double>& values, std::size_t most) {
  std::vector<std::size_t> kept;
  if (values.size() <= most) {
    for (std::size_t i = 0; i < values.size(); ++i) kept.push_back(i);
    return kept;
  }
  const std::size_t stretches = std::max<std::size_t>(1, (most - 2) / 2);
  kept.push_back(0);
  for (std::size_t stretch = 0; stretch < stretches; ++stretch) {
    const std::size_t from = stretch * values.size() / stretches, to = (stretch + 1) * values.size() / stretches;
    if (from == to) continue;
    const auto [low, high] =
        std::minmax_element(values.begin() + static_cast<std::ptrdiff_t>(from), values.begin() + static_cast<std::ptrdiff_t>(to));
    for (const auto at : {std::min(low, high), std::max(low, high)}) kept.push_back(static_cast<std::size_t>(at - values.begin()));
  }
  kept.push_back(values.size() - 1);
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  return kept;
}

}  // namespace straggler
