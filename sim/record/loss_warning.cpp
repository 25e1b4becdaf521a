#include "sim/record/loss_warning.hpp"

#include <array>
#include <cmath>
#include <cstdio>

namespace straggler {

std::optional<std::string> loss_warning(double start, double last) {
  if (!std::isfinite(start) || !std::isfinite(last) || start <= 0 || last <= far_worse * start) return std::nullopt;
  std::array<char, 320> text;
  std::snprintf(text.data(), text.size(),
                "the training loss is %.3g at the end and was %.3g with the initial weights: training made it far worse, though it is "
                "still finite; %s",
                last, start, loss_remedy);
  return std::string(text.data());
}

}  // namespace straggler
