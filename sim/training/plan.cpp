#include "sim/training/plan.hpp"

#include <cmath>

namespace straggler {

std::uint64_t TrainingPlan::drawn_of(Rank worker, std::uint64_t samples) const {
  if (!drop_last) return samples;
  const auto whole = static_cast<std::uint64_t>(batch_of(worker)), piece = static_cast<std::uint64_t>(minibatch_of(worker));
  const std::uint64_t unit = whole % piece == 0 ? piece : whole;
  return samples < unit ? samples : samples - samples % unit;
}

std::uint64_t TrainingPlan::part_samples(Rank worker) const {
  if (!shared_stream) return stream_samples[index_of(worker)];
  const auto count = static_cast<std::uint64_t>(workers);
  return (train_samples + count - 1) / count;
}

std::uint64_t TrainingPlan::pass_samples(Rank worker) const {
  if (shared_stream) return drawn_of(batches.smallest(workers), train_samples);
  return drawn_of(worker, stream_samples[index_of(worker)]);
}

double TrainingPlan::batches_per_epoch() const {
  const auto count = [](std::uint64_t samples, double size) { return std::max(1.0, std::ceil(static_cast<double>(samples) / size)); };
  if (shared_stream) return count(epoch_samples, batches.mean(workers));
  double samples_per_batch = 0;  // summed over the workers
  for (Rank worker = 0; worker < workers; ++worker) {
    const std::uint64_t samples = pass_samples(worker);
    samples_per_batch += static_cast<double>(samples) / count(samples, static_cast<double>(batch_of(worker)));
  }
  return static_cast<double>(epoch_samples) * static_cast<double>(workers) / samples_per_batch;
}

std::string TrainingPlan::name_of(Rank rank) const {
  if (rank < workers) return "worker " + std::to_string(rank);
  if (aggregation.has(rank)) return "aggregator " + std::to_string(rank - aggregation.first_rank);
  return "server " + std::to_string(rank - workers);
}

}  // namespace straggler
