// Names of workers by their differences: "worker 13 (3x slower)".
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/schema/scenario.hpp"

namespace straggler {

class WorkerNames {
 public:
  /// `scenario` outlives this. O(groups log groups).
  explicit WorkerNames(const Scenario& scenario);

  /// The differences of a group's workers from most workers of the cluster: "3x slower", "v100", "link 100Mbps"; empty: none. Rows of a
  /// population are not considered.
  std::string difference(std::size_t group) const;
  /// "worker 13 (3x slower)", or "worker 2". The rank is one of the scenario's.
  std::string worker(std::int64_t rank) const;
  /// All workers of a group: "workers 6 and 7 (3x slower)", "workers 8 to 15", "worker 3".
  std::string group(std::size_t group) const;
  /// The workers of these groups: "worker 3 (2x slower), workers 6 and 7 (3x slower)"; of many groups the first ones and how many more.
  std::string groups(const std::vector<std::size_t>& all) const;

 private:
  const std::vector<WorkerGroup>& groups_;
  const LinkSpec& network_link_;
  std::vector<std::int64_t> first_;  // [groups] rank of the first worker
  /// The groups whose value most workers have.
  std::size_t usual_slowdown_, usual_device_, usual_link_;
};

}  // namespace straggler
