// A lost worker is replaced, and gets its state from another over the network (RecoverySettings::Kind::peer).
#pragma once
#include <vector>

#include "sim/simulated/membership.hpp"

namespace straggler {

/// The others wait for it or go on, as on_failure says. No version is lost. Its replacement, a spare or the repaired machine, begins to
/// fetch the state when the failure is known and it has started.
class Replacement final : public RecoveryPolicy {
 public:
  /// Both outlive this.
  Replacement(const SimulatedRun& run, Membership& membership);
  bool failed(const Failure& failure) override;
  bool repaired(const Failure& failure) override;

 private:
  /// A machine for that worker is there.
  Process start(Rank worker, std::uint32_t loss);

  const SimulatedRun run_;
  const RecoverySettings settings_;
  Membership& membership_;
  Rank spares_;
  struct Lost {
    Time known;              // when the failure is
    std::uint32_t loss = 0;  // number of this worker's losses
    bool awaits = false;     // a machine
  };
  std::vector<Lost> lost_;  // [workers]
};

}  // namespace straggler
