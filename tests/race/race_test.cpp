#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "scenarios/race/race_reasons.hpp"
#include "scenarios/race/race_run.hpp"
#include "scenarios/race/race_tables.hpp"
#include "scenarios/report/race_page.hpp"
#include "scenarios/results/text.hpp"
#include "scenarios/schema/errors.hpp"
#include "sim/base/random.hpp"
#include "sim/base/readable.hpp"
#include "sim/training/scheme.hpp"
#include "tests/support/files.hpp"
#include "tests/support/scenarios.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

const std::string scenario = scenario_text({.name = "small",
                                            .seed = 5,
                                            .node = "{compute: {affine: {per_sample: 1ms}}, jitter: {kind: lognormal, sigma: 0.3}}",
                                            .workers = equal_workers(3),
                                            .network = "{topology: star, link: {bandwidth: 10MB/s, latency: 1ms}}",
                                            .data = "{kind: coordinates, samples: 800, test_samples: 200}",
                                            .scheme = "{kind: ssgd, via: server}",
                                            .batch = "{per_worker: 10}",
                                            .optimizer = "{kind: sgd, learning_rate: 0.1, momentum: 0.5}",
                                            .stop = "{epochs: 60, target_accuracy: 0.7}",
                                            .evaluate = "{every: {epochs: 0.5}, thresholds: [0.6, 0.8], train_samples: 50}"});

struct Raced {
  RaceOutcome outcome;
  std::string race, tuning, verdicts, table;
};

struct Track {
  Files files;
  Race race;

  explicit Track(const std::string& schemes, const std::string& text = scenario) {
    race.scenario = files.write("small.yaml", text);
    race.entrants = entrants_of_schemes(schemes);
  }
  Raced run(unsigned jobs = 1) const {
    const RaceReader reader(race);
    SweepState state(":memory:");
    EvaluationFile store(":memory:");
    PoolOptions options;
    options.jobs = jobs;
    PointPool pool(options, state, &store, {});
    Raced raced{run_race(race, reader, pool), {}, {}, {}, {}};
    raced.race = race_csv(raced.outcome);
    if (race.tuning) raced.tuning = tuning_csv(raced.outcome);
    raced.verdicts = verdicts_csv(raced.outcome);
    raced.table = race_table(raced.outcome);
    return raced;
  }
  std::string refused() const {
    return said(files, [&] { RaceReader reader(race); });
  }
};

}  // namespace

TEST_CASE("one scheme under two names, from the same seeds: not the least difference") {
  Track place("a={kind: asgd},b={kind: asgd}");
  const Raced raced = place.run();
  for (const Verdict& verdict : raced.outcome.verdicts) {
    CHECK_FALSE(verdict.winner.has_value());
    CHECK(verdict.pairs[0].test.p == 1);
  }
  CHECK(raced.table.find("time to 0.7 (target): no difference\n") != std::string::npos);
  // A finish beyond the target, at which runs end, is left out and said to be.
  CHECK(raced.race.find("0.8") == std::string::npos);
  CHECK(raced.table.find("note: 0.8 is above the target") != std::string::npos);
  CHECK(raced.table.find("why: a and b take as long to 0.7 (target): a handles as many samples per second and needs as many samples\n") !=
        std::string::npos);
  CHECK(count(raced.race, "\n") == 1 + 2 * 2 * 5);
}

