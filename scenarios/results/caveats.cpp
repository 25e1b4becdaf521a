#include "scenarios/results/caveats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "scenarios/results/text.hpp"
#include "sim/base/readable.hpp"

namespace straggler {

std::string one_rate_words(double learning_rate) {
  return fmt::format("one learning rate for all, {}, may suit one scheme better", number_text(learning_rate));
}

std::string different_work(const std::vector<double>& samples, const std::vector<double>& seconds) {
  const auto differ = [](const std::vector<double>& values) {
    const auto [least, most] = std::ranges::minmax(values);
    return most > 1.01 * least;
  };
  if (samples.size() < 2 || !differ(samples) || !differ(seconds)) return {};
  const auto [least, most] = std::ranges::minmax(samples);
  return fmt::format("simulated times are of different work, {} to {} samples: compare samples per second",
                     readable_count(static_cast<std::uint64_t>(least)), readable_count(static_cast<std::uint64_t>(most)));
}

}  // namespace straggler
