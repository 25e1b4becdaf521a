// Money and energy of runs, by sums on paper.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "scenarios/results/figures.hpp"
#include "scenarios/results/summary.hpp"
#include "tests/support/files.hpp"
#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

using Sets = std::vector<std::string>;
constexpr double hour = 3600;

Scalar figure(const RunRecord& record, const char* key) { return scalar_of(summarize(record), key); }

/// Two workers, one twice as slow, and a server, which take turns on links of 1 GB/s with messages of 1 MB.
const std::string turns = scenario_text({.node = "{compute: {affine: {per_sample: 1ms}}}",
                                         .workers = "[{count: 1, device: node}, {count: 1, device: node, slowdown: 2}]",
                                         .servers = "{count: 1}",
                                         .network = "{link: {bandwidth: 1GB/s, latency: 0s}}",
                                         .cost = "{bytes: 1000000B}",
                                         .scheme = "{kind: ssgd, via: server}",
                                         .evaluate = "{every: {updates: 1}}"});

}  // namespace

TEST_CASE("a synchronous server: prices and joules of workers, server and network, at each update and at the end") {
  const Sets costs = {"devices.node.price_per_hour=2.49",
                      "cluster.workers[1].price_per_hour=0.83",
                      "devices.node.power={busy: 700W, idle: 120W, communicating: 250W}",
                      "cluster.servers.price_per_hour=0.4",
                      "cluster.servers.power={busy: 90W, idle: 30W}",
                      "cluster.network.energy_per_byte=5nJ/B",
                      "cluster.currency=EUR"};
  const Result result = run_timing(turns, costs);
  const RunRecord& record = result.record;
  // An update takes 200 ms of the slower one, its message of 1 ms, and 2 ms for both answers over the server's link. The fast one's message
  // arrives meanwhile. The run ends at the tenth update, before its answers.
  const double answered = 0.203, last = 0.201, end = 9 * answered + last;
  REQUIRE(record.end.seconds() == doctest::Approx(end).epsilon(1e-9));
  CHECK(figure(record, "price").number().value() == doctest::Approx(end * (2.49 + 0.83 + 0.4) / hour).epsilon(1e-9));
  const double talking = 9 * 0.003 + 0.001;  // of a worker: its message, and the answers
  const double fast = 700 * 1.0 + 250 * talking + 120 * (end - 1.0 - talking);
  const double slow = 700 * 2.0 + 250 * talking + 120 * (end - 2.0 - talking);
  const double server = 30 * end;  // it handles messages in no time, and communicates at its idle power
  const double bytes = 5e-9 * (10 * 2 + 9 * 2) * 1e6;
  CHECK(figure(record, "energy_joules").number().value() == doctest::Approx(fast + slow + server + bytes).epsilon(1e-9));
  CHECK(*figure(record, "currency").text() == "EUR");
  // So far, at the fifth update.
  const CurvePoint& fifth = record.curve.at(5);
  const double then = 4 * answered + last;
  REQUIRE(fifth.update == 5);
  CHECK(fifth.costs.price.value() == doctest::Approx(then * (2.49 + 0.83 + 0.4) / hour).epsilon(1e-9));
  const double talked = 4 * 0.003 + 0.001;
  CHECK(fifth.costs.joules.value() ==
        doctest::Approx(700 * (0.5 + 1) + 2 * 250 * talked + 120 * (2 * then - 1.5 - 2 * talked) + 30 * then + 5e-9 * (5 * 2 + 4 * 2) * 1e6)
            .epsilon(1e-9));
}

TEST_CASE("a server with work of its own: busy while it handles messages and steps, communicating in flight") {
  const Result result = run_timing(turns, {"cluster.servers.power={busy: 90W, idle: 30W, communicating: 50W}",
                                           "cluster.servers.per_message=4ms", "training.stop.updates=1"});
  // The fast one's message comes at 101 ms and is handled for 4 ms; the other's at 201 ms likewise: then the update.
  const double end = 0.205;
  REQUIRE(result.record.end.seconds() == doctest::Approx(end).epsilon(1e-9));
  CHECK(result.record.costs.joules.value() == doctest::Approx(90 * 0.008 + 50 * 0.002 + 30 * (end - 0.010)).epsilon(1e-9));
  CHECK_FALSE(result.record.costs.price.has_value());
}