TEST_CASE("a race that tunes nothing says so, with the learning rate that all share; a tuned one does not") {
  const std::string rate =
      "nothing is tuned: one learning rate for all, 0.1, may suit one scheme better; --tune learning_rate tunes it "
      "for each alike";
  Track place("ssgd,asgd");
  place.race.seeds = 2;
  const Raced plain = place.run();
  CHECK(plain.outcome.notes.back() == rate);
  CHECK(plain.table.find("\nnote: " + rate + "\n") != std::string::npos);
  CHECK(race_json(plain.outcome, "r").find(rate) != std::string::npos);
  CHECK(race_page(plain.outcome, Description()).find(rate) != std::string::npos);
  place.race.entrants.push_back(entrant_of_yaml("slow: {training.scheme: asgd, training.optimizer.learning_rate: 0.05}"));
  const RaceReader others(place.race);
  CHECK(others.notes().back().starts_with("nothing is tuned: the learning rates are those given; "));
  place.race.entrants.pop_back();
  place.race.tuning = tuning_of({"learning_rate"}, 2);
  const RaceReader tuned(place.race);
  for (const std::string& note : tuned.notes()) CHECK(note.find("tuned") == std::string::npos);
}

TEST_CASE("a race whose evaluations are far apart says how late the finish may be seen") {
  const auto warnings_at = [](const std::string& every) {
    std::string text = scenario;
    const std::string usual = "every: {epochs: 0.5}";
    text.replace(text.find(usual), usual.size(), "every: {epochs: " + every + "}");
    Track place("ssgd,asgd", text);
    place.race.seeds = 2;
    const Raced raced = place.run();
    std::string all;
    for (const std::string& warning : raced.outcome.warnings()) all += "warning: " + warning + "\n";
    CHECK(raced.table.find(all) != std::string::npos);
    return all;
  };
  CHECK(warnings_at("0.1").find("apart at") == std::string::npos);
  const std::string coarse = warnings_at("20");  // it is there long before the first one
  CHECK(
      coarse.find(" apart at 0.6, 100.0 % of its time to it, which may be that much too long; write a shorter training.evaluate.every\n") !=
      std::string::npos);
}

TEST_CASE("evaluations as far apart as updates ask for shorter updates, and tell the distance however long its decimals are") {
  std::string text = scenario;
  const auto put = [&](const std::string& old, const std::string& now) { text.replace(text.find(old), old.size(), now); };
  put("{affine: {per_sample: 1ms}}, jitter: {kind: lognormal, sigma: 0.3}", "{affine: {per_sample: 1.23456789ms}}");
  put("every: {epochs: 0.5}", "every: {updates: 1}");
  put("thresholds: [0.6, 0.8]", "thresholds: [0.6]");
  put("samples: 800,", "samples: 900,");  // 30 batches on each of three workers
  Track place("fedavg", text);
  place.race.entrants = {entrant_of_yaml("rounds: {training.scheme: {kind: fedavg, local_epochs: 8}}")};
  place.race.seeds = 4;
  const Raced raced = place.run();
  const RunSketch sketch = read_sketch(raced.outcome.runs.front().front().sketch);
  REQUIRE(sketch.curve.size() > 2);
  const double round = sketch.curve[1].time_s;  // and so each
  CHECK(round == doctest::Approx(8 * 300 * 1.23456789e-3).epsilon(0.01));
  CHECK(sketch.curve[2].time_s == doctest::Approx(2 * round).epsilon(0.001));
  const ThresholdResult& there = sketch.thresholds.front();
  CHECK(sketch.curve[static_cast<std::size_t>(*there.updates)].time_s < *there.seconds);  // rounded down
  std::string all;
  for (const std::string& warning : raced.outcome.warnings()) all += warning + "\n";
  CAPTURE(all);
  CHECK(all.find("evaluations of rounds are " + readable_seconds(round) + " apart at 0.6") != std::string::npos);
  CHECK(all.find("an update takes as long, so let one hold less work") != std::string::npos);
}

