// A hub: a shared link whose flows have no other shared link; each is capped at most by a constant of its own.
#pragma once
#include <cmath>
#include <vector>

#include "sim/network/tag.hpp"

namespace straggler::fluid {

/// A sum that does not depend on the order of its additions and subtractions: whole multiples of 2^-80. Exact for terms
/// between 2^-27 and 2^46 (a capacity in bytes per tick, a weight) whose sum stays below 2^46.
class ExactSum {
 public:
  void add(double x) { units_ += whole(x); }
  void subtract(double x) { units_ -= whole(x); }
  void clear() { units_ = 0; }
  double value() const { return std::ldexp(static_cast<double>(units_), -80); }
  /// x minus the sum, rounded once.
  double below(double x) const { return std::ldexp(static_cast<double>(whole(x) - units_), -80); }

 private:
  __extension__ typedef __int128 Units;
  static Units whole(double x) { return static_cast<Units>(std::ldexp(x, 80)); }
  Units units_ = 0;
};

/// A parameter server's link with workers behind links of unequal speed. A flow's cap is its narrowest other link: that link carries no
/// other flow, so its capacity is a constant. Flows whose cap is below the common level run at the cap; the others share the rest. Once per
/// instant the two sets are corrected, O(log flows) for each flow that changes sides.
///
/// Invariants while Link::hub
///  - Every flow on the link has a short route, is alone on its other links, and those are entangled, undisturbed, no hubs.
///  - A capped flow is solo, bound to its narrowest other link, counted in `capped_rate`, and has a live tag in `capped`; all others are
///    grouped here, counted in `sharing_weight`, and have a live tag in `sharing` if they have another link.
struct Hub {
  ExactSum capped_rate;  // bytes per tick
  ExactSum sharing_weight;
  std::vector<Tag> capped;   // largest cap per weight first
  std::vector<Tag> sharing;  // smallest first
  bool changed = false;      // at this instant

  void clear() {
    capped_rate.clear();
    sharing_weight.clear();
    capped.clear();
    sharing.clear();
  }
};

}  // namespace straggler::fluid
