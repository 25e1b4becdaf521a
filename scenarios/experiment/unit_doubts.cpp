#include "scenarios/experiment/unit_doubts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "sim/base/readable.hpp"

namespace straggler {

namespace {

/// Factors are around 1; a population may well be several times slower than the device that it is of.
constexpr double far_factor = 2, far_slowdown = 10;

bool is_far(double value, double by) { return value > by || value < 1 / by; }

}  // namespace

void add_doubt(std::vector<std::string>& notes, const std::string& place, const std::string& doubt) {
  if (doubt.empty() || std::ranges::any_of(notes, [&](const std::string& note) { return note.ends_with(": " + doubt); })) return;
  notes.push_back(place + ": " + doubt);
}

std::string factor_doubt(const Kind& jitter, double mean) {
  if (!jitter.parameters.has("path") || !is_far(mean, far_factor)) return {};
  return fmt::format(
      "the factors in {} have the mean {}, where 1 is neither slower nor faster; if they are measured times, write normalize: "
      "true, or make factors of them with tools/seconds_to_factors",
      std::filesystem::path(jitter.parameters.text("path")).filename().string(), readable_number(mean));
}

std::string slowdown_doubt(const WorkerGroup& group) {
  if (group.rows.empty()) return {};
  std::vector<double> slowdowns;
  for (const DeviceRow& row : group.rows) slowdowns.push_back(row.slowdown);
  const auto median = slowdowns.begin() + static_cast<std::ptrdiff_t>(slowdowns.size() / 2);
  std::nth_element(slowdowns.begin(), median, slowdowns.end());
  if (!is_far(*median, far_slowdown)) return {};
  return fmt::format(
      "the median of its slowdowns is {}, where 1 is as fast as the device; if they are measured times, divide them "
      "by the device's",
      readable_number(*median));
}

std::string cable_doubt(const Fabric& fabric) {
  constexpr double narrowest = 1000, longest = 1;  // bytes a second; seconds
  for (LinkId id = 0; id < fabric.links(); ++id) {
    const LinkDescription link = fabric.link(id);
    const bool narrow = link.bytes_per_second > 0 && link.bytes_per_second < narrowest;
    if (!narrow && !(link.latency.seconds() > longest)) continue;
    return fmt::format(
        "{} has a {}; plain numbers of a network file are bytes a second and seconds, others have a unit "
        "such as Gbps or us",
        link.name,
        narrow ? "bandwidth of " + readable_bytes(link.bytes_per_second) + "/s" : "latency of " + readable_seconds(link.latency.seconds()));
  }
  return {};
}

}  // namespace straggler