TEST_CASE("timing alone without randomness: one run of each, and no test of what is certain") {
  std::string text = scenario;
  const std::string jitter = ", jitter: {kind: lognormal, sigma: 0.3}";
  text.erase(text.find(jitter), jitter.size());
  Track place("ssgd", text);
  place.race.entrants.push_back(entrant_of_yaml("slow: {training.scheme: ssgd, devices.node.compute.affine.per_sample: 1.1ms}"));
  place.race.timing_only = true;
  const Raced sure = place.run();
  CHECK(sure.outcome.seeds() == 1);
  CHECK(count(sure.race, "\n") == 1 + 2);
  const PairVerdict& pair = sure.outcome.verdicts.front().pairs.front();
  CHECK(pair.test.kind == TestKind::exact);
  CHECK(sure.table.starts_with("2 entrants, one run each\n"));
  CHECK(sure.table.find("note: without randomness no time depends on the seed, so each entrant runs once\n") != std::string::npos);
  for (const char* const chance : {"+-", "p (Holm)", "significant", "(95 %)"}) CHECK(sure.table.find(chance) == std::string::npos);
  const std::vector<RunValues> times = sure.outcome.times(sure.outcome.finishes.front());
  CHECK(sure.verdicts.find(",exact," + number_text(*times[1][0] / *times[0][0]) + ",,,") != std::string::npos);
  CHECK(sure.outcome.verdicts.front().winner == std::size_t{0});  // a tenth more computing
  // Jitter is chance: as many runs as seeds, and tests.
  Track jittered("ssgd,asgd");
  jittered.race.timing_only = true;
  const Raced chance = jittered.run();
  CHECK(chance.outcome.seeds() == 5);
  CHECK(chance.table.find("p (Holm)") != std::string::npos);
}

TEST_CASE("a copy that is a tenth slower is found; one that never arrives, too, and is counted") {
  Track place("plain=ssgd");
  place.race.entrants.push_back(entrant_of_yaml("slow: {training.scheme: ssgd, devices.node.compute.affine.per_sample: 1.1ms}"));
  place.race.entrants.push_back(entrant_of_yaml("never: {training.scheme: ssgd, training.optimizer.learning_rate: 1e-7}"));
  const Raced raced = place.run();
  const Verdict& target = raced.outcome.verdicts.back();
  CHECK(target.winner == std::size_t{0});
  const PairVerdict& slow = target.pairs[0];
  CHECK(slow.test.kind == TestKind::paired_t);
  CHECK(slow.test.interval(0.95)->ratio > 1.05);  // messages take no longer
  CHECK(slow.test.interval(0.95)->ratio < 1.1);
  CHECK(target.pairs[1].test.kind == TestKind::rank_sum);
  CHECK(raced.table.find("missed (0 of 5)") != std::string::npos);
  CHECK(count(raced.race, "never,0.7,") == 5);
  CHECK(count(raced.race, ",missed\n") == 10);  // at both finishes
  // The same updates: as many samples, of which each takes a tenth more computing.
  const std::vector<std::string> reasons = race_reasons(raced.outcome);
  REQUIRE(reasons.size() == 2);
  CHECK(reasons[0].starts_with("plain is faster to 0.7 (target) than slow, because it handles "));
  CHECK(reasons[0].find(" % more samples per second (its workers compute 1.0") != std::string::npos);
  CHECK(reasons[0].ends_with(" and needs as many samples"));
  CHECK(reasons[1].starts_with("plain gets to 0.7 (target) in "));
  CHECK(reasons[1].find("which never does not in ") != std::string::npos);
  CHECK(raced.table.find("\nwhy: " + reasons[1] + "\n") != std::string::npos);
}

