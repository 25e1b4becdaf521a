#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "scenarios/experiment/data_cache.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "scenarios/schema/reader.hpp"
#include "scenarios/statistics/statistics.hpp"
#include "sim/base/registry.hpp"
#include "sim/training/scheme.hpp"
#include "tests/support/schemes.hpp"
#include "tests/sweep/sweep_fixture.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

const Scalar& value(const SweepRow& row, const std::string& key) { return scalar_of(row.fields, key); }

}  // namespace

TEST_CASE("mean, deviation and Student's interval") {
  const RepeatStatistics three = statistics_of(std::vector<double>{1, 2, 3});
  CHECK(three.mean == 2);
  CHECK(three.deviation == doctest::Approx(1));
  // t(0.975; 2) = 4.30265 (any table), over the root of 3.
  CHECK(three.half_width == doctest::Approx(4.302652730 / std::sqrt(3.0)));
  CHECK(statistics_of(std::vector<double>{7}).half_width == 0);
  CHECK(statistics_of(std::vector<double>()).count == 0);
}

TEST_CASE("a bandwidth sweep of synchronous SGD evaluates one trajectory; another run of it none") {
  const Files files;
  const Sweep sweep = sweep_of(files, "axes: {cluster.network.link.bandwidth: [1MB/s, 2MB/s, 4MB/s, 8MB/s]}\n");
  const auto store_path = files.folder() / "store.sqlite";
  Swept first;
  {
    SweepState state(":memory:");
    EvaluationFile store(store_path);
    first = run(sweep, state, &store);
  }
  // 7 evaluations of two sets along the curve (at 0, and twice an epoch for 3), two at the end; the first point makes them all.
  const std::uint64_t each = 7 * 2 + 2;
  CHECK(first.outcome.progress.evaluations == 4 * each);
  CHECK(first.outcome.progress.saved == 3 * each);
  for (const SweepRow& row : first.outcome.rows) CHECK(value(row, "weights_key") == value(first.outcome.rows[0], "weights_key"));
  SweepState state(":memory:");
  EvaluationFile store(store_path);
  const Swept again = run(sweep, state, &store);
  CHECK(again.outcome.progress.saved == 4 * each);
  CHECK(again.points == first.points);
  CHECK(again.groups == first.groups);
}

TEST_CASE("every scheme gets the same from the store as from its math") {
  const Files files;
  files.write("small.yaml", small_scenario);
  DataCache data;
  for (const SchemeEntry& scheme : Registry<SchemeEntry>::instance().entries()) {
    CAPTURE(scheme.name);
    EvaluationFile store(":memory:");
    std::vector<std::string> sets{"training.scheme=" + variant_of(scheme, {}).text(), "training.stop.target_accuracy=0.5"};
    if (scheme.only_workers) sets.push_back("cluster.workers[0].count=" + std::to_string(*scheme.only_workers));
    if (!fits(scheme, variant_of(scheme, {}).parameters, 3)) sets.push_back("cluster.workers[0].count=4");
    if (scheme.one_process || variant_of(scheme, {}).one_host()) sets.push_back("cluster.workers[0].per_host=3");
    const Scenario scenario = read_scenario(files.folder() / "small.yaml", sets);
    RunOptions options;
    options.threads = 1;
    options.store = &store;
    options.data = &data;
    Experiment first(scenario, options), second(scenario, options), plain(scenario, RunOptions{});
    CHECK_FALSE(first.run_from_store(nullptr).record.has_value());
    const RunRecord with_math = first.run(nullptr, nullptr);
    const auto known = second.run_from_store(nullptr);
    REQUIRE(known.record.has_value());
    const std::string expected = summary_json(summarize(plain.run(nullptr, nullptr)));
    CHECK(summary_json(summarize(with_math)) == expected);
    CHECK(summary_json(summarize(*known.record)) == expected);
  }
}

