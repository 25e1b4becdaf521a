#include "scenarios/report/share_text.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/base/readable.hpp"

namespace straggler {

std::string share_text(double share) {
  if (share == 0) return "0 %";
  return std::abs(share) < 0.01 ? fmt::format("{:.2g} %", 100 * share) : readable_share(share);
}

}  // namespace straggler