TEST_CASE("tables do not depend on the number of jobs; unpaired, no two runs have a seed in common") {
  Track place("ssgd,asgd,{kind: nonblocking, minibatch: 5}");
  place.race.tuning = tuning_of({"learning_rate,momentum"}, 6);
  place.race.seeds = 3;
  const Raced one = place.run(), two = place.run(3);
  CHECK(one.race == two.race);
  CHECK(one.tuning == two.tuning);
  CHECK(one.verdicts == two.verdicts);
  CHECK(one.table == two.table);
  CHECK(count(one.tuning, "\n") == 1 + 3 * 6);
  CHECK(count(one.verdicts, "\n") == 1 + 2 * 3);

  place.race.paired = false;
  const RaceReader reader(place.race);
  std::vector<std::uint64_t> seeds;
  for (std::size_t entrant = 0; entrant < 3; ++entrant)
    for (std::size_t number = 0; number < 3; ++number)
      seeds.push_back(reader.racing(entrant, place.race.tuning->candidates[0], number).seed);
  seeds.push_back(reader.tuning(0, place.race.tuning->candidates[0], 0).seed);
  std::sort(seeds.begin(), seeds.end());
  CHECK(std::adjacent_find(seeds.begin(), seeds.end()) == seeds.end());
}

namespace {

/// Two clouds; `flipped`: with the wrong labels.
std::string cloud(std::size_t rows, bool flipped) {
  std::ostringstream text;
  RandomStream random(3, "cloud", rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t label = i % 2;
    text << random.uniform() + 0.7 * static_cast<double>(label) << "," << random.uniform() << "," << (flipped ? 1 - label : label) << "\n";
  }
  return text.str();
}

}  // namespace

TEST_CASE("tuning never sees the test set") {
  std::string text = scenario;
  text.replace(text.find("{kind: coordinates, samples: 800, test_samples: 200}"), 52, "{kind: csv, path: train.csv, test_path: test.csv}");
  Raced honest, flipped;
  for (Raced* raced : {&honest, &flipped}) {
    Track place("ssgd,asgd", text);
    place.files.write("train.csv", cloud(600, false));
    place.files.write("test.csv", cloud(100, raced == &flipped));
    place.race.tuning = tuning_of({"learning_rate"}, 5);
    place.race.seeds = 2;
    *raced = place.run();
  }
  CHECK(honest.tuning == flipped.tuning);
  CHECK(count(honest.race, "missed") == 0);
  CHECK(count(flipped.race, "missed") == 2 * 2 * 2);  // in the race the test set is what counts
}

TEST_CASE("candidates: higher levels first, then more runs, then sooner, then less loss; failed ones are worst") {
  const auto criterion = [](bool failed, std::vector<Criterion::Level> levels, double loss) {
    return Criterion{failed, std::move(levels), loss};
  };
  const std::vector<Criterion> ordered{criterion(false, {{2, 9}, {2, 20}}, 5), criterion(false, {{2, 1}, {2, 21}}, 1),
                                       criterion(false, {{2, 9}, {1, 2}}, 0),  criterion(false, {{2, 3}, {0, 0}}, 3),
                                       criterion(false, {{2, 4}, {0, 0}}, 0),  criterion(false, {{0, 0}, {0, 0}}, 2),
                                       criterion(false, {{0, 0}, {0, 0}}, 3),  criterion(true, {{2, 1}, {2, 1}}, 0)};
  for (std::size_t i = 0; i < ordered.size(); ++i)
    for (std::size_t j = 0; j < ordered.size(); ++j) CHECK(ordered[i].better_than(ordered[j]) == (i < j));

  Tuning tuning = tuning_of({"learning_rate,momentum"}, 8);
  std::vector<Criterion> reversed(ordered.rbegin(), ordered.rend());
  tuning.shares = {{0.1, 0.2}, {0.2, 0.9}, {0.3, 0.3}, {0.4, 0.1}, {0.5, 0.5}, {0.6, 0.6}, {0.7, 0.7}, {0.9, 0.4}};
  const Tuned tuned = choose({"a", "--schemes a", {}}, tuning, reversed);
  CHECK(tuned.best == 7);
  CHECK(tuned.ranks == std::vector<std::size_t>{8, 7, 6, 5, 4, 3, 2, 1});
  REQUIRE(tuned.warnings.size() == 1);  // the largest rate, and a momentum amidst
  CHECK(tuned.warnings[0].find("its best training.optimizer.learning_rate") != std::string::npos);
  CHECK(tuned.warnings[0].find("is the largest of the 8") != std::string::npos);
  tuning.shares[7] = {0.45, 0.4};
  CHECK(choose({"a", "--schemes a", {}}, tuning, reversed).warnings.empty());
  const std::vector<Criterion> hopeless(8, criterion(true, {{0, 0}, {0, 0}}, 0));
  CHECK(choose({"a", "--schemes a", {}}, tuning, hopeless).warnings.at(0).find("every candidate failed") != std::string::npos);
}

