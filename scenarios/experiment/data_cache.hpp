// Data sets that several runs of one process share.
#pragma once
#include <list>
#include <memory>
#include <mutex>
#include <optional>

#include "models/data/dataset.hpp"
#include "scenarios/schema/scenario.hpp"

namespace straggler {

struct Blueprint;

/// Thread-safe. Keeps the last few sets.
class DataCache {
 public:
  /// As Blueprint::load_data; the same set for scenarios that name the same data, split, augmentation and, where it matters, seed.
  std::shared_ptr<const Dataset> load(const Blueprint& blueprint, const Scenario& scenario, unsigned threads);

 private:
  static constexpr std::size_t most_sets = 4;
  struct Entry {
    Kind data;
    std::filesystem::path base;
    std::optional<std::uint64_t> seed;  // none: it does not matter
    std::string split;
    AugmentSpec augment;
    std::shared_ptr<const Dataset> set;
  };
  std::mutex mutex_;
  std::list<Entry> recent_;  // most recently used first
};

}  // namespace straggler
