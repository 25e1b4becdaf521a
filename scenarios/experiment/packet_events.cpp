#include "scenarios/experiment/packet_events.hpp"

#include <algorithm>

#include "scenarios/experiment/update_times.hpp"
#include "sim/base/registry.hpp"
#include "sim/cluster/transport.hpp"

namespace straggler {

namespace {

constexpr double most_wall_seconds = 0.5;

/// The updates of a run that continues as the short one does, from its last update on.
std::optional<double> updates_of_run(const StopSpec& stop, const TimedUpdates& runs) {
  const auto last = static_cast<double>(runs.last());
  std::optional<double> least;
  const auto ends = [&](double updates) { least = std::min(least.value_or(updates), updates); };
  if (stop.updates) ends(static_cast<double>(*stop.updates));
  const double epochs = (runs.gone_on.epochs - (runs.begun ? runs.begun->epochs : 0)) / runs.updates();
  if (stop.epochs && epochs > 0) ends(last + (*stop.epochs - runs.gone_on.epochs) / epochs);
  if (stop.simulated_time && runs.seconds() > 0) ends(last + (*stop.simulated_time - runs.gone_on.end.seconds()) / runs.seconds());
  return least;
}

bool clients_come_and_go(const Scenario& scenario) {
  return std::ranges::any_of(scenario.cluster.workers, [](const WorkerGroup& group) { return group.availability.name != "always"; });
}

std::optional<PacketEvents> measured(Scenario scenario, double packet_bytes) {
  scenario.cluster.network.sharing.parameters.set("packet", packet_bytes);
  const std::optional<TimedUpdates> runs = timed_if_possible(scenario, {}, most_wall_seconds);
  if (!runs) return std::nullopt;
  PacketEvents out;
  out.of_update = static_cast<double>(runs->gone_on.events - (runs->begun ? runs->begun->events : 0)) / runs->updates();
  const std::optional<RunRecord> own = first_updates(scenario, runs->last() + 1, most_wall_seconds);
  if (!own) return std::nullopt;
  if (own->updates <= runs->last()) {
    out.of_run = static_cast<double>(own->events);
  } else if (!clients_come_and_go(scenario)) {
    if (const std::optional<double> updates = updates_of_run(scenario.training.stop, *runs))
      out.of_run = static_cast<double>(runs->gone_on.events) + (*updates - static_cast<double>(runs->last())) * out.of_update;
  }
  return out;
}

/// With packets that are 2, 32, 512 … times larger, and with packets twice as large as these.
std::optional<PacketEvents> extrapolated(const Scenario& scenario, double packet_bytes) {
  constexpr double largest = 1 << 17;
  for (double larger = 2; larger <= largest; larger *= 16) {
    const std::optional<PacketEvents> fine = measured(scenario, larger * packet_bytes);
    if (!fine) continue;
    const std::optional<PacketEvents> coarse = measured(scenario, 2 * larger * packet_bytes);
    if (!coarse) return std::nullopt;
    const auto exact = [larger](double of_fine, double of_coarse) {
      const double of_packets = 2 * larger * (of_fine - of_coarse);  // with those of the scenario
      return of_fine + of_packets * (1 - 1 / larger);
    };
    PacketEvents out;
    out.extrapolated = true;
    out.of_update = exact(fine->of_update, coarse->of_update);
    if (fine->of_run && coarse->of_run) out.of_run = exact(*fine->of_run, *coarse->of_run);
    return out;
  }
  return std::nullopt;
}

double packet_bytes(const Kind& sharing) {
  return complete(Registry<SharingEntry>::instance().at(sharing.name).parameters, sharing.parameters).number("packet");
}

bool has_packets(const Scenario& scenario) { return scenario.cluster.network.sharing.name == "packets"; }

}  // namespace

std::optional<PacketEvents> packet_events(const Scenario& scenario) {
  if (!has_packets(scenario)) return std::nullopt;
  const std::optional<PacketEvents> exact = measured(scenario, packet_bytes(scenario.cluster.network.sharing));
  return exact ? exact : extrapolated_packet_events(scenario);
}

std::optional<PacketEvents> extrapolated_packet_events(const Scenario& scenario) {
  if (!has_packets(scenario)) return std::nullopt;
  return extrapolated(scenario, packet_bytes(scenario.cluster.network.sharing));
}

}  // namespace straggler
