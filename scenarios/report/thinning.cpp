#include <fmt/format.h>

#include "scenarios/report/curve_points.hpp"
#include "sim/base/readable.hpp"

namespace straggler {

std::string thinning_words(std::size_t points, std::size_t drawn, const std::string& where) {
  if (drawn >= points) return {};
  return fmt::format("{} of {} evaluations are drawn, including the lowest and the highest of each interval; {} has all.",
                     readable_count(drawn), readable_count(points), where);
}

}  // namespace straggler
