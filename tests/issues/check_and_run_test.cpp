// What `check` said of scenarios that `run` takes: refusals, internal errors, times below 0, and events that no run has.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "scenarios/experiment/packet_events.hpp"
#include "scenarios/experiment/update_times.hpp"
#include "scenarios/reasons/explain.hpp"
#include "scenarios/reasons/update_parts.hpp"
#include "scenarios/schema/errors.hpp"
#include "sim/network/packet_sizes.hpp"
#include "tests/network/run.hpp"
#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

/// However slow the machine is.
UpdateParts patient_parts(const Scenario& scenario) { return straggler::update_parts(scenario, 600); }

using Settings = std::vector<std::string>;

Scenario scenario(const Settings& sets, int workers = 2) { return read_scenario_text(cluster(workers), "test.yaml", sets); }

const std::string in_packets = "cluster.network.sharing=packets";
constexpr double compute = 0.1;  // seconds, of a batch

}  // namespace

TEST_CASE("an update takes as long whatever the schedule of learning rates is") {
  for (const char* const kind : {"cosine", "polynomial", "step"}) {
    CAPTURE(kind);
    std::string schedule = "training.schedule={kind: " + std::string(kind) + "}";
    if (kind == std::string("step")) schedule = "training.schedule={kind: step, at: [1]}";
    const UpdateParts parts = patient_parts(scenario({"training.scheme=asgd", "training.stop={epochs: 3}", schedule}));
    CHECK(parts.why_not == "");
    CHECK(parts.seconds == doctest::Approx(compute / 2).epsilon(1e-6));  // two workers
  }
}

TEST_CASE("no phase of an update is below 0, also where a short run ends in a wait that a longer one does not have") {
  // Update 22 of the first run completes an epoch and waits 20 ms for its serial part; the run of 46 updates loads its next batch
  // meanwhile.
  const Scenario epochs = scenario({"devices.node.loader={per_sample: 0.5ms, workers: 0}", "workload.data={kind: none, samples: 1100}",
                                    "workload.cost.bytes=4kB", "workload.serial_per_epoch=20ms", "training.stop={updates: 100}"},
                                   1);
  const UpdateParts parts = patient_parts(epochs);
  REQUIRE(parts.first == 22);
  REQUIRE(parts.last == 46);
  CHECK(std::ranges::min(parts.phases) >= 0);
  const double loading = 0.05, serial = 0.02, between = 24 * (compute + loading) - serial;
  CHECK(std::accumulate(parts.phases.begin(), parts.phases.end(), 0.0) == doctest::Approx(between / 24));
}

TEST_CASE("a run with a schedule is explained, also where its time was over first") {
  for (const char* const stop : {"{epochs: 3}", "{epochs: 3, simulated_time: 0.55s}"}) {
    CAPTURE(stop);
    ExplainOptions options;
    options.run.timing_only = options.slowdowns = true;
    const Explained explained = explain(scenario({"training.scheme=asgd", "training.schedule=cosine", std::string("training.stop=") + stop,
                                                  "devices.node.jitter=exponential"}),
                                        options);
    const auto jitter = std::ranges::find(explained.rows, Cause::jitter, &CauseRow::cause);
    REQUIRE(jitter != explained.rows.end());
    CHECK(jitter->figures);
    CHECK(explained.slowdowns.value().note == "");
  }
}

TEST_CASE("a link that carried packets in less than a tick may go down") {
  EventQueue queue;
  Network network(queue);
  network.set_packets({1e3, 1e4, 10, std::numeric_limits<std::uint64_t>::max()});
  const LinkId link = network.add_link(1e30);  // a kilobyte in 1e-27 s; a tick is 1e-12 s
  Note before(queue);
  network.start({.route = {&link, 1}, .bytes = 5e3}, before);
  straggler::run(queue, network);
  CHECK(before.when == Time());
  network.set_capacity(link, 0);
  CHECK(network.worst_overload() == 0);
}

