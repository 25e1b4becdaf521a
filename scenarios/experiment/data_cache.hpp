// Data sets that several runs of one process share.
#pragma once
#include <list>
#include <memory>
#include <mutex>
#include <optional>

#include "models/data/dataset.hpp"
#include "scenarios/schema/scenario.hpp"

namespace straggler {

struct WorkloadBlueprint;

/// Thread-safe. Keeps the last few sets.
class DataCache {
 public:
  /// As WorkloadBlueprint::load_data. Scenarios that name the same data, split, augmentation and, where it matters, seed share one set
  /// while the files are unchanged.
  std::shared_ptr<const Dataset> load(const WorkloadBlueprint& blueprint, const Scenario& scenario, unsigned threads);
  /// As WorkloadBlueprint::data_content, computed once for scenarios that name the same data, split and, where it matters, seed, while the
  /// files are unchanged.
  Key content(const WorkloadBlueprint& blueprint, const Scenario& scenario);

 private:
  static constexpr std::size_t most_sets = 4, most_names = 64;
  struct Source {
    Kind data;
    std::filesystem::path base;
    std::optional<std::uint64_t> seed;  // none: it does not matter
    EvaluateSpec::Split split;
    Key files;  // hash of the system's file facts: changes when a file is written or replaced
    bool operator==(const Source&) const = default;
  };
  struct Set {
    Source source;
    AugmentSpec augment;
    std::shared_ptr<const Dataset> data;
  };
  static Source source_of(const WorkloadBlueprint& blueprint, const Scenario& scenario);

  std::mutex mutex_;
  std::list<Set> recent_;  // most recently used first
  std::list<std::pair<Source, Key>> names_;
};

}  // namespace straggler
