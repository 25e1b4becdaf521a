// The picture of time against price, or against energy: what is on its front is beaten in neither by any other.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/report/figure.hpp"
#include "scenarios/results/measures.hpp"

namespace straggler {

/// A run, an entrant of a race, a setting of a sweep.
struct ParetoPoint {
  std::string name;
  std::size_t colour = 0;
  double seconds = 0, cost = 0;
  std::string link = {};
};

/// The points that no other one beats in one without being beaten in the other, by time; of equal ones the first.
std::vector<std::size_t> pareto_front(const std::vector<ParetoPoint>& points);

/// `to`: "time to 0.8", "simulated time". None: fewer than two points.
std::optional<Figure> pareto_figure(const std::vector<ParetoPoint>& points, const MeasureRow& row, const std::string& to,
                                    const std::string& cost_title);

}  // namespace straggler
