#include "scenarios/experiment/packet_events.hpp"

#include <algorithm>

#include "scenarios/experiment/update_times.hpp"
#include "sim/base/registry.hpp"
#include "sim/cluster/transport.hpp"

namespace straggler {

namespace {

constexpr double most_wall_seconds = 0.5;

/// Of the short runs.
struct Measured {
  double events = 0, seconds = 0;  // of an update
};

std::optional<Measured> measured(Scenario scenario, double packet_bytes) {
  scenario.cluster.network.sharing.parameters.set("packet", packet_bytes);
  const std::optional<TimedUpdates> runs = timed_updates(scenario, {}, most_wall_seconds);
  if (!runs || runs->updates() == 0) return std::nullopt;
  const std::uint64_t before = runs->in_step() ? runs->begun.events : 0;
  return Measured{static_cast<double>(runs->gone_on.events - before) / runs->updates(), runs->seconds()};
}

/// With packets that are 2, 32, 512 … times larger, and with packets twice as large as these.
std::optional<Measured> extrapolated(const Scenario& scenario, double packet_bytes) {
  constexpr double largest = 1 << 17;
  for (double larger = 2; larger <= largest; larger *= 16) {
    const std::optional<Measured> fine = measured(scenario, larger * packet_bytes);
    if (!fine) continue;
    const std::optional<Measured> coarse = measured(scenario, 2 * larger * packet_bytes);
    if (!coarse) return std::nullopt;
    const double of_packets = 2 * larger * (fine->events - coarse->events);  // with those of the scenario
    return Measured{fine->events + of_packets * (1 - 1 / larger), fine->seconds};
  }
  return std::nullopt;
}

std::optional<double> updates_of_run(const StopSpec& stop, std::optional<double> updates_per_epoch, double seconds) {
  std::optional<double> least;
  const auto ends = [&](double updates) { least = std::min(least.value_or(updates), updates); };
  if (stop.updates) ends(static_cast<double>(*stop.updates));
  if (stop.epochs && updates_per_epoch) ends(*stop.epochs * *updates_per_epoch);
  if (stop.simulated_time && seconds > 0) ends(*stop.simulated_time / seconds);
  return least;
}

double packet_bytes(const Kind& sharing) {
  return complete(Registry<SharingEntry>::instance().at(sharing.name).parameters, sharing.parameters).number("packet");
}

bool has_packets(const Scenario& scenario) { return scenario.cluster.network.sharing.name == "packets"; }

PacketEvents estimate(const Measured& of, const Scenario& scenario, std::optional<double> updates_per_epoch) {
  PacketEvents out{of.events, std::nullopt, false};
  if (const std::optional<double> updates = updates_of_run(scenario.training.stop, updates_per_epoch, of.seconds))
    out.of_run = *updates * of.events;
  return out;
}

}  // namespace

std::optional<PacketEvents> packet_events(const Scenario& scenario, std::optional<double> updates_per_epoch) {
  if (!has_packets(scenario)) return std::nullopt;
  const std::optional<Measured> of = measured(scenario, packet_bytes(scenario.cluster.network.sharing));
  return of ? estimate(*of, scenario, updates_per_epoch) : extrapolated_packet_events(scenario, updates_per_epoch);
}

std::optional<PacketEvents> extrapolated_packet_events(const Scenario& scenario, std::optional<double> updates_per_epoch) {
  if (!has_packets(scenario)) return std::nullopt;
  const std::optional<Measured> of = extrapolated(scenario, packet_bytes(scenario.cluster.network.sharing));
  if (!of) return std::nullopt;
  PacketEvents out = estimate(*of, scenario, updates_per_epoch);
  out.extrapolated = true;
  return out;
}

}  // namespace straggler
