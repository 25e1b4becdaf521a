#include "scenarios/experiment/noise_scale.hpp"

#include <algorithm>
#include <cmath>

namespace straggler {

namespace {

/// Batches of a measurement: enough for a mean of their own, and no more than some steps' work.
constexpr std::int64_t fewest_batches = 4, most_batches = 16;

}  // namespace

void NoiseScale::add(double small, double large, double small_batch, double large_batch) {
  if (!(large_batch > small_batch) || !std::isfinite(small) || !std::isfinite(large)) return;
  gradient_ += (large_batch * large - small_batch * small) / (large_batch - small_batch);
  noise_ += (small - large) / (1 / small_batch - 1 / large_batch);
}

std::optional<double> NoiseScale::samples() const {
  return gradient_ > 0 && noise_ >= 0 ? std::optional(noise_ / gradient_) : std::nullopt;
}

NoiseProbe::NoiseProbe(Evaluator& inner, Executor& executor, Lineage& lineage, const StreamSizes& streams, std::int64_t workers,
                       std::int64_t batch, std::size_t parameters)
    : inner_(inner), executor_(executor), lineage_(lineage), streams_(streams), workers_(workers), batch_(batch), sum_(parameters) {}

Evaluation NoiseProbe::evaluate(const Handle& weights, EvaluationSet set) {
  if (weights.key() != last_) {
    last_ = weights.key();
    measure(weights);
  }
  return inner_.evaluate(weights, set);
}

/// Each time other samples, of workers in turn.
void NoiseProbe::measure(const Handle& weights) {
  const std::int64_t count = std::clamp(workers_, fewest_batches, most_batches);
  std::fill(sum_.begin(), sum_.end(), 0.0);
  double small = 0;
  std::int64_t batches = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto worker = static_cast<std::uint32_t>(i % workers_);
    const std::uint64_t size = streams_.of(worker), places = size / static_cast<std::uint64_t>(batch_);
    if (places == 0) continue;
    const std::uint64_t place = measured_ * static_cast<std::uint64_t>(count) + static_cast<std::uint64_t>(i);
    const Batch batch{place % places * static_cast<std::uint64_t>(batch_) + place / places * size, streams_.shared ? shared_stream : worker,
                      static_cast<std::uint32_t>(batch_)};
    const Handle gradient = lineage_.gradient(weights, batch);
    const std::span<const float> values = executor_.value(gradient).first(sum_.size());
    double norm = 0;
    for (std::size_t j = 0; j < values.size(); ++j) {
      norm += static_cast<double>(values[j]) * values[j];
      sum_[j] += values[j];
    }
    small += norm;
    ++batches;
  }
  ++measured_;
  if (batches < 2) return;
  const auto number = static_cast<double>(batches), samples = static_cast<double>(batch_);
  double large = 0;
  for (const double sum : sum_) large += sum * sum;
  scale_.add(small / number, large / (number * number), samples, number * samples);
}

}  // namespace straggler
