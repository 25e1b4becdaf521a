// How many events a run with packets takes, estimated from short runs of the timing alone.
#pragma once
#include <optional>

#include "scenarios/schema/scenario.hpp"

namespace straggler {

struct PacketEvents {
  double of_update = 0;          // on average over the updates that TimedUpdates has
  std::optional<double> of_run;  // exact where the run ends within those; none: where it ends, or who takes part, is not known
  bool extrapolated = false;     // from runs with larger packets
};

/// Events are linear in the number of packets: where the short runs take too long, they are extrapolated from larger packets. None unless
/// the sharing model is `packets`, where there are more than 4,096 workers, and where no update comes or even large packets take seconds.
std::optional<PacketEvents> packet_events(const Scenario& scenario);

/// The same from larger packets only.
std::optional<PacketEvents> extrapolated_packet_events(const Scenario& scenario);

}  // namespace straggler
