// What a failure does to the job, where more than the scheme's on_failure decides.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/cluster/fault_units.hpp"
#include "sim/engine/time.hpp"

namespace straggler {

/// A unit that fails, and what fails with it: of a dated crash its worker, of a rack all workers of its hosts.
struct Failure {
  FaultUnit unit;
  RankSpan workers;                         // some may be down already, with another unit, or may have left
  std::vector<std::uint32_t> lost_servers;  // no replica of these is left
  Time at;                                  // when it fails
  std::optional<Time> back;                 // when it is repaired; none: never
};

/// Notified of all failures of workers, servers and what holds them, at the moment at which they happen. Cables fail without it.
class RecoveryPolicy {
 public:
  /// Those of its workers that were up are marked as down (Membership::is_down), and nothing else has happened. True: the policy acts.
  /// False: they are taken out as on_failure says, and a lost server ends the run.
  virtual bool failed(const Failure& failure) = 0;
  /// The same failure is over; its workers are marked as up unless another unit holds them down. True: the policy acts. False: workers
  /// that are out come back as they do without a policy.
  virtual bool repaired(const Failure& failure) = 0;
  /// The worker is about to start a life in the state of a checkpoint, which its node has.
  virtual bool restores(Rank /*worker*/) { return false; }
  /// Some have gone, and the others go on without them.
  virtual void members_changed() {}
  /// No worker starts now: the others are held where their state is saved.
  virtual bool holds_starts() const { return false; }
  /// A worker has joined or come back, and starts from that version.
  virtual void started(std::uint64_t /*version*/) {}
  /// It will fail at `failure.at`, and works until then.
  virtual void noticed(const Failure& /*failure*/) {}

 protected:
  ~RecoveryPolicy() = default;
};

}  // namespace straggler
