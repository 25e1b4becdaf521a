// A loss that training has made far worse: finite, so that the run goes on, and a sign that it leads nowhere.
#pragma once
#include <optional>
#include <string>

namespace straggler {

/// The last loss is so many times that of the initial weights. A network that guesses is not: its loss is about that at the start.
inline constexpr double far_worse = 10;

/// A sentence with both figures and what helps; none unless both are finite and `last` is that much above `start`.
std::optional<std::string> loss_warning(double start, double last);

/// Against a loss that has become far worse, or is no longer finite.
inline constexpr const char* loss_remedy = "a smaller training.optimizer.learning_rate helps, or a training.schedule.warmup";

}  // namespace straggler
