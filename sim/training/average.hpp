// The parameter `average`: what each contribution counts in a mean of contributions.
#pragma once
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/choice_table.hpp"

namespace straggler {

/// plain: each contribution counts the same, so means aim at the least mean of the workers' losses. samples: it counts its number of
/// samples, and they aim at the least mean over all samples.
class Average {
 public:
  enum class By : std::uint8_t { plain, samples };
  static constexpr ChoiceTable<By> choice{"average", {{By::plain, "plain"}, {By::samples, "by_samples"}}};
  /// Plain if the scheme has no such parameter.
  explicit Average(const Parameters& parameters) : by_(declared(parameters).value_or(By::plain)) {}
  static Parameter parameter(By fallback) {
    return choice.parameter(fallback, "what a contribution counts in a mean: as much as any other, or its number of samples");
  }
  /// None: the scheme has no such parameter.
  static std::optional<By> declared(const Parameters& parameters) {
    return parameters.has(choice.parameter_name()) ? std::optional(choice.of(parameters)) : std::nullopt;
  }

  bool by_samples() const { return by_ == By::samples; }
  /// What a contribution of that many samples counts.
  double count(double samples) const { return by_samples() ? samples : 1; }
  /// Parts of 1 in these proportions; equal parts if all counts are 0.
  static std::vector<double> shares(std::vector<double> counts) {
    double all = std::accumulate(counts.begin(), counts.end(), 0.0);
    if (all == 0) {
      counts.assign(counts.size(), 1);
      all = static_cast<double>(counts.size());
    }
    for (double& each : counts) each /= all;
    return counts;
  }

 private:
  By by_;
};

}  // namespace straggler
