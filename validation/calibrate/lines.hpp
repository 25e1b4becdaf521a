// Straight lines through measured times, least squares of relative errors.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace straggler {

/// A size (bytes, samples) and its time in seconds; sizes are distinct and ascending.
struct TimedSize {
  double size = 0, seconds = 0;
};

/// seconds = start + slope · size; neither is negative.
struct Line {
  double start = 0, slope = 0;
  std::optional<double> start_error, slope_error;  // one standard error; none: fewer than three points, or at a bound
  double largest = 0, mean = 0;                    // relative errors, absolute
  double squares = 0;                              // sum of their squares
  double at(double size) const { return start + slope * size; }
};

/// A given line with its errors at these points.
Line given_line(std::span<const TimedSize> points, double start, double slope);

/// Minimizes Σ((start + slope · size) / seconds - 1)² with start, slope ≥ 0. At least two points.
Line fit_line(std::span<const TimedSize> points);

/// Piecewise lines: each from point `first` up to the next piece's.
struct Piece {
  std::size_t first = 0, count = 0;
  Line line;
};

/// The fewest pieces (of at least three points each, at most six) that miss no point by more than `tolerance`; if there are none, those
/// with the least Bayesian information criterion (Schwarz 1978). The split into pieces is optimal, by dynamic programming (Bellman 1961).
std::vector<Piece> fit_pieces(std::span<const TimedSize> points, double tolerance);

}  // namespace straggler
