// How many events a run with packets takes, estimated from short runs of the timing alone.
#pragma once
#include <optional>

#include "scenarios/schema/scenario.hpp"

namespace straggler {

struct PacketEvents {
  double of_update = 0;
  std::optional<double> of_run;  // none: nobody knows how many updates the run has
  bool extrapolated = false;     // from runs with larger packets
};

/// Events are linear in the number of packets: where the short runs take too long, they are extrapolated from larger packets. None unless
/// the sharing model is `packets`, where there are more than 4,096 workers, and where no update comes or even large packets take seconds.
std::optional<PacketEvents> packet_events(const Scenario& scenario, std::optional<double> updates_per_epoch);

/// The same from larger packets only.
std::optional<PacketEvents> extrapolated_packet_events(const Scenario& scenario, std::optional<double> updates_per_epoch);

}  // namespace straggler
