// Faults that happen again and again: which unit comes to the end of a stage next, and when.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sim/engine/event_queue.hpp"
#include "sim/simulated/membership.hpp"

namespace straggler {

struct TooManyFailures : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Each unit draws from its own stream, and only the end of its present stage is known, so a million units take 24 MB. Clocks go on while
/// units stand idle, have left, or are down with another unit.
class Failures final : private Event {
 public:
  /// Ends of stages after which a run ends with TooManyFailures.
  static constexpr std::uint64_t most_ends = 1'000'000;

  /// Both outlive this.
  Failures(const SimulatedRun& run, Membership& membership) : run_(run), membership_(membership) {}
  void begin();
  /// The unit whose links stopped for good first, since when, and how many others did, as a clause. Empty if none did.
  std::string cut_off() const;

 private:
  /// The end of stage number `stage` of a unit.
  struct End {
    Time at;
    std::uint32_t process = 0, unit = 0;
    std::uint32_t stage = 0;  // since the beginning of the run
    bool operator>(const End& other) const {
      if (at != other.at) return at > other.at;
      return process != other.process ? process > other.process : unit > other.unit;
    }
  };

  void happen() override;
  const FaultProcess& process_of(const End& end) const { return run_.world.cluster.faults.processes[end.process]; }
  /// When the stage after `end` ends; never(): not within any run.
  Time next(const End& end) const;
  void end_first();
  void act(const End& end, Time next);
  Failure failure_of(const End& end) const;
  void await_first();

  const SimulatedRun run_;
  Membership& membership_;
  std::vector<End> heap_;  // the earliest is first
  std::uint64_t ends_ = 0;
  std::size_t out_ = 0;  // units that have failed and will be repaired
  bool bystander_ = false;
  std::string first_cut_;
  std::size_t cut_ = 0;  // units whose links carry nothing any more
};

}  // namespace straggler
