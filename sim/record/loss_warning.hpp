// Warns of a loss that training has greatly increased but that is still finite, so the run continues.
#pragma once
#include <optional>
#include <string>

namespace straggler {

/// Factor between the last loss and that of the initial weights. A network that guesses stays near 1.
inline constexpr double far_worse = 10;

/// A sentence with both figures and a remedy; none unless both are finite and `last` exceeds `start` by that factor.
std::optional<std::string> loss_warning(double start, double last);

/// Advice on a loss that has greatly increased, or is no longer finite.
inline constexpr const char* loss_remedy = "try a smaller training.optimizer.learning_rate, or a training.schedule.warmup";

}  // namespace straggler
