// The order in which a stream draws its samples per epoch, cached for the last few epochs.
#pragma once
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "models/data/partition.hpp"

namespace straggler {

/// Maps batches to samples. Thread-safe; memory is bounded by about three epochs of the whole training set (but at least four orders), for
/// any number of streams.
class SampleOrder {
 public:
  /// Writes the samples of a stream in their basic order, as indices into the training split.
  using Members = std::function<void(std::uint32_t stream, std::vector<std::uint32_t>& out)>;

  /// `total`: training samples over all streams.
  SampleOrder(std::uint64_t seed, bool reshuffle, std::uint64_t total, Members members);
  /// Replaces `out` by the samples of `batch`, drawn from a stream of `size` samples. Throws std::logic_error for a batch
  /// that is empty or straddles an epoch.
  void samples(const Batch& batch, std::uint64_t size, std::vector<std::uint32_t>& out) const;

 private:
  using Order = std::shared_ptr<const std::vector<std::uint32_t>>;
  struct Place {
    std::uint64_t epoch;
    std::uint32_t stream;
    bool operator==(const Place&) const = default;
  };
  struct PlaceHash {
    std::size_t operator()(const Place& place) const noexcept;
  };
  struct Entry {
    Place place;
    Order order;
  };
  Order order(const Place& place) const;
  Order make(const Place& place) const;

  const std::uint64_t seed_;
  const bool reshuffle_;
  const std::uint64_t capacity_;  // indices kept
  const Members members_;
  // All below: under mutex_. Most recently used first.
  mutable std::mutex mutex_;
  mutable std::list<Entry> recent_;
  mutable std::unordered_map<Place, std::list<Entry>::iterator, PlaceHash> found_;
  mutable std::uint64_t kept_ = 0;
};

/// Throws std::invalid_argument if there are no samples or their indices do not fit 32 bits.
void check_sample_count(std::size_t samples);

}  // namespace straggler
