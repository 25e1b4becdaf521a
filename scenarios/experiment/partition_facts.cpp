#include "scenarios/experiment/partition_facts.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace straggler {

std::optional<LabelSkew> label_skew(const Partition& partition, std::span<const std::int32_t> labels, std::size_t classes) {
  const StreamSizes& sizes = partition.sizes();
  if (sizes.shared || sizes.sizes.empty() || labels.empty()) return std::nullopt;
  std::vector<double> whole(classes);
  for (const std::int32_t label : labels) whole[static_cast<std::size_t>(label)] += 1 / static_cast<double>(labels.size());
  LabelSkew skew;
  for (const double share : whole) skew.one_class += share * (1 - share);
  skew.fewest_classes = classes;
  std::vector<std::uint32_t> samples;
  std::vector<std::size_t> counts(classes);
  const auto parts = static_cast<double>(sizes.sizes.size());
  for (std::size_t worker = 0; worker < sizes.sizes.size(); ++worker) {
    std::fill(counts.begin(), counts.end(), 0);
    samples.clear();
    partition.samples({0, static_cast<std::uint32_t>(worker), static_cast<std::uint32_t>(sizes.sizes[worker])}, samples);
    for (const std::uint32_t sample : samples) ++counts[static_cast<std::size_t>(labels[sample])];
    const auto size = static_cast<double>(samples.size());
    const auto present = static_cast<std::size_t>(std::count_if(counts.begin(), counts.end(), [](std::size_t count) { return count > 0; }));
    const double largest = static_cast<double>(*std::max_element(counts.begin(), counts.end())) / size;
    double distance = 0;
    for (std::size_t c = 0; c < classes; ++c) distance += std::abs(static_cast<double>(counts[c]) / size - whole[c]) / 2;
    skew.fewest_classes = std::min(skew.fewest_classes, present);
    skew.most_classes = std::max(skew.most_classes, present);
    skew.most_largest = std::max(skew.most_largest, largest);
    skew.mean_classes += static_cast<double>(present) / parts;
    skew.mean_largest += largest / parts;
    skew.mean_distance += distance / parts;
  }
  return skew;
}

}  // namespace straggler