TEST_CASE("a link may end a run in debt to its bucket while a small packet waits there") {
  // A packet of 1000 B leaves a bucket of 400 B with a debt of 600 B, and its acknowledgement waits until that is paid, on the same link.
  EventQueue queue;
  Network network(queue);
  network.set_packets({1e3, 1e4, 10, std::numeric_limits<std::uint64_t>::max()});
  const LinkId link = network.add_link(1e3);
  network.set_bucket(link, 400, 1e6);
  Note arrived(queue);
  network.start({.route = {&link, 1}, .bytes = 1e3, .back = {&link, 1}}, arrived);
  straggler::run_until(queue, network, Time::from_seconds(0.01));
  CHECK(arrived.times == 1);
  CHECK(network.worst_overload() == 0);
}

TEST_CASE("check times packets on unlimited links of which one goes down") {
  // The link of worker 1 is down from its second batch until long after the timed updates.
  const UpdateParts parts = patient_parts(scenario(
      {"training.scheme=asgd", in_packets, "cluster.faults=[{kind: link, worker: 1, from: 0.15s, to: 1000s, bandwidth_factor: 0}]"}));
  CHECK(parts.seconds == doctest::Approx(compute).epsilon(1e-3));  // worker 0 alone
  CHECK(parts.faulty);
  CHECK_FALSE(parts.changes);
}

TEST_CASE("interrupted work takes no time below 0") {
  for (const char* const scheme : {"{kind: k_batch_sync, k: 3}", "{kind: k_sync, k: 1}", "{kind: asgd, answers: at_once, max_delay: 1}",
                                   "{kind: rennala, batch: 6}"}) {
    CAPTURE(scheme);
    const UpdateParts parts =
        patient_parts(scenario({std::string("training.scheme=") + scheme, "cluster.network.link={bandwidth: 100Mbps, latency: 400ms}",
                                "cluster.workers=[{count: 3, device: node, slowdown: 0.1}, {count: 2, device: node, slowdown: 0.13}]"}));
    CHECK(parts.why_not == "");
    CHECK(std::ranges::min(parts.phases) >= 0);
    if (parts.own_cycle) continue;
    CHECK(std::accumulate(parts.phases.begin(), parts.phases.end(), 0.0) == doctest::Approx(parts.seconds));
  }
}

TEST_CASE("check refuses a deadline that nobody can meet, as run does") {
  const Settings sets = {"training.scheme={kind: fednova, deadline: {time: 50ms}}", "training.stop={epochs: 3}"};
  const auto refusal = [](const auto& of) -> std::string {
    try {
      of();
    } catch (const ScenarioErrors& errors) {
      return errors.lines().front();
    }
    return {};
  };
  const std::string said = refusal([&] { patient_parts(scenario(sets)); });
  CHECK(said.find("in 1000 consecutive rounds") != std::string::npos);
  CHECK(said == refusal([&] { run_timing(cluster(2), sets); }));
  // A run that ends before is not refused.
  const UpdateParts parts = patient_parts(scenario({sets[0], "training.stop={updates: 5}"}));
  CHECK(parts.empty);
  CHECK(parts_text(scenario(sets), parts).find("to which nobody contributed") != std::string::npos);
}

TEST_CASE("the time of an update is that of the updates that check names, whatever the limit of simulated time is") {
  const Settings sets = {"training.scheme=asgd", "devices.node.jitter=exponential",
                         "cluster.network.link={bandwidth: 10kB/s, latency: 1ms}"};
  const auto with_stop = [&](const std::string& stop) {
    Settings all = sets;
    all.push_back("training.stop=" + stop);
    return all;
  };
  const UpdateParts parts = patient_parts(scenario(with_stop("{simulated_time: 0.3s}"), 3));  // two or three updates
  CHECK(parts.first + 1 < parts.last);
  const auto end_of = [&](std::uint64_t updates) {
    return run_timing(cluster(3), with_stop("{updates: " + std::to_string(updates) + "}")).record.end.seconds();
  };
  const double first = end_of(parts.first), last = end_of(parts.last);
  CHECK(parts.seconds == doctest::Approx((last - first) / static_cast<double>(parts.last - parts.first)));
  CHECK(parts.first_half + parts.second_half == doctest::Approx(2 * parts.seconds));  // an even number of updates
}

