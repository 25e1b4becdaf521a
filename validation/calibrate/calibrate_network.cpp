// A message of s bytes takes alpha + s / bandwidth. A star's route is two links, so alpha is twice a link's latency; within a host the
// latency is that of the whole path (model.md, "Network"). Where rates of many messages in flight were measured, the highest is the
// bandwidth.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/base/quantity.hpp"
#include "sim/base/readable.hpp"
#include "validation/calibrate/calibration.hpp"
#include "validation/calibrate/formats.hpp"
#include "validation/calibrate/lines.hpp"
#include "validation/calibrate/rounded.hpp"

namespace straggler {

namespace {

/// A single line that misses a point by more gets segments.
constexpr double piece_tolerance = 0.03;
/// Largest bandwidth factor that a scenario accepts; a flat piece has no bandwidth of its own.
constexpr double most_factor = 1e6;

struct Link {
  double latency_total = 0, bandwidth = 0;  // of the whole path, seconds; bytes per second
};

/// Latency from the small messages, bandwidth from the large ones: the reference of the segments' factors.
Link link_of(const std::vector<Piece>& pieces) {
  Link link{pieces.front().line.start, 1 / pieces.back().line.slope};
  for (const Piece& piece : pieces)
    if (pieces.front().line.start == 0) link.latency_total = std::max(link.latency_total, piece.line.start);
  return link;
}

std::string segments_text(const std::vector<Piece>& pieces, const std::vector<TimedSize>& points, const Link& link) {
  std::string out = "  protocol:\n    segments:\n";
  for (const Piece& piece : pieces) {
    const double latency = link.latency_total > 0 ? piece.line.start / link.latency_total : 1;
    const double bandwidth = piece.line.slope > 0 ? std::min(1 / (piece.line.slope * link.bandwidth), most_factor) : most_factor;
    const double last = points[piece.first + piece.count - 1].size;
    const std::string up_to =
        &piece == &pieces.back() ? "" : fmt::format("up_to: {}, ", format_quantity(std::max(last, 1.0), Dimension::bytes));
    out += fmt::format("      - {{{}latency_factor: {}, bandwidth_factor: {}}}\n", up_to, format_number(rounded(latency)),
                       format_number(rounded(bandwidth)));
  }
  return out;
}

/// `scale`: reference of the error. An error below a millionth of it is rounding error.
std::string with_error(double value, const std::optional<double>& error, double scale, std::string (*readable)(double)) {
  constexpr double rounding = 1e-6;
  if (!error) return readable(value);
  return readable(value) + (*error < rounding * scale ? " (exact to rounding)" : " +- " + readable(*error));
}
std::string count_text(double bytes) { return readable_count(static_cast<std::uint64_t>(std::min(bytes, 1e18))); }
std::string rate_text(double value) { return readable_bytes(value) + "/s"; }

std::string piece_lines(const std::vector<Piece>& pieces, const std::vector<TimedSize>& points) {
  std::string out;
  for (const Piece& piece : pieces) {
    const Line& line = piece.line;
    const double bandwidth = line.slope > 0 ? 1 / line.slope : 0;
    const std::optional<double> error = line.slope_error ? std::optional(*line.slope_error * bandwidth * bandwidth) : std::nullopt;
    out += fmt::format("{} to {}: alpha {}, bandwidth {}; mean error {}, largest {}\n", readable_bytes(points[piece.first].size),
                       readable_bytes(points[piece.first + piece.count - 1].size),
                       with_error(line.start, line.start_error, points[piece.first].seconds, readable_seconds),
                       line.slope > 0 ? with_error(bandwidth, error, bandwidth, rate_text) : "beyond what these sizes show",
                       readable_share(line.mean), readable_share(line.largest));
  }
  return out;
}

std::string point_table(const std::vector<Piece>& pieces, const std::vector<TimedSize>& points) {
  std::vector<std::vector<std::string>> rows{{"bytes", "measured", "entries say", "error"}};
  for (const Piece& piece : pieces)
    for (std::size_t i = piece.first; i < piece.first + piece.count; ++i)
      rows.push_back({count_text(points[i].size), readable_seconds(points[i].seconds), readable_seconds(piece.line.at(points[i].size)),
                      fmt::format("{:+.2f} %", 100 * (piece.line.at(points[i].size) / points[i].seconds - 1))});
  return aligned(rows, 0);
}

/// Measurements that no network gives, or that these entries predict badly.
/// `by_rates`: the bandwidth is that of many messages in flight.
std::vector<std::string> warnings_of(const Link& link, const std::vector<Piece>& pieces, const std::vector<TimedSize>& points,
                                     bool by_rates) {
  constexpr double slowest = 1, narrowest = 1000, furthest = 0.2;  // seconds; bytes per second; share
  std::vector<std::string> warnings;
  if (link.latency_total > slowest)
    warnings.push_back(
        fmt::format("a latency of {}: are the times in seconds? Divide microseconds by 1e6", readable_seconds(link.latency_total)));
  if (link.bandwidth < narrowest)
    warnings.push_back(fmt::format("a bandwidth of {}: are the sizes in bytes, and the times in seconds?", rate_text(link.bandwidth)));
  for (std::size_t i = 1; i < points.size(); ++i)
    if (points[i].seconds < (1 - furthest) * points[i - 1].seconds) {
      warnings.push_back(fmt::format("{} take {} and {} {}: larger messages are faster, by noise or by another protocol",
                                     readable_bytes(points[i - 1].size), readable_seconds(points[i - 1].seconds),
                                     readable_bytes(points[i].size), readable_seconds(points[i].seconds)));
      break;
    }
  const TimedSize* worst = nullptr;
  double most = furthest;
  for (const Piece& piece : pieces)
    for (std::size_t i = piece.first; i < piece.first + piece.count; ++i)
      if (const double error = std::abs(piece.line.at(points[i].size) / points[i].seconds - 1); error > most) {
        most = error;
        worst = &points[i];
      }
  if (worst == nullptr) return warnings;
  const std::string miss = fmt::format("{} are missed by {}", readable_bytes(worst->size), readable_share(most));
  warnings.push_back(by_rates
                         ? miss +
                               ": alone, messages do not reach the rate of many in flight; calibrate their times alone if a link seldom "
                               "carries more than one"
                         : fmt::format("no {} these times: {}; one time may be wrong, or the sizes too few (segments need six)",
                                       pieces.size() == 1 ? "line fits" : "segments fit", miss));
  return warnings;
}

std::vector<TimedSize> medians_by_size(const std::vector<MessageTimes::Sample>& samples) {
  std::map<double, std::vector<double>> by_size;
  for (const MessageTimes::Sample& sample : samples) by_size[sample.bytes].push_back(sample.seconds);
  std::vector<TimedSize> points;
  for (auto& [bytes, seconds] : by_size) points.push_back({bytes, median(seconds)});
  return points;
}

double highest_rate(const std::vector<TimedSize>& streamed) {
  double highest = 0;
  for (const TimedSize& point : streamed) highest = std::max(highest, point.size / point.seconds);
  return highest;
}

std::string rate_table(const std::vector<TimedSize>& streamed) {
  std::vector<std::vector<std::string>> rows{{"bytes", "rate", "of the highest"}};
  for (const TimedSize& point : streamed)
    rows.push_back({count_text(point.size), rate_text(point.size / point.seconds),
                    readable_share(point.size / point.seconds / highest_rate(streamed))});
  return aligned(rows, 0);
}

Calibration bandwidth_alone(const std::vector<TimedSize>& streamed) {
  Calibration out;
  out.entries = fmt::format(
      "network:                # belongs under cluster:\n  link: {{bandwidth: {}}}    # add its latency, which these rates do not "
      "give: calibrate osu_latency with them\n",
      format_quantity(rounded(highest_rate(streamed)), Dimension::rate));
  out.table = rate_table(streamed);
  return out;
}

Calibration of_messages(const MessageTimes& times, const std::vector<TimedSize>& streamed, const std::filesystem::path& file) {
  const std::vector<TimedSize> points = medians_by_size(times.samples);
  if (points.size() < 2)
    refuse_measured(file, "has one message size, which cannot give both latency and bandwidth; measure at least two sizes");
  std::vector<Piece> pieces = fit_pieces(points, piece_tolerance);
  if (!(pieces.back().line.slope > 0))
    refuse_measured(file, "shows no bandwidth: its largest messages take no longer than smaller ones; measure larger ones");
  Link link = link_of(pieces);
  if (!streamed.empty()) {
    link.bandwidth = highest_rate(streamed);
    pieces = {{0, points.size(), given_line(points, link.latency_total, 1 / link.bandwidth)}};
  }
  Calibration out;
  const double latency = times.within_host ? link.latency_total : link.latency_total / 2;
  out.entries = fmt::format("network:                # belongs under cluster:\n  {}: {{bandwidth: {}, latency: {}}}{}\n",
                            times.within_host ? "intra" : "link", format_quantity(rounded(link.bandwidth), Dimension::rate),
                            format_quantity(rounded(latency), Dimension::time),
                            times.within_host ? "    # all ranks were on one host" : "    # a star's route is two links");
  if (pieces.size() > 1) out.entries += segments_text(pieces, points, link);
  out.warnings = warnings_of(link, pieces, points, !streamed.empty());
  out.table = piece_lines(pieces, points) + "\n" + point_table(pieces, points);
  if (!streamed.empty()) out.table += "\n" + rate_table(streamed);
  return out;
}

}  // namespace

Calibration calibrate(const MessageTimes& times, const std::filesystem::path& file) {
  const std::vector<TimedSize> streamed = medians_by_size(times.streamed);
  Calibration out = times.samples.empty() && !streamed.empty() ? bandwidth_alone(streamed) : of_messages(times, streamed, file);
  out.found = times.found + "; " + times.meaning;
  out.warnings.insert(out.warnings.begin(), times.doubts.begin(), times.doubts.end());
  return out;
}

}  // namespace straggler
