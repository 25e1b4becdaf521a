// Races by price, energy and bytes: other winners than by time, with the same tests.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "scenarios/race/race_reasons.hpp"
#include "scenarios/race/race_run.hpp"
#include "scenarios/race/race_tables.hpp"
#include "scenarios/report/race_page.hpp"
#include "scenarios/schema/errors.hpp"
#include "tests/support/files.hpp"
#include "tests/support/scenarios.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

/// Runs of one track, judged by each measure: what was run once is not run again.
class CostTrack {
 public:
  CostTrack(const std::string& text, const std::string& schemes, std::size_t seeds) : state_(":memory:"), store_(":memory:") {
    race.scenario = files_.write("costs.yaml", text);
    race.entrants = entrants_of_schemes(schemes);
    race.seeds = seeds;
  }

  RaceOutcome by(Measure measure) {
    race.by = measure;
    const RaceReader reader(race);
    PoolOptions options;
    options.jobs = 2;
    PointPool pool(options, state_, &store_, {});
    return run_race(race, reader, pool);
  }
  std::string refused(Measure measure) {
    race.by = measure;
    return said(files_, [&] { RaceReader reader(race); });
  }

  Race race;

 private:
  Files files_;
  SweepState state_;
  EvaluationFile store_;
};

std::string winner(const RaceOutcome& outcome) {
  const std::optional<std::size_t> first = outcome.verdicts.back().winner;
  return first ? outcome.entrants[*first].label : "nobody";
}

double mean(const RaceOutcome& outcome, std::size_t entrant) { return statistics_of(outcome.times(outcome.finishes.back())[entrant]).mean; }

/// Eight nodes, two of them slow, and messages that matter.
const std::string three =
    scenario_text({.node = "{compute: {affine: {overhead: 2ms, per_sample: 1ms}}, jitter: {kind: lognormal, sigma: 0.3}, "
                           "price_per_hour: 2, power: {busy: 200W, idle: 50W}}",
                   .workers = "[{count: 6, device: node}, {count: 2, device: node, slowdown: 3}]",
                   .servers = "{count: 1, price_per_hour: 1}",
                   .network = "{link: {bandwidth: 10MB/s, latency: 200us}}",
                   .data = "{kind: coordinates, samples: 800, test_samples: 200}",
                   .cost = "{bytes: 50000B}",
                   .scheme = "asgd",
                   .batch = "{per_worker: 20}",
                   .optimizer = "{kind: sgd, learning_rate: 0.2}",
                   .stop = "{epochs: 200, target_accuracy: 0.75}",
                   .evaluate = "{every: {epochs: 0.5}, train_samples: 50}"});

/// Phones, a fifth of them slow, that train in rounds or at any time.
const std::string phones =
    scenario_text({.node = "{compute: {affine: {overhead: 20ms, per_sample: 5ms}}, jitter: {kind: lognormal, sigma: 0.5}}",
                   .workers = "[{count: 20, device: node}, {count: 5, device: node, slowdown: 6}]",
                   .servers = "{count: 1, link: {bandwidth: 1Gbps}}",
                   .network = "{topology: wan, link: {up: 10Mbps, down: 50Mbps, latency: 30ms}}",
                   .data = "{kind: coordinates, samples: 2000, test_samples: 500, partition: {kind: dirichlet, alpha: 0.5}}",
                   .scheme = "fedavg",
                   .batch = "{per_worker: 20}",
                   .optimizer = "{kind: sgd, learning_rate: 0.1}",
                   .stop = "{updates: 1500, target_accuracy: 0.75}",
                   .evaluate = "{every: {updates: 4}, train_samples: 20}"});

}  // namespace