TEST_CASE("a range whose edge is best is said to be too narrow; a run that diverges is worst") {
  Track place("ssgd,asgd");
  place.race.tuning = tuning_of({"learning_rate={from: 1e-5, to: 1e-3, scale: log}"}, 4);
  place.race.seeds = 2;
  CHECK(count(place.run().table, "is the largest of the 4 that were tried") == 2);
  place.race.tuning = tuning_of({"learning_rate=[1e30, 0.1]"}, 2);
  const Raced raced = place.run();
  for (const Tuned& tuned : raced.outcome.tuned) {
    CHECK(place.race.tuning->candidates[tuned.best][0] == "0.1");
    CHECK(tuned.criteria[1 - tuned.best].failed);
  }
}

TEST_CASE("the remedy for a best at the edge of what was tried: more candidates where the range goes on, else a wider range") {
  const Entrant entrant{"asgd", "--schemes asgd", {}};
  const auto warnings = [&](double least) {
    Tuning tuning{};
    tuning.paths = {"training.optimizer.learning_rate"};
    tuning.candidates = {{"0.02"}, {"0.1"}, {"0.3"}, {"0.5"}};
    tuning.shares = {{least}, {0.6}, {0.7}, {0.8}};
    std::vector<Criterion> criteria(4);
    for (std::size_t i = 0; i < criteria.size(); ++i) criteria[i].loss = static_cast<double>(i);
    return choose(entrant, tuning, criteria).warnings;
  };
  const std::string begin =
      "asgd: its best training.optimizer.learning_rate, 0.02, is the least of the 4 that were tried; there may be better values outside, "
      "so ";
  // Four candidates are a quarter of the range apart: more than an eighth of it to its end is room for another.
  CHECK(warnings(0.4).back() == begin + "try more of its range with a larger --budget");
  CHECK(warnings(0.1).back() == begin + "widen the range");
}

TEST_CASE("a p that rounds to the level at which it is judged says on which side of it it lies") {
  Track place("ssgd,asgd");
  place.race.timing_only = true;
  place.race.seeds = 2;
  Raced raced = place.run();
  const auto table = [&](double p) {
    raced.outcome.verdicts.at(0).pairs.at(0).step.adjusted = p;
    return race_table(raced.outcome);
  };
  CHECK(count(table(0.0496), " 0.0496 ") == 1);
  CHECK(count(table(0.049997), " < 0.05 ") == 1);
  CHECK(count(table(0.0500004), " > 0.05 ") == 1);
  CHECK(count(table(0.05), " 0.05 ") == 1);
  CHECK(count(table(0.43219), " 0.432 ") == 1);
  CHECK(count(table(1e-7), " < 0.0001 ") == 1);
}

TEST_CASE("a race of too few seeds to tell anything of missed runs is warned of before it starts") {
  Track place("ssgd,asgd");
  const auto warning = [&](std::size_t seeds) {
    place.race.seeds = seeds;
    return too_few_seeds_warning(place.race);
  };
  CHECK(warning(3) ==
        "3 seeds are too few to tell an entrant that always reaches a threshold from one that always misses it: the smallest p is 0.1, and "
        "the pair is judged at 0.05; --seeds 4 could tell");
  CHECK_FALSE(warning(4).has_value());
  for (const char* const more : {"fedavg", "{kind: local_sgd, steps: 4}"}) place.race.entrants.push_back(entrants_of_schemes(more).front());
  CHECK_FALSE(warning(5).has_value());  // four entrants: 2 / C(10, 5) = 0.0079 <= 0.05 / 6 = 0.0083
  place.race.entrants.push_back(entrants_of_schemes("nonblocking").front());
  CHECK(warning(5)->find("the smallest p is 0.0079, and the first of 10 pairs is judged at 0.005; --seeds 6 could tell") !=
        std::string::npos);
  place.race.timing_only = true;
  CHECK_FALSE(warning(2).has_value());  // nobody can miss the end of an epoch
}