TEST_CASE("check times epochs without the samples that are held out for validation") {
  const Settings sets = {"training.scheme={kind: fedavg, local_epochs: 1}", "training.evaluate={split: validation}",
                         "workload.data={kind: coordinates, samples: 1000}"};
  const auto with_stop = [&](const char* stop) {
    Settings all = sets;
    all.push_back(std::string("training.stop=") + stop);
    return all;
  };
  const double of_ten = run_timing(cluster(2), with_stop("{updates: 10}")).record.end.seconds();
  CHECK(patient_parts(scenario(with_stop("{epochs: 1}"))).seconds == doctest::Approx(of_ten / 10).epsilon(1e-6));
  CHECK(of_ten / 10 < 0.5);  // 500 samples a worker, fewer without those held out
}

TEST_CASE("a run that ends early is timed to its last update, and check says so") {
  // Both workers make three updates of 0.1 s, and then leave: nothing comes until the end of the run.
  const Settings sets = {"training.scheme=asgd", "training.stop={updates: 100}",
                         "cluster.faults=[{kind: crash, worker: 0, at: 0.35s}, {kind: crash, worker: 1, at: 0.39s}]"};
  const UpdateParts parts = patient_parts(scenario(sets));
  CHECK(parts.first == 0);
  CHECK(parts.last == 6);
  CHECK(parts.seconds == doctest::Approx(3 * compute / 6).epsilon(1e-3));
  CHECK(parts.outcome == Outcome::all_workers_down);
  CHECK(parts_text(scenario(sets), parts).find("after which the run ends (all_workers_down)") != std::string::npos);
}

TEST_CASE("where no update comes, check says why it has no time") {
  const Settings sets = {"training.scheme=asgd", "training.stop={updates: 100}", "cluster.faults=[{kind: crash, worker: 0, at: 0.05s}]",
                         "cluster.workers=[{count: 1, device: node}]"};
  const UpdateParts parts = patient_parts(scenario(sets, 1));
  CHECK(parts_text(scenario(sets, 1), parts) == "is not timed: the run ends before its first update (all_workers_down)");
}

TEST_CASE("events of a short run are those of the run") {
  for (const char* const stop :
       {"{updates: 1}", "{updates: 7}", "{epochs: 0.1}", "{simulated_time: 0.25s}", "{updates: 1000, epochs: 0.5}"}) {
    CAPTURE(stop);
    const Settings sets = {"training.scheme={kind: ssgd, via: server}", in_packets, "workload.cost={bytes: 200kB}",
                           std::string("training.stop=") + stop};
    const auto events = packet_events(scenario(sets));
    REQUIRE(events);
    REQUIRE(events->of_run);
    CHECK(*events->of_run == static_cast<double>(run_timing(cluster(2), sets).record.events));
  }
}

TEST_CASE("the events of a run whose clients come and go are not guessed from its first updates") {
  const Settings sets = {"training.scheme={kind: fedavg, clients: 1}", in_packets, "training.stop={updates: 300}",
                         "cluster.workers[0].availability={kind: on_off, on: 10s, off: 100s}"};
  const auto events = packet_events(scenario(sets));
  REQUIRE(events);
  CHECK_FALSE(events->of_run);
  CHECK(patient_parts(scenario(sets)).changes);
}

// A protocol of NCCL has a share of the bandwidth that one message has, not of that of links of which its window fills a part.
TEST_CASE("an all-reduce of NCCL in windows takes as long on links that no window fills") {
  const auto seconds = [](const char* bandwidth) {
    return run_timing(cluster(2), {"training.scheme={kind: ssgd, via: all_reduce}", "cluster.network.sharing=lv08",
                                   "cluster.network.collective={algorithm: nccl}",
                                   "cluster.network.link={latency: 10us, bandwidth: " + std::string(bandwidth) + "}"})
        .record.end.seconds();
  };
  // Windows of 4 MiB on a way of 20 us to and fro: 105 GB/s at most.
  CHECK(seconds("900000000GB/s") == doctest::Approx(seconds("1000GB/s")).epsilon(1e-6));
  const Scenario on_lv08 =
      scenario({"training.scheme={kind: ssgd, via: all_reduce}", "cluster.network.sharing=lv08",
                "cluster.network.collective={algorithm: nccl}", "cluster.network.link={latency: 10us, bandwidth: 1Gbps}"});
  CHECK(patient_parts(on_lv08).why_not == "");
}
