#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/base/quantity.hpp"
#include "sim/base/readable.hpp"
#include "validation/calibrate/calibration.hpp"
#include "validation/calibrate/lines.hpp"
#include "validation/calibrate/rounded.hpp"

namespace straggler {

namespace {

/// If an affine time misses a batch size by more, a table is used.
constexpr double affine_tolerance = 0.05;
/// Seconds of the fastest batch: more look like milliseconds.
constexpr double longest_step = 10;
using ByBatch = std::map<std::int64_t, std::vector<const BatchTimes::Sample*>>;

std::vector<double> seconds_of(const std::vector<const BatchTimes::Sample*>& samples) {
  std::vector<double> all;
  for (const BatchTimes::Sample* sample : samples) all.push_back(sample->seconds);
  return all;
}

/// Standard deviation of log(seconds): pooled over the batch sizes that were measured more than once, else from the interquartile ranges,
/// which are 2 · median · sinh(quartile · sigma) for a lognormal time. None: the data does not determine it.
std::optional<double> sigma_of(const ByBatch& batches) {
  double squares = 0, degrees = 0;
  std::vector<double> from_ranges;
  for (const auto& [batch, samples] : batches) {
    double mean = 0;
    for (const BatchTimes::Sample* sample : samples) mean += std::log(sample->seconds) / static_cast<double>(samples.size());
    for (const BatchTimes::Sample* sample : samples) {
      squares += (std::log(sample->seconds) - mean) * (std::log(sample->seconds) - mean);
      if (sample->iqr) from_ranges.push_back(std::asinh(*sample->iqr / (2 * sample->seconds)) / quartile);
    }
    degrees += static_cast<double>(samples.size() - 1);
  }
  if (degrees > 0) return std::min(std::sqrt(squares / degrees), largest_sigma);
  return from_ranges.empty() ? std::nullopt : std::optional(std::min(median(from_ranges), largest_sigma));
}

/// Prediction at point `left_out` by a table without it: a line through its neighbours.
double from_neighbours(const std::vector<TimedSize>& points, std::size_t left_out) {
  const TimedSize &a = points[left_out - 1], &b = points[left_out + 1];
  return a.seconds + (b.seconds - a.seconds) * (points[left_out].size - a.size) / (b.size - a.size);
}

std::string time(double seconds) { return format_quantity(rounded(seconds), Dimension::time); }

class DeviceCalibration {
 public:
  explicit DeviceCalibration(const BatchTimes::Device& device) : name_(device.name) {
    for (const BatchTimes::Sample& sample : device.samples) batches_[sample.batch].push_back(&sample);
    sigma_ = sigma_of(batches_);
    // A lognormal jitter of mean 1 has the median exp(-sigma²/2); the scenario's time is the mean.
    const double mean_over_median = sigma_ ? std::exp(*sigma_ * *sigma_ / 2) : 1;
    for (const auto& [batch, samples] : batches_)
      points_.push_back({static_cast<double>(batch), median(seconds_of(samples)) * mean_over_median});
    if (points_.size() >= 2) line_ = fit_line(points_);
    constexpr double rounding = 1e-9;
    if (std::abs(line_.start) < rounding * points_.back().seconds) line_.start = 0;
    affine_ = points_.size() >= 3 && line_.largest <= affine_tolerance && line_.slope > 0;
  }

  std::string entry() const {
    std::string out = fmt::format("  {}:\n    compute: ", name_);
    if (affine_) {
      out += fmt::format("{{affine: {{overhead: {}, per_sample: {}}}}}\n", time(line_.start), time(line_.slope));
    } else {
      out += "{table: {";
      for (std::size_t i = 0; i < points_.size(); ++i)
        out += fmt::format("{}{:.0f}: {}", i == 0 ? "" : ", ", points_[i].size, time(points_[i].seconds));
      out += "}}\n";
    }
    if (sigma_ && rounded(*sigma_) > 0)
      out += fmt::format("    jitter: {{kind: lognormal, sigma: {}}}\n", format_number(std::round(*sigma_ * 1e5) / 1e5));
    return out;
  }

  std::string table() const {
    std::string out = name_ + ": " + verdict() + "\n";
    std::vector<std::vector<std::string>> rows{
        {"batch", "repeats", "time", affine_ ? "entries say" : "its neighbours say", "error", "memory"}};
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const auto& samples = batches_.at(static_cast<std::int64_t>(points_[i].size));
      const bool said = affine_ || (i > 0 && i + 1 < points_.size());
      const double value = !said ? 0 : affine_ ? line_.at(points_[i].size) : from_neighbours(points_, i);
      const auto& memory = samples.front()->memory_bytes;
      rows.push_back({fmt::format("{:.0f}", points_[i].size), fmt::format("{}", samples.size()), readable_seconds(points_[i].seconds),
                      said ? readable_seconds(value) : "-", said ? fmt::format("{:+.2f} %", 100 * (value / points_[i].seconds - 1)) : "-",
                      memory ? readable_bytes(*memory) : "-"});
    }
    return out + aligned(rows, 0);
  }

 private:
  std::string verdict() const {
    std::string out;
    if (affine_)
      out = fmt::format("a line; mean error {}, largest {}", readable_share(line_.mean), readable_share(line_.largest));
    else if (points_.size() < 3)
      out = "a table: too few batch sizes to try a line";
    else
      out = fmt::format("a table: the best line misses a batch size by {}", readable_share(line_.largest));
    if (sigma_) out += fmt::format("; spread of the repeats: sigma {:.3g}", *sigma_);
    return out;
  }

  std::string name_;
  ByBatch batches_;
  std::optional<double> sigma_;
  std::vector<TimedSize> points_;  // means
  Line line_;
  bool affine_ = false;
};

}  // namespace

Calibration calibrate(const BatchTimes& times) {
  Calibration out;
  out.found = times.found;
  out.entries = "devices:\n";
  for (const BatchTimes::Device& device : times.devices) {
    const DeviceCalibration calibration(device);
    out.entries += calibration.entry();
    out.table += (out.table.empty() ? "" : "\n") + calibration.table();
    const auto shortest = std::ranges::min_element(device.samples, {}, &BatchTimes::Sample::seconds);
    if (shortest->seconds > longest_step)
      out.warnings.push_back(fmt::format("{}: a batch of {} takes {}: are the times in seconds? Divide milliseconds by 1e3", device.name,
                                         shortest->batch, readable_seconds(shortest->seconds)));
  }
  return out;
}

std::string calibration_yaml(const Calibration& calibration, const std::filesystem::path& file) {
  std::string out = fmt::format("{} from {}: {}.\n", calibration_mark, file.filename().string(), calibration.found);
  std::string_view rest = calibration.table;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1);
    const std::string_view line = rest.substr(0, end);
    out += line.empty() ? "#\n" : fmt::format("# {}\n", line);
    rest.remove_prefix(end + 1);
  }
  return out + calibration.entries;
}

}  // namespace straggler
