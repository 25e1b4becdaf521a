#include <algorithm>
#include <cmath>
#include <limits>

#include "scenarios/search/find.hpp"

namespace straggler {
namespace {

constexpr double first_part = 0.4;    // of the budget is spread over everything
constexpr double last_side = 0.02;    // of the box, where the budget lets it
constexpr double kept_choice = 0.75;  // of the points in a box have the best one's choice
constexpr int most_draws = 64;        // for one point that was not tried before

}  // namespace

BoxSearch::BoxSearch(const std::vector<Setting>& over, std::size_t budget, std::uint64_t seed)
    : over_(over), budget_(budget), draw_(over.size(), seed) {
  double count = 1;
  for (const Setting& setting : over)
    count *= setting.count() == 0 ? std::numeric_limits<double>::infinity() : static_cast<double>(setting.count());
  exhaustive_ = count <= static_cast<double>(budget);
}

/// False: it was tried.
bool BoxSearch::add(const Point& drawn, std::vector<Point>& points) {
  std::vector<std::string> values;
  for (std::size_t i = 0; i < over_.size(); ++i) values.push_back(over_[i].value(drawn[i]).yaml);
  if (!tried_.insert(values).second) return false;
  Point point;
  for (std::size_t i = 0; i < over_.size(); ++i) point.push_back(over_[i].share(values[i]));
  points.push_back(std::move(point));
  return true;
}

void BoxSearch::add_all(std::vector<Point>& points) {
  Point point(over_.size());
  const auto walk = [&](const auto& self, std::size_t setting) -> void {
    if (setting == over_.size()) {
      add(point, points);
      return;
    }
    double share = over_[setting].share(over_[setting].value(0).yaml);
    for (std::size_t i = 0; i < over_[setting].count(); ++i) {
      point[setting] = over_[setting].ordered() ? share : (static_cast<double>(i) + 0.5) / static_cast<double>(over_[setting].count());
      self(self, setting + 1);
      share = over_[setting].around(share).second;
    }
  };
  walk(walk, 0);
}

/// Evenly over one setting, its ends among them.
void BoxSearch::add_grid(std::size_t count, std::vector<Point>& points) {
  for (std::size_t i = 0; i < count; ++i) add({count == 1 ? 0.5 : static_cast<double>(i) / static_cast<double>(count - 1)}, points);
}

/// The box is as wide as `side`, and at least reaches the values next to its middle; where it would leave the range it is moved.
double BoxSearch::place_in_box(const Setting& setting, double center, double side, double draw) const {
  if (!setting.ordered()) return draw < kept_choice ? center : (draw - kept_choice) / (1 - kept_choice);
  const auto [below, above] = setting.around(center);
  double low = std::min(center - side / 2, below), high = std::max(center + side / 2, above);
  if (low < 0) high -= low;
  if (high > 1) low -= high - 1;
  low = std::max(low, 0.0);
  high = std::min(high, 1.0);
  return low + (high - low) * draw;
}

void BoxSearch::draw(std::size_t count, const std::optional<Point>& center, double side, std::vector<Point>& points) {
  for (std::size_t i = 0; i < count; ++i) {
    bool fresh = false;
    for (int attempt = 0; attempt < most_draws && !fresh; ++attempt) {
      Point point = draw_.next();
      for (std::size_t s = 0; center && s < over_.size(); ++s) point[s] = place_in_box(over_[s], (*center)[s], side, point[s]);
      fresh = add(point, points);
    }
    if (!fresh) return;
  }
}

std::vector<std::vector<double>> BoxSearch::next(const std::optional<Point>& best) {
  std::vector<Point> points;
  const std::size_t left = budget_ - std::min(budget_, tried_.size());
  if (left == 0 || ended_) return points;
  if (tried_.empty() && exhaustive_) {
    add_all(points);
  } else if (tried_.empty()) {
    const auto d = static_cast<double>(over_.size());
    const auto first =
        std::min(budget_, std::max(2 * over_.size() + 1, static_cast<std::size_t>(first_part * static_cast<double>(budget_))));
    over_.size() == 1 && over_[0].ordered() ? add_grid(first, points) : draw(first, {}, 1, points);
    batch_ = std::max<std::size_t>(4, 2 * over_.size() + 2);
    side_ = std::min(1.0, 2 * std::pow(static_cast<double>(first), -1 / d));
    const double boxes = std::ceil(static_cast<double>(budget_ - first) / static_cast<double>(batch_));
    shrinking_ = std::clamp(std::pow(last_side / side_, 1 / std::max(1.0, boxes - 1)), 0.5, 0.9);
  } else if (best) {
    draw(std::min(left, batch_), best, side_, points);
    side_ *= shrinking_;
  } else {
    draw(std::min(left, batch_), {}, 1, points);
  }
  ended_ = points.empty();
  return points;
}

}  // namespace straggler
