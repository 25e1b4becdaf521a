// A rank's clock: real time since the job began, the same on all ranks. The job began with this run, or with an earlier run that it
// continues.
#pragma once
#include <cstdint>
#include <optional>

#include "sim/engine/time.hpp"
#include "validation/mpi/channel.hpp"

namespace straggler {

class RankClock {
 public:
  /// The job began with an earlier run: `began` is in ns of the system's clock, and counts on the rank `root` of start().
  void continue_from(std::int64_t began) { began_ = began; }
  bool continues() const { return began_.has_value(); }
  /// All ranks call it.
  void start(Channel& channel, Rank root);
  Time now() const;
  /// Of this run.
  Time start() const { return start_; }

 private:
  std::int64_t zero_ns_ = 0;  // of the steady clock
  std::optional<std::int64_t> began_;
  Time start_;
};

}  // namespace straggler
