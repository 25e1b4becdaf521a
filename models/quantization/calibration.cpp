#include "models/quantization/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "models/data/blocks.hpp"

namespace straggler {
namespace {

constexpr Interval nothing{std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()};

Interval joined(const Interval& a, const Interval& b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

void count(std::span<const float> values, Histogram& histogram) {
  const std::size_t bins = histogram.counts.size();
  const float low = histogram.range.low, extent = histogram.range.high - low;
  const float by = extent > 0 ? static_cast<float>(bins) / extent : 0.0f;
  const auto last = static_cast<float>(bins - 1);
  for (const float x : values) {
    const float bin = (x - low) * by;
    ++histogram.counts[static_cast<std::size_t>(bin < last ? bin : last)];
  }
}

struct Watch {
  FloatValues values;
  std::vector<Histogram> seen;
};

}  // namespace

float Histogram::edge(std::size_t bin) const {
  const double share = static_cast<double>(bin) / static_cast<double>(counts.size());
  return static_cast<float>(static_cast<double>(range.low) + share * (static_cast<double>(range.high) - static_cast<double>(range.low)));
}

std::vector<float> Histogram::representatives() const {
  std::vector<float> values;
  for (std::size_t bin = 0; bin < counts.size(); ++bin) {
    const float low = edge(bin), high = edge(bin + 1);
    values.push_back(low <= 0 && high >= 0 ? 0.0f : low + (high - low) / 2);
  }
  return values;
}

Histogram Histogram::coarser(std::size_t bins) const {
  Histogram merged{range, std::vector<std::uint64_t>(bins, 0)};
  const std::size_t each = counts.size() / bins;
  for (std::size_t bin = 0; bin < counts.size(); ++bin) merged.counts[bin / each] += counts[bin];
  return merged;
}

Interval range_of(std::span<const float> values) {
  Interval range = nothing;
  for (const float x : values) {
    if (!std::isfinite(x)) return {-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity()};
    range = joined(range, {x, x});
  }
  return range;
}

Histogram histogram_of(std::span<const float> values, std::size_t bins) {
  Histogram histogram{range_of(values), std::vector<std::uint64_t>(bins, 0)};
  count(values, histogram);
  return histogram;
}

std::vector<Histogram> calibrate(const FloatInference& inference, std::span<const float> inputs, std::size_t samples, unsigned threads) {
  const InferenceNetwork& network = inference.network();
  const std::size_t features = network.input.size(), size = block_samples(network);
  const Watch start{{}, std::vector<Histogram>(network.values(), Histogram{nothing, {}})};
  std::vector<Histogram> all = start.seen;
  for (const Watch& watch : for_blocks(samples, size, threads, start, [&](Watch&state, std::size_t, std::size_t first, std::size_t rows) {
         inference.run(inputs.data() + first * features, rows, state.values);
         for (std::size_t v = 0; v < network.values(); ++v) state.seen[v].range = joined(state.seen[v].range, range_of(state.values.of[v]));
       }))
    for (std::size_t v = 0; v < network.values(); ++v) all[v].range = joined(all[v].range, watch.seen[v].range);
  for (std::size_t v = 0; v < network.values(); ++v) {
    if (!std::isfinite(all[v].range.low) || !std::isfinite(all[v].range.high))
      throw std::invalid_argument("the output of its layer '" + (v == 0 ? "input" : network.steps[v - 1].name) +
                                  "' is not finite on the calibration samples; give a model that has not diverged");
    all[v].counts.assign(fine_bins, 0);
  }
  for (const Watch& watch :
       for_blocks(samples, size, threads, Watch{{}, all}, [&](Watch&state, std::size_t, std::size_t first, std::size_t rows) {
         inference.run(inputs.data() + first * features, rows, state.values);
         for (std::size_t v = 0; v < network.values(); ++v) count(state.values.of[v], state.seen[v]);
       }))
    for (std::size_t v = 0; v < network.values(); ++v)
      for (std::size_t bin = 0; bin < fine_bins; ++bin) all[v].counts[bin] += watch.seen[v].counts[bin];
  return all;
}

}  // namespace straggler
