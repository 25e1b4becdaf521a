// A race whose entrants weigh clients unequally compares two objectives, if clients have unequal numbers of samples.
#include <doctest/doctest.h>

#include "scenarios/race/race_run.hpp"
#include "scenarios/race/race_tables.hpp"
#include "tests/support/point_data.hpp"
#include "tests/support/scenarios.hpp"
#include "tests/sweep/sweep_fixture.hpp"

namespace two_optima_test {

using namespace straggler;
using namespace straggler::test;

namespace {

std::string scenario_on(const std::string& data) {
  return scenario_text({.name = "two",
                        .seed = 5,
                        .workers = equal_workers(3),
                        .network = "{topology: star, link: {bandwidth: 10MB/s, latency: 1ms}}",
                        .model = "{kind: softmax}",
                        .data = data,
                        .scheme = "{kind: ssgd, via: server}",
                        .batch = "{per_worker: 4}",
                        .stop = "{updates: 3, target_accuracy: 0.9}",
                        .evaluate = "{every: {updates: 1}}"});
}

struct Track {
  Files files;
  Race race;
  Track(const std::string& schemes, const std::string& data) {
    race.scenario = files.write("two.yaml", scenario_on(data));
    race.entrants = entrants_of_schemes(schemes);
    race.seeds = 2;
  }
  std::string warning() const { return two_optima_warning(race, RaceReader(race)).value_or(""); }
};

const std::vector<Client> unequal = {{8, {1, -2, 3}}, {40, {-4, 5, 0}}, {16, {2, 2, -6}}};
const std::vector<Client> even = {{9, {1, -2, 3}}, {8, {-4, 5, 0}}, {8, {2, 2, -6}}};

}  // namespace

TEST_CASE("entrants that average unequally, on workers with unequal numbers of samples, aim at two optima: the race says so") {
  const PointData points(unequal), split(even);
  const std::string parts = points.data(true), pool = points.data(false), alike = split.data(true);
  const auto warned = [](const std::string& schemes, const std::string& data) { return Track(schemes, data).warning(); };
  CHECK(
      warned("fedavg,scaffold", parts) ==
      "workers have 8 to 40 samples, so the entrants aim at two optima: average is plain in scaffold, by_samples in fedavg; write the same "
      "for all");
  CHECK(
      warned("ssgd,a=fedavg,feddyn,b={kind: fedbuff, average: by_samples}", parts).find("is plain in ssgd, feddyn, by_samples in a, b;") !=
      std::string::npos);
  CHECK(warned("{kind: scaffold, average: by_samples},fedavg,asgd", parts).empty());
  CHECK(warned("{kind: fedavg, average: plain},scaffold,ssgd,easgd", parts).empty());
  CHECK(warned("fedavg,fednova", parts).empty());
  // Drawn by their samples, clients with more of them are in more rounds: that does not move the optimum of SCAFFOLD.
  CHECK_FALSE(warned("{kind: fedavg, average: plain, selection: by_samples},ssgd", parts).empty());
  CHECK(warned("{kind: scaffold, selection: by_samples},ssgd", parts).empty());
  // An even split has parts that differ by one sample at most; a pool has none.
  CHECK(warned("fedavg,scaffold", alike).empty());
  CHECK(warned("fedavg,scaffold", pool).empty());
  Track timing("fedavg,scaffold", parts);
  timing.race.timing_only = true;
  CHECK(timing.warning().empty());
}

TEST_CASE("the table of a race and its JSON have that warning") {
  const PointData points(unequal);
  const Track track("fedavg,scaffold", points.data(true));
  const RaceReader reader(track.race);
  SweepState state(":memory:");
  PoolOptions options;
  options.jobs = 1;
  PointPool pool(options, state, nullptr, {});
  const RaceOutcome outcome = run_race(track.race, reader, pool);
  CHECK(outcome.two_optima == track.warning());
  CHECK(race_table(outcome).find("\nwarning: " + track.warning() + "\n") != std::string::npos);
}

}  // namespace two_optima_test