TEST_CASE("tables do not depend on the number of jobs, on shards, or on earlier results") {
  const Files files;
  const Sweep sweep = sweep_of(files, R"(axes:
  training.scheme: [{kind: ssgd}, {kind: asgd}, {kind: nonblocking, minibatch: 10}]
  cluster.network.link.bandwidth: [1MB/s, 4MB/s]
repeats: 2
)");
  const Swept one = run_afresh(sweep);
  CHECK(one.outcome.rows.size() == 12);
  PoolOptions two;
  two.jobs = 2;
  CHECK(run_afresh(sweep, {}, two).points == one.points);

  std::vector<std::filesystem::path> shards;
  for (std::size_t shard = 1; shard <= 3; ++shard) {
    SweepOptions part;
    part.shard = std::pair(shard, std::size_t{3});
    shards.push_back(files.folder() / ("shard" + std::to_string(shard)));
    SweepState state(shards.back());
    state.describe(describe(sweep, {}));
    CHECK(run(sweep, state, nullptr, part).outcome.rows.size() == 4);
  }
  SweepState whole(":memory:");
  const SweepOutcome merged = merge_sweeps(shards, whole);
  CHECK(points_csv(sweep.columns(), merged) == one.points);
  CHECK(groups_csv(sweep.columns(), merged) == one.groups);
  const Swept found = run(sweep, whole, nullptr);
  CHECK(found.outcome.progress.found == 12);
  CHECK(found.points == one.points);

  SweepState other(files.folder() / "other");
  other.describe(Description::of_lines({"another sweep"}));
  CHECK_THROWS_AS(merge_sweeps({shards[0], files.folder() / "other"}, whole), ResultsError);
}

TEST_CASE("a changed sweep keeps the points that still hold") {
  const Files files;
  SweepState state(":memory:");
  run(sweep_of(files, "timing_only: true\naxes:\n  cluster.workers[0].count: [1, 2, 3]\n"), state, nullptr);
  const Swept more = run(sweep_of(files, "timing_only: true\naxes:\n  cluster.workers[0].count: [2, 3, 4]\n"), state, nullptr);
  CHECK(more.outcome.progress.found == 2);
  CHECK(more.outcome.rows.size() == 3);
  const Swept with_math = run(sweep_of(files, "axes:\n  cluster.workers[0].count: [2, 3, 4]\n"), state, nullptr);
  CHECK(with_math.outcome.progress.found == 0);
}

TEST_CASE("repeats until the interval is narrow, or the cap is reached") {
  const Files files;
  const char* const body = "timing_only: true\naxes: {devices.node.jitter: [none, {kind: lognormal, sigma: 0.5}]}\n";
  const Sweep sweep = sweep_of(files, std::string(body) + "repeats: 2\nuntil_ci: {relative: 0.1%, metric: simulated_seconds, most: 5}\n");
  const Swept one = run_afresh(sweep);
  const auto repeats = [&](std::size_t group) {
    return std::count_if(one.outcome.rows.begin(), one.outcome.rows.end(), [&](const SweepRow& row) { return row.group == group; });
  };
  CHECK(repeats(0) == 2);  // without jitter all repeats are equal
  CHECK(repeats(1) == 5);
  PoolOptions four;
  four.jobs = 4;
  CHECK(run_afresh(sweep, {}, four).points == one.points);
}

TEST_CASE("a point that cannot continue is reported, and the others are done") {
  const Files files;
  const Sweep sweep = sweep_of(files, "timing_only: true\naxes: {devices.node.compute.affine.per_sample: [1ms, 2000h]}\n");
  const Swept swept = run_afresh(sweep);
  CHECK(swept.outcome.rows.size() == 1);
  REQUIRE(swept.outcome.failures.size() == 1);
  CHECK(swept.outcome.failures[0].find("devices.node.compute.affine.per_sample=2000h, repeat 0: ") == 0);
}

