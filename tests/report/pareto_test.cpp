// The front of time against price.
#include "scenarios/report/pareto.hpp"

#include <doctest/doctest.h>

using namespace straggler;

TEST_CASE("the front: by time, each cheaper than all that are sooner; of equal ones the first") {
  const std::vector<ParetoPoint> points = {
      {"slow", 0, 9, 1}, {"beaten", 0, 5, 6}, {"fast", 0, 2, 8}, {"middle", 0, 4, 5}, {"same", 0, 4, 5}};
  CHECK(pareto_front(points) == std::vector<std::size_t>{2, 3, 0});
  CHECK(pareto_front({}).empty());
  const auto figure = pareto_figure(points, row_of(Measure::price), "time to 0.8", "price to 0.8 (EUR)");
  REQUIRE(figure.has_value());
  CHECK(figure->title == "Time against price");
  CHECK(figure->caption.find("fast, middle, slow") != std::string::npos);
  CHECK_FALSE(pareto_figure({points.front()}, row_of(Measure::energy), "time", "energy").has_value());
}
