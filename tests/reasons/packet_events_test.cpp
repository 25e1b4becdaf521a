// What `check` expects of a run's events where messages are packets, against the events of the run.
#include "scenarios/experiment/packet_events.hpp"

#include <doctest/doctest.h>

#include "scenarios/schema/reader.hpp"
#include "support/run.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

constexpr double updates = 300;

std::vector<std::string> with(const std::string& scheme, const std::string& sharing) {
  return {"training.scheme=" + scheme,
          "cluster.network.sharing=" + sharing,
          "cluster.network.link={bandwidth: 1Gbps, latency: 50us}",
          "cluster.network.collective={algorithm: ring, fidelity: stepwise}",
          "devices.node.jitter={kind: lognormal, sigma: 0.3}",
          "workload.cost={bytes: 1MB}",
          "training.stop={updates: 300}"};
}

double events_of_run(const std::vector<std::string>& sets) { return static_cast<double>(run_timing(cluster(4), sets).record.events); }

void check_within(double factor, double estimate, double truth) {
  CHECK_MESSAGE(estimate <= factor * truth, estimate, " of ", truth);
  CHECK_MESSAGE(truth <= factor * estimate, estimate, " of ", truth);
}

const char* const schemes[] = {"{kind: asgd, answers: at_once}", "{kind: ssgd, via: server}",   "{kind: ssgd, via: all_reduce}",
                               "{kind: dpsgd, graph: ring}",     "{kind: local_sgd, steps: 4}", "{kind: easgd}"};

}  // namespace

TEST_CASE("the events of a run with packets are within 5 % of the estimate") {
  for (const char* scheme : schemes)
    for (const char* sharing :
         {"packets", "{kind: packets, packet: 20kB, window: 256KiB}", "{kind: packets, packet: 1MB, acknowledgement: 0B}"}) {
      CAPTURE(scheme);
      CAPTURE(sharing);
      const std::vector<std::string> sets = with(scheme, sharing);
      const auto events = packet_events(read_scenario_text(cluster(4), "test.yaml", sets), std::nullopt);
      REQUIRE(events);
      REQUIRE(events->of_run);
      CHECK(*events->of_run == doctest::Approx(updates * events->of_update));
      check_within(1.05, *events->of_run, events_of_run(sets));
    }
}

TEST_CASE("events extrapolated from larger packets are within a fifth of those of the run") {
  for (const char* scheme : schemes) {
    CAPTURE(scheme);
    const std::vector<std::string> sets = with(scheme, "{kind: packets, packet: 1448B, window: 256KiB}");
    const auto events = extrapolated_packet_events(read_scenario_text(cluster(4), "test.yaml", sets), std::nullopt);
    REQUIRE(events);
    CHECK(events->extrapolated);
    check_within(1.2, *events->of_run, events_of_run(sets));
  }
}

TEST_CASE("the earliest stop says how many updates a run has") {
  std::vector<std::string> sets = with("asgd", "packets");
  const auto estimate = [&](const std::string& stop, std::optional<double> updates_per_epoch) {
    sets.back() = "training.stop=" + stop;
    const auto events = packet_events(read_scenario_text(cluster(4), "test.yaml", sets), updates_per_epoch);
    REQUIRE(events);
    return events->of_run ? *events->of_run / events->of_update : 0;
  };
  CHECK(estimate("{epochs: 3}", 40) == doctest::Approx(120));
  CHECK(estimate("{epochs: 3, updates: 100}", 40) == doctest::Approx(100));
  CHECK(estimate("{epochs: 3}", std::nullopt) == 0);
  // Four workers that compute for 0.1 s: more than ten updates a second, and no more than forty.
  CHECK(estimate("{simulated_time: 10s}", 40) > 100);
  CHECK(estimate("{simulated_time: 10s}", 40) < 400);
}

TEST_CASE("only packets have an estimate of their events") {
  CHECK_FALSE(packet_events(read_scenario_text(cluster(4), "test.yaml", with("asgd", "max_min")), 10));
}