TEST_CASE("three seeds cannot tell a scheme from one that misses the target; four can") {
  Track place("plain=ssgd");
  place.race.entrants.push_back(entrant_of_yaml("never: {training.scheme: ssgd, training.optimizer.learning_rate: 1e-7}"));
  place.race.seeds = 3;
  const Raced three = place.run();
  CHECK(three.table.find("time to 0.7 (target): too few seeds to tell\n") != std::string::npos);
  CHECK(three.verdicts.ends_with(",too few seeds to tell\n"));
  place.race.seeds = 4;
  CHECK(place.run().table.find("time to 0.7 (target): plain wins\n") != std::string::npos);
}

TEST_CASE("timing alone: who is through an epoch first") {
  Track place("ssgd,asgd");
  place.race.timing_only = true;
  const Raced raced = place.run();
  CHECK(raced.outcome.verdicts.size() == 1);
  CHECK(raced.outcome.verdicts[0].winner == std::size_t{1});  // nobody waits for the slowest
  CHECK(count(raced.race, ",epoch,") == 10);
  CHECK(count(raced.table, "note: timing only: whether it learns as much from a sample is not known\n") == 1);
}

TEST_CASE("a setting to tune that has another name elsewhere is found") {
  CHECK_THROWS_WITH_AS(tuning_of({"lr"}, 4),
                       "--tune lr: unknown setting 'lr'; did you mean 'learning_rate'? known: learning_rate, momentum, weight_decay, or "
                       "PATH={from: A, to: B}",
                       std::invalid_argument);
}

TEST_CASE("a race's refusals name the cause") {
  CHECK(Track("ssgd,asdg").refused() ==
        "--schemes asdg: training.scheme: unknown scheme 'asdg'; did you mean 'asgd'? known: asgd, easgd, ssgd; all " +
            std::to_string(Registry<SchemeEntry>::instance().entries().size()) + ": straggler list schemes");
  CHECK(Track("ssgd,local_sgd").refused().starts_with("--schemes local_sgd: training.scheme.steps: is missing"));
  Track place("ssgd,asgd");
  place.race.entrants[1].set.emplace_back("seed", "9");
  CHECK(place.refused().find("has a seed of its own") != std::string::npos);
  place.race.entrants[1].set.back() = {"training.stop.target_accuracy", "0.75"};
  CHECK(place.refused().find("has another target") != std::string::npos);
  place.race.entrants[1].set.back() = {"workload.data.samples", "700"};
  CHECK(place.refused().find("learns other data") != std::string::npos);
  place.race.entrants[1].set.pop_back();
  place.race.tuning = tuning_of({"training.optimizer.momentun={from: 0, to: 0.9}"}, 3);
  CHECK(
      place.refused().starts_with("--tune training.optimizer.momentun={from: 0, to: 0.9}: training.optimizer.momentun: unknown key "
                                  "'momentun'; did you mean 'momentum'?"));
  place.race.tuning.reset();
  place.race.more = {"training.stop={epochs: 1}", "training.evaluate.thresholds=[]"};
  CHECK(place.refused().find("there is no finish") != std::string::npos);
  place.race.more = {"training.evaluate={thresholds: [0.5]}"};
  CHECK(place.refused().find("training.evaluate.every: is missing") != std::string::npos);
}
