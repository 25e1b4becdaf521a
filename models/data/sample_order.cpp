#include "models/data/sample_order.hpp"

#include <fmt/format.h>

#include <limits>
#include <stdexcept>

#include "models/data/permutation.hpp"

namespace straggler {

void check_sample_count(std::size_t samples) {
  if (samples == 0) throw std::invalid_argument("a training set without samples cannot be divided; give data");
  if (samples > std::numeric_limits<std::uint32_t>::max())
    throw std::invalid_argument(
        fmt::format("{} training samples; at most {} can be numbered", samples, std::numeric_limits<std::uint32_t>::max()));
}

std::size_t SampleOrder::PlaceHash::operator()(const Place& place) const noexcept {
  return Hasher().add(place.epoch).add(std::uint64_t{place.stream}).key().low;
}

SampleOrder::SampleOrder(std::uint64_t seed, bool reshuffle, std::uint64_t total, Members members)
    : seed_(seed), reshuffle_(reshuffle), capacity_(3 * total), members_(std::move(members)) {}

void SampleOrder::samples(const Batch& batch, std::uint64_t size, std::vector<std::uint32_t>& out) const {
  if (batch.size == 0) throw std::logic_error("a batch without samples");
  const std::uint64_t epoch = batch.position / size, first = batch.position % size;
  if (first + batch.size > size)
    throw std::logic_error(
        fmt::format("a batch of {} at position {} straddles an epoch of its stream {}, which has {} samples; end it at the epoch's end",
                    batch.size, batch.position, batch.stream, size));
  const Order drawn = order({reshuffle_ ? epoch : 0, batch.stream});
  const auto begin = drawn->begin() + static_cast<std::ptrdiff_t>(first);
  out.assign(begin, begin + batch.size);
}

SampleOrder::Order SampleOrder::order(const Place& place) const {
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = found_.find(place); at != found_.end()) {
      recent_.splice(recent_.begin(), recent_, at->second);
      return at->second->order;
    }
  }
  // Two threads may compute the same order concurrently; the results are equal, and one is kept.
  Order made = make(place);
  const std::lock_guard lock(mutex_);
  if (found_.contains(place)) return made;
  recent_.push_front({place, made});
  found_.emplace(place, recent_.begin());
  kept_ += made->size();
  while (kept_ > capacity_ && recent_.size() > 4) {
    kept_ -= recent_.back().order->size();
    found_.erase(recent_.back().place);
    recent_.pop_back();
  }
  return made;
}

SampleOrder::Order SampleOrder::make(const Place& place) const {
  auto order = std::make_shared<std::vector<std::uint32_t>>();
  members_(place.stream, *order);
  shuffle(*order, RandomStream(seed_, fmt::format("partition/{}/order", place.stream), place.epoch));
  return order;
}

}  // namespace straggler
