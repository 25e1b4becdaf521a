#include <fmt/format.h>

#include "scenarios/report/curve_points.hpp"
#include "sim/base/readable.hpp"

namespace straggler {

std::string thinning_words(std::size_t points, std::size_t drawn, const std::string& where) {
  if (drawn >= points) return {};
  return fmt::format("Of {} evaluations {} are drawn, the lowest and the highest of each stretch among them; {} has all.",
                     readable_count(points), readable_count(drawn), where);
}

}  // namespace straggler