TEST_CASE("three measures, three winners: each wins only by its own test, and the reason is a product of two factors") {
  CostTrack track(three, "asgd,local={kind: local_sgd, steps: 64}", 5);
  track.race.entrants.push_back(entrant_of_yaml("two: {training.scheme: ssgd, \"cluster.workers\": [{count: 2, device: node}]}"));
  const RaceOutcome time = track.by(Measure::time), price = track.by(Measure::price), bytes = track.by(Measure::bytes);
  CHECK(winner(time) == "asgd");
  CHECK(winner(price) == "two");
  CHECK(winner(bytes) == "local");
  for (const RaceOutcome* const outcome : {&time, &price, &bytes})
    for (const PairVerdict& pair : outcome->verdicts.back().pairs)
      if (pair.better()) CHECK(pair.step.adjusted < family_wise_error);
  // Price is time by the price of an hour: of eight nodes and a server, and of two nodes.
  const auto values = [](const RaceOutcome& of, std::size_t entrant) { return of.times(of.finishes.back())[entrant]; };
  for (std::size_t run = 0; run < 5; ++run) {
    CHECK(*values(price, 0)[run] == doctest::Approx(*values(time, 0)[run] * (8 * 2 + 1) / 3600).epsilon(1e-9));
    CHECK(*values(price, 2)[run] == doctest::Approx(*values(time, 2)[run] * (2 * 2) / 3600).epsilon(1e-9));
  }
  const std::string table = race_table(price);
  CHECK(table.find("price to 0.75 (target): two wins") != std::string::npos);
  CHECK(table.find("b's price over a's") != std::string::npos);
  CHECK(table.find("* wins: significantly cheaper than every other entrant\n") != std::string::npos);
  CHECK(table.find("why: two is cheaper to 0.75 (target) than asgd, because it pays 76 % less an hour, although it takes ") !=
        std::string::npos);  // 4 instead of 17
  CHECK(race_table(bytes).find("why: local sends fewer bytes to 0.75 (target) than asgd, because it sends ") != std::string::npos);
  CHECK(race_csv(price).starts_with("scheme,threshold,seed,price\n"));
  CHECK(race_csv(bytes).starts_with("scheme,threshold,seed,bytes\n"));
  CHECK(race_csv(time).starts_with("scheme,threshold,seed,time_s\n"));
  CHECK(verdicts_csv(price).find(",price_ratio,") != std::string::npos);
  CHECK(race_json(price, "r").find("\"by\": \"price\"") != std::string::npos);
  CHECK(race_json(time, "r").find("\"by\"") == std::string::npos);
  const std::string page = race_page(time, Description());
  CHECK(page.find("Time against price") != std::string::npos);
  CHECK(page.find("Time against energy") != std::string::npos);
}

TEST_CASE("phones over ten seeds: by time fedbuff, by bytes fedavg") {
  CostTrack track(phones, "avg={kind: fedavg, clients: 5, local_epochs: 2},buff={kind: fedbuff, clients: 20, buffer: 10, local_epochs: 2}",
                  10);
  const RaceOutcome time = track.by(Measure::time), bytes = track.by(Measure::bytes);
  CHECK(mean(time, 1) < mean(time, 0));
  CHECK(mean(bytes, 0) < mean(bytes, 1));
  CHECK(winner(time) == "buff");
  CHECK(winner(bytes) == "avg");
  CHECK(time.verdicts.back().pairs.front().step.adjusted < family_wise_error);
  CHECK(bytes.verdicts.back().pairs.front().step.adjusted < family_wise_error);
  // Neither has a price, nor power.
  CHECK(track.refused(Measure::price).find("--by price needs a price, and the scenario has none; write devices.node.price_per_hour") !=
        std::string::npos);
  CHECK(track.refused(Measure::energy).find("--by energy needs the power of the machines") != std::string::npos);
}

TEST_CASE("without learning: the price of an epoch, exact where nothing is random") {
  CostTrack track(scenario_text({.node = "{compute: {affine: {per_sample: 1ms}}, price_per_hour: 3600}",
                                 .workers = equal_workers(4),
                                 .data = "{kind: coordinates, samples: 800, test_samples: 200}",
                                 .batch = "{per_worker: 20}",
                                 .stop = "{epochs: 1}"}),
                  "ssgd", 2);
  track.race.timing_only = true;
  track.race.entrants.push_back(entrant_of_yaml("two: {\"cluster.workers\": [{count: 2, device: node}]}"));
  const RaceOutcome outcome = track.by(Measure::price);
  REQUIRE(outcome.exact);
  // 800 samples of 1 ms cost 0.8 on any number of workers.
  for (std::size_t entrant : {0, 1}) CHECK(mean(outcome, entrant) == doctest::Approx(0.8).epsilon(1e-4));
  CHECK(race_table(outcome).find("price an epoch") != std::string::npos);
}
