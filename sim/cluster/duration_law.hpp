// How long something lasts: the time until a unit fails, its repair, a slow spell.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "sim/base/parameters.hpp"
#include "sim/base/registry.hpp"

namespace straggler {

class DurationLaw {
 public:
  virtual ~DurationLaw() = default;
  /// Seconds that the time exceeds with probability 1 - `share`, which is in [0, 1); infinity: it has no end. A draw is the quantile of a
  /// uniform number.
  virtual double quantile(double share) const = 0;
  virtual double mean() const = 0;
};

struct DurationLawEntry {
  std::string name, summary;
  DeclaredParameters parameters;
  std::function<std::unique_ptr<DurationLaw>(const Parameters&)> make;
};

/// The parameter `mean` of every law that has one.
inline Parameter mean_duration() {
  return {.name = "mean", .type = ValueType::time, .required = true, .meaning = "mean time", .range = Range::at_least(0)};
}

}  // namespace straggler
