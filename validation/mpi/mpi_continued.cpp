// A job whose ranks were killed, and started again: it continues from the state of a version (rank_checkpoint.hpp).
#include <algorithm>
#include <chrono>

#include "validation/mpi/mpi_backend.hpp"

namespace straggler {

std::uint64_t MpiBackend::samples_until(Rank worker, std::uint64_t version) {
  Node drawing(context_, worker);
  for (std::uint64_t k = 0; k < version; ++k) drawing.next_batch(drawing.batch_size());
  return drawing.drawn();
}

void MpiBackend::continue_from(EarlierState earlier) {
  const std::uint64_t version = earlier.weights->version;
  WeightsState& weights = earlier.weights.edit();
  weights.participants = task_.plan.workers;
  for (Rank worker = 0; worker < task_.plan.workers; ++worker)
    if (worker != node_.self()) weights.progress += samples_until(worker, version);
  for (std::uint64_t k = 0; node_.is_worker() && k < version; ++k) {
    node_.next_batch(node_.batch_size());
    node_.next_call();
  }
  weights.progress += node_.drawn();
  schedule_.due(version, static_cast<double>(weights.progress) / static_cast<double>(task_.plan.epoch_samples));
  node_.start_from(earlier.weights);
  node_.optimizer().state() = std::move(earlier.optimizer);
  began_ = earlier.began;
}

/// By the clock of the rank that publishes.
std::int64_t MpiBackend::earlier_ns(std::int64_t since_start) const {
  const auto system = std::chrono::system_clock::now().time_since_epoch();
  const std::int64_t since = std::chrono::duration_cast<std::chrono::nanoseconds>(system).count() - *began_ - since_start;
  Packer packer;
  packer.put(std::max<std::int64_t>(since, 0));
  return Unpacker(channel_.share(packer.take(), publisher_)).get<std::int64_t>();
}

}  // namespace straggler