TEST_CASE("a worker costs nothing while it is down, before it joins and after it leaves, unless it is billed") {
  const std::string text = scenario_text({.workers = equal_workers(4), .scheme = "{kind: asgd}", .stop = "{simulated_time: 1s}"});
  const Sets faults = {
      "cluster.faults=[{kind: crash, worker: 1, at: 250ms, restart_after: 300ms}, {kind: join, worker: 2, at: 400ms}, "
      "{kind: leave, worker: 3, at: 600ms}]",
      "devices.node.price_per_hour=3600", "devices.node.power={busy: 100W, idle: 10W}"};
  const Result result = run_timing(text, faults);
  REQUIRE(result.record.end.seconds() == doctest::Approx(1));
  CHECK(figure(result.record, "price").number().value() == doctest::Approx(1 + 0.7 + 0.6 + 0.6).epsilon(1e-9));
  double joules = 0;
  for (const WorkerRecord& worker : result.record.workers) {
    const TimeSplit& split = worker.split;
    joules += 100 * (split[Phase::compute] + split[Phase::wasted]).seconds();
    joules += 10 * (split[Phase::communication] + split[Phase::idle] + split[Phase::loading]).seconds();
  }
  CHECK(figure(result.record, "energy_joules").number().value() == doctest::Approx(joules).epsilon(1e-9));
  Sets billed = faults;
  billed.emplace_back("cluster.billed_while_down=true");
  CHECK(figure(run_timing(text, billed).record, "price").number().value() == doctest::Approx(4).epsilon(1e-9));
  billed.emplace_back("cluster.workers[0].billed_while_down=false");  // a group decides for itself
  CHECK(figure(run_timing(text, billed).record, "price").number().value() == doctest::Approx(2.9).epsilon(1e-9));
}

TEST_CASE("a client that is away costs nothing, invited or not") {
  const Files files;
  const std::filesystem::path path = files.write("away.csv", "worker,from_s,to_s\n0,0,2\n1,0,0.5\n1,1.5,2\n2,0.25,0.75\n");
  const std::string text = scenario_text({.workers = "[{count: 3, device: node, availability: {kind: trace, path: " + path.string() + "}}]",
                                          .scheme = "{kind: fedavg, clients: 1, local_steps: 1}",
                                          .stop = "{simulated_time: 2s}"});
  const Result result = run_timing(text, {"devices.node.price_per_hour=3600", "devices.node.power={busy: 100W, idle: 10W}"});
  REQUIRE(result.record.end.seconds() == doctest::Approx(2));
  const double present = 2 + (0.5 + 0.5) + 0.5;
  CHECK(figure(result.record, "price").number().value() == doctest::Approx(present).epsilon(1e-9));
  double busy = 0;
  for (const WorkerRecord& worker : result.record.workers) busy += (worker.split[Phase::compute] + worker.split[Phase::wasted]).seconds();
  CHECK(busy > 0);
  CHECK(figure(result.record, "energy_joules").number().value() == doctest::Approx(100 * busy + 10 * (present - busy)).epsilon(1e-9));
}

TEST_CASE("figures of cost are there only where prices or power are given; unused servers cost nothing") {
  const RunRecord plain = run_timing(turns).record;
  for (const char* const key : {"price", "price_to_target", "energy_joules", "energy_to_target_joules", "currency"})
    for (const SummaryField& field : summarize(plain)) CHECK(field.key != key);
  const RunRecord priced = run_timing(turns, {"devices.node.price_per_hour=1"}).record;
  CHECK(figure(priced, "price").is_number());
  CHECK(figure(priced, "energy_joules").is_none());
  const Sets by_workers = {"devices.node.price_per_hour=3600", "training.scheme={kind: ssgd}", "cluster.servers.price_per_hour=3600"};
  const RunRecord alone = run_timing(turns, by_workers).record;
  CHECK(figure(alone, "price").number().value() == doctest::Approx(2 * alone.end.seconds()).epsilon(1e-9));
  Sets by_servers = by_workers;
  by_servers.emplace_back("cluster.network.collective.algorithm=parameter_server");
  const RunRecord reduced = run_timing(turns, by_servers).record;
  CHECK(figure(reduced, "price").number().value() == doctest::Approx(3 * reduced.end.seconds()).epsilon(1e-9));
}

TEST_CASE("a group without a price beside one with a price is named") {
  const Result result = run_timing(turns, {"cluster.workers[0].price_per_hour=1"});
  const std::string doubt = "the price leaves out cluster.workers[1], which has no price_per_hour";
  CHECK(std::ranges::count(result.record.warnings, doubt) == 1);
}