TEST_CASE("a claim of a dead process counts for nothing, one of a living process does") {
  const Files files;
  const auto path = files.folder() / "state.sqlite";
  for (const bool dies : {true, false}) {
    CAPTURE(dies);
    const pid_t child = fork();
    if (child == 0) {
      SweepState own(path);
      while (!own.claim("a")) usleep(1'000);  // the parent tries, too
      if (!dies) pause();
      _exit(0);
    }
    SweepState state(path);
    if (dies) {
      waitpid(child, nullptr, 0);
      CHECK(state.claim("a"));
      state.release("a");
    } else {
      bool held = false;
      for (int i = 0; i < 500 && !held; ++i) {
        held = !state.claim("a");
        if (!held) state.release("a");
        usleep(10'000);
      }
      CHECK(held);
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
      CHECK(state.claim("a"));
    }
  }
}

TEST_CASE("the store stays below its cap; the least recently used goes first") {
  const Files files;
  const auto path = files.folder() / "store.sqlite";
  const auto key = [](std::uint64_t i) { return Hasher().add(i).key(); };
  {
    EvaluationFile store(path);
    for (std::uint64_t i = 0; i < 1000; ++i) {
      store.keep(key(i), {static_cast<double>(i), 0.5});
      if (i % 100 == 0) store.flush();
    }
  }
  const std::uint64_t cap = std::filesystem::file_size(path);  // it is full
  EvaluationFile store(path, cap);
  CHECK(store.find(key(0))->loss == 0);  // used now
  store.keep(key(1000), {1000, 0.5});
  store.flush();
  CHECK(store.facts().evaluations < 1000);
  CHECK(store.facts().evaluations > 300);
  CHECK(store.facts().file_bytes <= cap);
  EvaluationFile again(path, cap);
  CHECK(again.find(key(0)));
  CHECK(again.find(key(1000)));
  CHECK_FALSE(again.find(key(1)));
  again.clear();
  CHECK(again.facts().evaluations == 0);
}

TEST_CASE("unusable files are named, with a remedy") {
  const Files files;
  const auto damaged = files.write("damaged.sqlite", std::string(4096, 'x'));
  CHECK_THROWS_WITH_AS(EvaluationFile{damaged}, doctest::Contains("it is damaged, or not a file of Straggler"), ResultsError);
  CHECK_THROWS_WITH_AS(SweepState{damaged}, doctest::Contains("damaged.sqlite: the state of the sweep cannot be used"), ResultsError);
  CHECK_THROWS_WITH_AS(SweepState{files.folder()}, doctest::Contains("cannot be written there"), ResultsError);
}

TEST_CASE("times to thresholds stand beside the other scalars; one that is missed counts in no mean") {
  const Files files;
  const Sweep sweep = sweep_of(files, "set: {training.evaluate.thresholds: [0.3, 0.999]}\nrepeats: 2\n");
  const Swept swept = run_afresh(sweep);
  const std::string heads = swept.points.substr(0, swept.points.find('\n'));
  CHECK(heads.ends_with(",time_to_0.3_s,time_to_0.999_s"));
  double sum = 0;
  for (const SweepRow& row : swept.outcome.rows) {
    sum += value(row, "time_to_0.3_s").number().value();
    CHECK(value(row, "time_to_0.999_s").is_none());
  }
  std::vector<std::string> lines, names, cells;
  const auto split = [](const std::string& text, char at) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
    return parts;
  };
  lines = split(swept.groups, '\n');
  names = split(lines[0], ',');
  cells = split(lines[1], ',');
  const auto of = [&](const std::string& name) {
    return cells[static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin())];
  };
  CHECK(std::stod(of("time_to_0.3_s_mean")) == doctest::Approx(sum / 2));
  CHECK(of("time_to_0.3_s_count") == "2");
  CHECK(of("time_to_0.999_s_count") == "0");
}

TEST_CASE("an interrupted point continues from its checkpoint, to the same results") {
  const Files files;
  const Sweep sweep = sweep_of(files, "set: {training.stop: {epochs: 60}}\naxes: {training.optimizer.learning_rate: [0.1, 0.05]}\n");
  const std::filesystem::path folder = files.folder() / "checkpoints";
  const auto saved = [&] {
    std::vector<std::filesystem::path> found;
    if (std::filesystem::exists(folder))
      for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (entry.path().extension() == ".checkpoint") found.push_back(entry.path());
    return found;
  };
  PoolOptions options;
  options.worker.checkpoints = {folder, {.updates = 1}};
  SweepState state(":memory:");
  PointPool pool(options, state, nullptr, [&](const SweepProgress&) { return !saved().empty(); });
  REQUIRE(run_sweep(sweep, {}, state, pool).interrupted);
  REQUIRE(saved().size() == 1);

  // What was saved is what the point begins with.
  const std::filesystem::path file = saved().front(), aside = files.folder() / "aside";
  std::filesystem::rename(file, aside);
  files.write("checkpoints/" + file.filename().string(), "not a checkpoint");
  const Swept damaged = run(sweep, state, nullptr, {}, options);
  REQUIRE(damaged.outcome.failures.size() == 1);
  CHECK(damaged.outcome.failures.front().find(file.filename().string()) != std::string::npos);

  std::filesystem::rename(aside, file);
  const Swept resumed = run(sweep, state, nullptr, {}, options);
  CHECK(resumed.outcome.failures.empty());
  CHECK(saved().empty());
  CHECK(resumed.points == run_afresh(sweep).points);
}
