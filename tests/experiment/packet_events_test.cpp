// What `check` expects of a run's events where messages are packets, against the events of the run.
#include "scenarios/experiment/packet_events.hpp"

#include <doctest/doctest.h>

#include "scenarios/schema/reader.hpp"
#include "tests/support/run.hpp"
#include "tests/support/sanitized.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

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
      const auto events = packet_events(read_scenario_text(cluster(4), "test.yaml", sets));
      REQUIRE(events);
      REQUIRE(events->of_run);
      check_within(1.05, *events->of_run, events_of_run(sets));
    }
}

TEST_CASE("events extrapolated from larger packets are within a fifth of those of the run" * long_case) {
  for (const char* scheme : schemes) {
    CAPTURE(scheme);
    const std::vector<std::string> sets = with(scheme, "{kind: packets, packet: 1448B, window: 256KiB}");
    const auto events = extrapolated_packet_events(read_scenario_text(cluster(4), "test.yaml", sets));
    REQUIRE(events);
    CHECK(events->extrapolated);
    check_within(1.2, *events->of_run, events_of_run(sets));
  }
}

TEST_CASE("the earliest stop says how many updates a run has") {
  std::vector<std::string> sets = with("asgd", "packets");
  for (const char* stop : {"{epochs: 3}", "{epochs: 3, updates: 100}", "{epochs: 3, simulated_time: 4s}", "{simulated_time: 10s}"}) {
    CAPTURE(stop);
    sets.back() = std::string("training.stop=") + stop;
    const auto events = packet_events(read_scenario_text(cluster(4), "test.yaml", sets));
    REQUIRE(events);
    REQUIRE(events->of_run);
    check_within(1.05, *events->of_run, events_of_run(sets));
  }
}

TEST_CASE("only packets have an estimate of their events") {
  CHECK_FALSE(packet_events(read_scenario_text(cluster(4), "test.yaml", with("asgd", "max_min"))));
}
