#include "scenarios/results/verdict.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/base/readable.hpp"

namespace straggler {

namespace {

/// Unknown values (empty) match any value.
bool same(const std::string& a, const std::string& b) { return a.empty() || b.empty() || a == b; }

bool predicts(const RunResult& simulated, const RunResult& real) {
  return !simulated.real && real.real && simulated.scheme == real.scheme && simulated.workers == real.workers &&
         same(simulated.data, real.data) && same(simulated.model, real.model);
}

/// "14 % too slow", in percent of the measured value.
std::string error_text(double predicted, double measured, bool more_is_slower) {
  if (measured <= 0) return "there is no measured run to compare it with";
  const double percent = 100 * std::abs(predicted / measured - 1);
  if (percent < 0.05) return "as measured";
  const std::string amount = percent < 9.95 ? fmt::format("{:.1f}", percent) : fmt::format("{:.0f}", percent);
  return fmt::format("{} % too {}", amount, (predicted > measured) == more_is_slower ? "slow" : "fast");
}

class Pair {
 public:
  Pair(const Comparison& comparison, std::size_t simulated, std::size_t real)
      : comparison_(comparison), simulated_(simulated), real_(real) {}

  Said said() const {
    const RunResult &a = comparison_.runs[simulated_], &b = comparison_.runs[real_];
    if (comparison_.deciding) {
      const ThresholdResult *x = find_threshold(a, *comparison_.deciding), *y = find_threshold(b, *comparison_.deciding);
      if (x && y && x->seconds && y->seconds)
        return times(*x->seconds, *y->seconds, fmt::format(" to {:.6g} % test accuracy", 100 * *comparison_.deciding));
    }
    if (a.updates == b.updates)
      return times(a.simulated_seconds, b.simulated_seconds, fmt::format(" for {} updates", readable_number(a.updates)));
    const double x = a.samples_per_second.value_or(0), y = b.samples_per_second.value_or(0);
    return clause(readable_number(x) + " samples per second", readable_number(y), error_text(x, y, false));
  }

 private:
  Said times(double predicted, double measured, const std::string& what) const {
    return clause(readable_seconds(predicted) + what, readable_seconds(measured), error_text(predicted, measured, true));
  }
  Said clause(const std::string& predicted, const std::string& measured, const std::string& error) const {
    return worded("'{}' says {} where '{}' measured {}: {}", SaidName{comparison_.labels[simulated_]}, predicted,
                  SaidName{comparison_.labels[real_]}, measured, error);
  }

  const Comparison& comparison_;
  std::size_t simulated_, real_;
};

}  // namespace

Said predictions(const Comparison& comparison) {
  std::vector<Said> all;
  for (std::size_t i = 0; i < comparison.runs.size(); ++i)
    for (std::size_t j = 0; j < comparison.runs.size(); ++j)
      if (predicts(comparison.runs[i], comparison.runs[j])) all.push_back(Pair(comparison, i, j).said());
  if (all.empty())
    return worded(
        "No simulated run has the scheme, workers, data and model of a measured one, and simulated and measured runs do not compete.");
  return joined(all, "; ", "; ").add(".");
}

}  // namespace straggler
