// The time of a collective alone on a scenario's cluster: all ranks start together, without other traffic.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "scenarios/schema/scenario.hpp"
#include "sim/collectives/collective.hpp"
#include "sim/engine/time.hpp"

namespace straggler {

class AllReduceTimes {
 public:
  /// Of the scenario, the cluster counts; its scheme reduces among the workers. Throws ScenarioErrors.
  explicit AllReduceTimes(const Scenario& scenario);
  ~AllReduceTimes();
  AllReduceTimes(const AllReduceTimes&) = delete;
  AllReduceTimes& operator=(const AllReduceTimes&) = delete;

  const CollectiveShape& shape() const;
  /// Between the first rank and the first on another host; inside the first host.
  const UniformLinks& links() const;
  std::size_t hosts() const;
  /// Message by message; false: as one flow.
  bool stepwise() const;
  /// From the start until the last rank is done. The entry fits the shape; its parameters are the scenario's if that names it, else the
  /// defaults.
  Time time(const CollectiveEntry& entry, std::uint64_t bytes) const;
  /// A library's choice for such a message; empty: the entry is not a library.
  std::string choice(const CollectiveEntry& entry, std::uint64_t bytes) const;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace straggler
