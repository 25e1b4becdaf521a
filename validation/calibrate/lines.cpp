#include "validation/calibrate/lines.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "validation/tables/least_squares.hpp"

namespace straggler {

namespace {

constexpr std::size_t least_points = 3, most_pieces = 6;

/// The best multiple of `column` (one value per point, already divided by the time) for a right side of ones.
double best_multiple(std::span<const TimedSize> points, auto column) {
  double with_one = 0, with_itself = 0;
  for (const TimedSize& point : points) {
    const double value = column(point) / point.seconds;
    with_one += value;
    with_itself += value * value;
  }
  return with_itself > 0 ? with_one / with_itself : 0;
}

void score(std::span<const TimedSize> points, Line& line) {
  for (const TimedSize& point : points) {
    const double error = std::abs(line.at(point.size) / point.seconds - 1);
    line.largest = std::max(line.largest, error);
    line.mean += error / static_cast<double>(points.size());
    line.squares += error * error;
  }
}

/// best[k][j]: least sum of squares of k pieces over the first j points, and the start of the last piece.
struct Split {
  double squares = std::numeric_limits<double>::infinity();
  std::size_t last_first = 0;
};

std::vector<std::vector<Split>> all_splits(std::span<const TimedSize> points, std::size_t most) {
  const std::size_t n = points.size();
  std::vector<std::vector<double>> cost(n, std::vector<double>(n + 1, std::numeric_limits<double>::infinity()));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + least_points; j <= n; ++j) cost[i][j] = fit_line(points.subspan(i, j - i)).squares;
  std::vector<std::vector<Split>> best(most + 1, std::vector<Split>(n + 1));
  best[0][0].squares = 0;
  for (std::size_t k = 1; k <= most; ++k)
    for (std::size_t j = least_points; j <= n; ++j)
      for (std::size_t i = 0; i + least_points <= j; ++i)
        if (const double sum = best[k - 1][i].squares + cost[i][j]; sum < best[k][j].squares) best[k][j] = {sum, i};
  return best;
}

std::vector<Piece> pieces_of(std::span<const TimedSize> points, const std::vector<std::vector<Split>>& best, std::size_t count) {
  std::vector<Piece> pieces(count);
  std::size_t end = points.size();
  for (std::size_t k = count; k > 0; --k) {
    const std::size_t first = best[k][end].last_first;
    pieces[k - 1] = {first, end - first, fit_line(points.subspan(first, end - first))};
    end = first;
  }
  return pieces;
}

}  // namespace

Line given_line(std::span<const TimedSize> points, double start, double slope) {
  Line line{start, slope, {}, {}};
  score(points, line);
  return line;
}

Line fit_line(std::span<const TimedSize> points) {
  Matrix rows;
  for (const TimedSize& point : points) rows.push_back({1 / point.seconds, point.size / point.seconds});
  const std::optional<std::vector<double>> both = least_squares(rows, std::vector<double>(points.size(), 1.0));
  Line line;
  bool inside = both && (*both)[0] >= 0 && (*both)[1] >= 0;
  if (inside) {
    line.start = (*both)[0];
    line.slope = (*both)[1];
  } else if (both && (*both)[0] < 0) {
    line.slope = best_multiple(points, [](const TimedSize& point) { return point.size; });
  } else {
    line.start = best_multiple(points, [](const TimedSize&) { return 1.0; });
  }
  score(points, line);
  if (!inside || points.size() <= 2) return line;
  if (const auto inverse = inverse_normal_diagonal(rows)) {
    const double variance = line.squares / static_cast<double>(points.size() - 2);
    line.start_error = std::sqrt(variance * (*inverse)[0]);
    line.slope_error = std::sqrt(variance * (*inverse)[1]);
  }
  return line;
}

std::vector<Piece> fit_pieces(std::span<const TimedSize> points, double tolerance) {
  const std::size_t n = points.size();
  std::vector<Piece> chosen{{0, n, fit_line(points)}};
  if (chosen.front().line.largest <= tolerance || n < 2 * least_points) return chosen;
  const std::size_t most = std::min(most_pieces, n / least_points);
  const auto best = all_splits(points, most);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t k = 1; k <= most; ++k) {
    std::vector<Piece> pieces = pieces_of(points, best, k);
    if (std::all_of(pieces.begin(), pieces.end(), [&](const Piece& piece) { return piece.line.largest <= tolerance; })) return pieces;
    // Two numbers per line, and its end.
    const double count = static_cast<double>(n), parameters = 3 * static_cast<double>(k) - 1;
    const double criterion = count * std::log(std::max(best[k][n].squares, 1e-300) / count) + parameters * std::log(count);
    if (criterion < least) {
      least = criterion;
      chosen = std::move(pieces);
    }
  }
  return chosen;
}

}  // namespace straggler
