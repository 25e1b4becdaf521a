// `advise` finds the remedy of scenarios slowed by one known thing, ranks it first in its list, and says its gain: that of a run with its
// setting, which has a closed form where one is given.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "scenarios/advise/advise_said.hpp"
#include "scenarios/report/advise_page.hpp"
#include "sim/base/csv.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/run.hpp"

namespace advise_test {

using namespace straggler;
using namespace straggler::test;

namespace {

std::vector<std::string> joined_sets(std::vector<std::string> sets, const std::vector<std::string>& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

struct Job {
  std::string yaml;
  std::vector<std::string> sets = {};
  std::string file = "test.yaml";

  Advice advised(AdviseOptions options = {}) const {
    options.run.timing_only = true;
    options.run.threads = 2;
    return advise([this](const std::vector<std::string>& more) { return read_scenario_text(yaml, file, joined_sets(sets, more)); },
                  options);
  }
  /// Samples per second of a run.
  double rate(const std::vector<std::string>& more = {}) const {
    RunOptions options;
    options.timing_only = true;
    const RunRecord record = Experiment(read_scenario_text(yaml, file, joined_sets(sets, more)), options).run(nullptr, nullptr);
    return static_cast<double>(record.samples) / record.end.seconds();
  }
};

const AdviceRow& first_of(const Advice& advice, RemedyList list) {
  const std::vector<const AdviceRow*> best = best_of_each(advice, list);
  REQUIRE(!best.empty());
  return *best.front();
}

/// The remedy is the first of its list, and gains what a run with its setting does; `gain`: as a closed form, within 2 %.
void check_first(const Job& job, RemedyList list, const std::string& remedy, std::optional<double> gain) {
  const Advice advice = job.advised();
  CAPTURE(advise_text(advice, true));
  const AdviceRow& first = first_of(advice, list);
  CHECK(first.name() == remedy);
  if (!first.attempt.sets.empty()) CHECK(1 + first.change == doctest::Approx(job.rate(first.attempt.sets) / job.rate()).epsilon(0.02));
  if (gain) CHECK(1 + first.change == doctest::Approx(1 + *gain).epsilon(0.02));
}

constexpr RemedyList list_a = RemedyList::same_learning, list_b = RemedyList::other_learning, list_c = RemedyList::other_machines;

test::ScenarioText timed(const std::string& stop = "{updates: 60}") {
  test::ScenarioText text;
  text.stop = stop;
  return text;
}

}  // namespace

TEST_CASE("a slow worker is replaced") {
  test::ScenarioText text = timed();
  text.workers = "[{count: 7, device: node}, {count: 1, device: node, slowdown: 3}]";
  check_first({scenario_text(text)}, list_a, "replace_slow", 2.0);  // a step of 0.1 instead of 0.3 s
  const Advice advice = Job{scenario_text(text)}.advised();
  CHECK(first_of(advice, list_a).attempt.setting == "worker 7 (3x slower)");
  CHECK(advice.binding == Binding::worker);
  CHECK(advice.bound == doctest::Approx(2.0 / 3).epsilon(0.02));
  // Two slow ones: one alone gains nothing.
  text.workers = "[{count: 6, device: node}, {count: 2, device: node, slowdown: 3}]";
  const Advice both = Job{scenario_text(text)}.advised();
  CHECK(first_of(both, list_a).attempt.setting == "workers 6 and 7 (3x slower)");
  CHECK(1 + first_of(both, list_a).change == doctest::Approx(3).epsilon(0.02));
}

TEST_CASE("a slow link is widened, or its host replaced") {
  // A ring of 8 sends 2 (7/8) 8 MB at 100 MB/s: 0.14 s behind 0.1 s of computing; four times as wide 0.035 s.
  test::ScenarioText text = timed();
  text.workers = equal_workers(8);
  text.cost = "{bytes: 8MB}";
  text.network = "{link: {bandwidth: 100MB/s, latency: 0s}, collective: {algorithm: ring}}";
  check_first({scenario_text(text)}, list_c, "link", 0.24 / 0.135 - 1);
  CHECK(Job{scenario_text(text)}.advised().binding == Binding::network);
  text.workers = "[{count: 7, device: node}, {count: 1, device: node, link: {bandwidth: 10MB/s, latency: 0s}}]";
  check_first({scenario_text(text)}, list_a, "replace_slow", 1.5 / 0.24 - 1);  // 1.4 s behind 0.1 s
}

TEST_CASE("too few loaders become as many as it takes") {
  test::ScenarioText text = timed();
  text.node = "{compute: {affine: {per_sample: 1ms}}, loader: {per_sample: 4ms, workers: 1}}";
  text.stop = "{updates: 400}";
  check_first({scenario_text(text)}, list_a, "loaders", 3.0);
  const Advice advice = Job{scenario_text(text)}.advised();
  CHECK(first_of(advice, list_a).attempt.sets == std::vector<std::string>{"devices.node.loader.workers=4"});
  CHECK(advice.binding == Binding::loader);
  CHECK(plain(advise_said(advice)).front().starts_with("The data loader binds"));
}

TEST_CASE("gradients that leave after backward overlap with it, and small buckets grow") {
  // 102 MB around a ring of 4 at 1 GB/s take 0.153 s; two thirds of 0.3 s of computing hide all but the last bucket.
  test::ScenarioText text = timed();
  text.node = "{compute: {affine: {per_sample: 3ms}}}";
  text.cost = "{model: resnet50_imagenet}";
  text.network = "{link: {bandwidth: 1GB/s, latency: 10us}, collective: {algorithm: ring}}";
  check_first({scenario_text(text)}, list_a, "overlap", {});
  const Advice advice = Job{scenario_text(text)}.advised();
  CHECK(first_of(advice, list_a).change > 0.4);
  CHECK(first_of(advice, list_a).change < 0.453 / 0.3 - 1);
  text.network = "{link: {bandwidth: 1GB/s, latency: 1ms}, collective: {algorithm: ring, overlap: true, bucket: 100kB}}";
  check_first({scenario_text(text)}, list_a, "bucket", {});
}

TEST_CASE("shared states come apart where the network binds, and are shared where that costs least") {
  // 4 workers, each sends 3/4 (3 d - d_last) at stage 3, 2 3/4 d around a ring: two thirds, if computing hides nothing.
  test::ScenarioText text = timed();
  text.node = "{compute: {affine: {per_sample: 1us}}}";
  text.cost = "{model: resnet50_imagenet}";
  text.network = "{link: {bandwidth: 1GB/s, latency: 1us}, collective: {algorithm: ring}}";
  AdviseOptions options;
  options.only = {"shard", "unshard"};
  const Job job{scenario_text(text)};
  const Job sharded{job.yaml, {"training.sharding.stage=3"}};
  const Advice apart = sharded.advised(options);
  const AdviceRow& first = first_of(apart, list_a);
  CHECK(first.name() == "unshard");
  CHECK(1 + first.change == doctest::Approx(sharded.rate(first.attempt.sets) / sharded.rate()).epsilon(0.02));
  CHECK(1 + first.change > 1.3);
  CHECK(1 + first.change < 1.5);
  for (const AdviceRow& row : job.advised(options).rows) {
    CHECK(row.name() == "shard");
    CHECK(1 + row.change == doctest::Approx(job.rate(row.attempt.sets) / job.rate()).epsilon(0.02));
  }
  // Where backward hides an all-reduce of 102 MB and nothing hides stage 1's gather, no sharing is best.
  text.node = "{compute: {affine: {per_sample: 3ms}}}";
  text.network = "{link: {bandwidth: 1GB/s, latency: 1us}, collective: {algorithm: ring, overlap: true}}";
  const AdviceRow whole = first_of(Job{scenario_text(text), {"training.sharding.stage=1"}}.advised(options), list_a);
  CHECK(whole.name() == "unshard");
  CHECK(whole.attempt.sets == std::vector<std::string>{"training.sharding=none"});
}

TEST_CASE("a slow server is replaced") {
  // Of asynchronous SGD on a server that takes 20 ms for a message, two a gradient: 25 gradients a second, whoever sends.
  test::ScenarioText text = timed("{updates: 400}");
  text.scheme = "asgd";
  text.workers = equal_workers(8);
  text.servers = "{count: 1, per_message: 20ms}";
  check_first({scenario_text(text)}, list_a, "replace_slow", 1.0);
  CHECK(Job{scenario_text(text)}.advised().binding == Binding::server);
}

TEST_CASE("a host that launches more slowly than the device computes is an upper bound") {
  test::ScenarioText text = timed();
  text.node = "{compute: {roofline: {peak: 10TFLOPS, efficiency: 1, memory_bandwidth: 1000GB/s, issue: 1ms}}}";
  const Job job{scenario_text(text)};
  const Advice advice = job.advised();
  CAPTURE(advise_text(advice, true));
  const AdviceRow& first = first_of(advice, list_a);
  CHECK(first.name() == "host");
  CHECK(first.attempt.sets.empty());
  CHECK(1 + first.change == doctest::Approx(job.rate({"devices.node.compute.roofline.issue=0s"}) / job.rate()).epsilon(0.02));
  CHECK(advice.binding == Binding::host);
}

TEST_CASE("what a trace of one rank says of its GPU bounds what the host costs, and its collectives are left alone") {
  TemporaryFolder folder;
  folder.write("times.csv", "bytes,seconds\n4000000,0.001\n");
  const std::string file = folder
                               .write("import.json", R"({"format": "kineto", "step_s": 0.2, "ranks": [{"rank": 0}], "waits_s": null,
        "gpu": {"computing_s": 0.04}, "missing": ["the other ranks"]})")
                               .string();
  test::ScenarioText text = timed();
  text.node = "{compute: {affine: {overhead: 200ms}}}";
  text.workers = equal_workers(2);
  text.cost = "{bytes: 4MB}";
  text.network = "{link: {bandwidth: 1GB/s, latency: 0s}, collective: {kind: measured, path: times.csv}}";
  const Job job{scenario_text(text), {}, (folder.path() / "scenario.yaml").string()};
  AdviseOptions options;
  options.imported = file;
  const Advice advice = job.advised(options);
  CAPTURE(advise_text(advice, true));
  CHECK(first_of(advice, list_a).name() == "host");
  CHECK(1 + first_of(advice, list_a).change == doctest::Approx(0.201 / 0.041).epsilon(0.001));
  CHECK(first_of(advice, list_b).attempt.setting == "x4");
  CHECK(first_of(advice, list_b).change == doctest::Approx(3).epsilon(0.001));
  CHECK(advice.holds_waiting);
  std::set<std::string> left_out;
  for (const AdviceRow& row : advice.left_out) {
    left_out.insert(row.name());
    if (row.name() == "link" || row.name() == "overlap") CHECK(row.why_not == measured_words());
  }
  for (const char* const name : {"overlap", "bucket", "algorithm", "hierarchical", "messages_16bit", "link"})
    CHECK(left_out.contains(name));
}

TEST_CASE("no interval of checkpoints is said to be best where failures come at constant times") {
  const auto why_not = [](const char* law) -> std::string {
    const Job job{scenario_text(timed("{updates: 20}")),
                  {"training.scheme=ssgd", "cluster.faults=[{kind: random, of: worker, every: " + std::string(law) + ", repair: 0s}]",
                   "training.recovery={kind: rollback, checkpoint: {every: 1min, save: 1s}, restart: 10s}"}};
    AdviseOptions options;
    options.only = {"checkpoint_interval"};
    for (const AdviceRow& row : job.advised(options).left_out)
      if (row.name() == "checkpoint_interval") return row.why_not;
    return "it is not left out";
  };
  CHECK(why_not("{kind: exponential, mean: 1h}") == "it is not left out");
  CHECK(why_not("{kind: constant, mean: 1h}") == "failures come at constant times: what is best depends on when, not on how often");
}

TEST_CASE("a model parallel job needs its exchanges in every step, and a sharded one has no weights for steps of a rank alone") {
  const auto left_out = [](const std::string& facts) {
    TemporaryFolder folder;
    AdviseOptions options;
    options.imported =
        folder.write("import.json", R"({"format": "kineto", "step_s": 0.1, "ranks": [{"rank": 0}, {"rank": 1}], )" + facts + "}");
    std::set<std::string> names;
    for (const AdviceRow& row : Job{scenario_text(timed())}.advised(options).left_out) names.insert(row.name());
    return names;
  };
  const std::set<std::string> parallel = left_out(R"("collectives": [{"kind": "all_to_all", "waits_s": [0.0, 0.1]}])");
  for (const char* const name : {"batch", "accumulate", "wait_for_k", "local_steps", "asynchronous"}) CHECK(parallel.contains(name));
  const std::set<std::string> sharded = left_out(R"("sharding": {"stage": 3})");
  for (const char* const name : {"wait_for_k", "local_steps", "asynchronous"}) CHECK(sharded.contains(name));
  CHECK(!sharded.contains("batch"));
}

TEST_CASE("with traces of all ranks, the one that comes last is named, though another computes longer") {
  TemporaryFolder folder;
  const std::string file =
      folder
          .write("import.json", R"({"format": "kineto", "step_s": 0.3, "ranks": [{"rank": 4}, {"rank": 6}, {"rank": 9}],
    "waits_s": [0.05, 0.01, 0.2], "collectives": [{"waits_s": [0.04, 0.0, 0.1]}, {"waits_s": [0.01, 0.0, 0.03]}, {"waits_s": [0.0, 0.01, 0.07]}],
    "missing": []})")
          .string();
  const ImportFacts facts = import_facts(file);
  REQUIRE(facts.last);
  CHECK(facts.last->rank == 6);
  CHECK(facts.last->next == 4);
  CHECK(facts.last->times == 2);
  CHECK(facts.last->of == 3);
  CHECK(facts.last->seconds == doctest::Approx(0.04));
  CHECK(plain(facts_said(facts)).front() ==
        "Rank 6 comes last at 2 of 3 collectives; without that, the first of them ends 40 ms earlier (next: rank 4).");
  const std::string wrong = folder.write("other.json", "[1]").string();
  CHECK_THROWS_AS(import_facts(wrong), DataError);
}

TEST_CASE("each line repeats its gain, combinations too, and every remedy stands in one list or among those left out") {
  test::ScenarioText text = timed();
  text.workers = "[{count: 6, device: node}, {count: 2, device: node, slowdown: 2}]";
  text.cost = "{model: resnet50_imagenet}";
  text.network = "{link: {bandwidth: 1GB/s, latency: 10us}}";
  const Job job{scenario_text(text)};
  const Advice advice = job.advised();
  CAPTURE(advise_text(advice, true));
  const double own = job.rate();
  std::set<std::string> names;
  for (const AdviceRow& row : advice.left_out) names.insert(row.remedy->name);
  const auto check = [&](const AdviceRow& row) {
    names.insert(row.remedy->name);
    if (!row.attempt.sets.empty()) CHECK(row.figures->samples_per_second == doctest::Approx(job.rate(row.attempt.sets)).epsilon(0.02));
    CHECK(row.change == doctest::Approx(row.figures->samples_per_second / own - 1));
  };
  for (const AdviceRow& row : advice.rows) check(row);
  CHECK(names.size() == remedies().size());
  REQUIRE(!advice.combinations.empty());
  for (const AdviceRow& row : advice.combinations) check(row);
  CHECK(advice.combinations.front().change > first_of(advice, list_a).change);
  // Lists stand in their order, each from the best on.
  for (std::size_t i = 1; i < advice.rows.size(); ++i) {
    const AdviceRow &a = advice.rows[i - 1], &b = advice.rows[i];
    CHECK(a.remedy->list <= b.remedy->list);
    if (a.remedy->list == b.remedy->list) CHECK(a.rank > b.rank - 0.001);
  }
  const std::string csv = advise_csv(advice);
  CHECK(csv.starts_with("list,remedy,setting,set,samples_per_second,change,step_s,time_to_target_s,price,energy_joules,learning,note\nA,"));
  CHECK(advise_csv(advice, true).size() > csv.size());
  CHECK(advise_page(advice).find("What would make test faster") != std::string::npos);
}

TEST_CASE("delays of single steps bind as jitter, and means of ranks that they move are doubted") {
  // Each of four workers takes 2.8 times its mean in every fourth step, 0.4 times in others: the steps' longest have the mean
  // (3 * 2.8 + 1.05 * 2.8) / 4 of 0.1 s, without jitter 1.05 of it.
  TemporaryFolder folder;
  std::string factors;
  for (int step = 0; step < 4; ++step)
    for (int worker = 0; worker < 4; ++worker) factors += std::string(worker == step ? "2.8" : "0.4") + (worker < 3 ? "," : "\n");
  const std::string jitter = folder.write("jitter.csv", factors).string();
  AdviseOptions options;
  options.imported = folder.write("import.json", R"({"format": "ranks", "S": 1.037, "step_s": 0.28, "steps": [0.28, 0.28, 0.28, 0.29],
    "ranks": [{"rank": 0}, {"rank": 1}, {"rank": 2}, {"rank": 3}], "assumed": ["32 samples a worker"], "missing": []})");
  test::ScenarioText text = timed("{updates: 400}");
  text.node = "{compute: {affine: {per_sample: 1ms}}, jitter: {kind: trace, path: " + jitter + ", offset: none}}";
  text.workers = "[{count: 3, device: node}, {count: 1, device: node, slowdown: 1.05}]";
  const Job job{scenario_text(text)};
  const Advice advice = job.advised(options);
  CAPTURE(advise_text(advice, true));
  CHECK(advice.binding == Binding::jitter);
  CHECK(advice.bound == doctest::Approx(1 - 1.05 / ((3 * 2.8 + 1.05 * 2.8) / 4)).epsilon(0.02));
  const AdviceRow& first = first_of(advice, list_a);
  CHECK(first.name() == "replace_slow");
  CHECK(first.note == "by means of 4 steps, which single delays move: it may be chance");
  const std::string said = advise_text(advice);
  CHECK(said.find("\nJitter binds: ") != std::string::npos);
  CHECK(said.find("\nWhat does not wait for such delays: wait_for_k (+") != std::string::npos);
  CHECK(said.find("\nAssumed: 32 samples a worker.\n") != std::string::npos);
  CHECK(advise_json(advice, "").find("\"binds\": \"jitter\"") != std::string::npos);
}

TEST_CASE("a log cannot tell what binds, but how long is waited for data in all of it") {
  const auto advised = [](const char* waits) {
    TemporaryFolder folder;
    AdviseOptions options;
    options.imported = folder.write("import.json", std::string(R"({"format": "steplog", "step_s": 0.1, "ranks": [{"rank": 0}],
      "missing": [], "loader_share": )") + waits + "}");
    test::ScenarioText text = timed();
    text.workers = equal_workers(1);
    text.node = "{compute: {affine: {per_sample: 1ms}}, loader: {per_sample: 1us, workers: 0}}";
    return Job{scenario_text(text)}.advised(options);
  };
  const Advice unknown = advised("null"), loader = advised("0.412");
  CHECK(unknown.binding == Binding::unknown);
  CHECK(plain(advise_said(unknown))[0].starts_with("What binds cannot be told from a log"));
  for (const char* const name : {"batch", "accumulate", "more_workers"})
    CHECK(std::ranges::any_of(unknown.left_out, [&](const AdviceRow& row) { return row.name() == name; }));
  CHECK(loader.binding == Binding::loader);
  CHECK(plain(advise_said(loader))[0] ==
        "The data loader binds: 41 % of all the logged time is waiting for data, start-up and stalls included; look at storage, at the "
        "loader's processes, and at a prefetch that is deeper than the stalls.");
  CHECK(std::ranges::any_of(loader.left_out, [](const AdviceRow& row) { return row.name() == "loaders"; }));
  CHECK(plain(advise_said(loader))[1] == "No remedy can be tried on a log; --all says why.");
}

TEST_CASE("the best of each list is named, other machines too, before others of the first") {
  test::ScenarioText text = timed();
  text.workers = "[{count: 7, device: node}, {count: 1, device: node, slowdown: 3}]";
  text.cost = "{bytes: 8MB}";
  text.network = "{link: {bandwidth: 100MB/s, latency: 0s}, collective: {algorithm: ring}}";
  const Advice advice = Job{scenario_text(text)}.advised();
  CAPTURE(advise_text(advice));
  const std::vector<std::string> said = plain(advise_said(advice));
  CHECK(best_of_each(advice, list_a).size() > 1);
  CHECK(said[1] == "The best of the lists, A before B before C; gains are ranked within a list only.");
  CHECK(said[2].starts_with("First, " + first_of(advice, list_a).name() + " ("));
  CHECK(said[3].starts_with("Second, " + first_of(advice, list_b).name() + " ("));
  CHECK(said[4].starts_with("Third, " + first_of(advice, list_c).name() + " ("));
  AdviseOptions of_one_list;
  of_one_list.only = {"replace_slow", "algorithm"};
  CHECK(plain(advise_said(Job{scenario_text(text)}.advised(of_one_list)))[1].starts_with("First, "));  // a ranking
}

TEST_CASE("a pipeline's doctor: the stage that has more than its part, and what replacing a worker saves") {
  TemporaryFolder folder;
  const std::string file = folder
                               .write("import.json", R"({"format": "whatif", "stages": 4, "step_s": 2.0, "even_step_s": 1.7, "S": 1.176,
    "S_t": {"forward-compute": 1.09, "optimizer": 1.001}, "M_W": 0.03, "M_S": 1.2, "slowest_workers": [{"rank": 1, "stage": 3}],
    "missing": ["a job that runs"]})")
                               .string();
  const Advice advice = advise_on_figures(file);
  CHECK(advise_text(advice) ==
        "The last stage binds: it has more than its part of the work. With even operations a step (2 s) would take 15 % less.\n"
        "First, move layers off the last stage: a step would take 15 % less.\n"
        "Second, replace the slowest 3 % of the workers (rank 1, stage 3): a step would take 0.45 % less.\n"
        "Of the operations, uneven forward-compute cost most: alone 1.09 times the even step.\n"
        "Missing: a job that runs.\n");
  CHECK(advise_json(advice, "").find("\"samples_per_second\": null") != std::string::npos);
  CHECK(advise_page(advice).find("move layers off the last stage") != std::string::npos);
}

TEST_CASE("loaders of a few ranks: their storage comes first, and a single stall is no rate") {
  TemporaryFolder folder;
  AdviseOptions options;
  options.imported = folder.write("import.json", R"({"format": "ranks", "step_s": 1.6, "steps": [1.6], "missing": [],
    "ranks": [{"rank": 136}, {"rank": 144}, {"rank": 145}, {"rank": 160}]})");
  options.only = {"loaders"};
  test::ScenarioText text = timed();
  text.node =
      "{compute: {affine: {per_sample: 1ms}}, loader: {per_sample: 1us, workers: 0}}\n  late: {compute: {affine: {per_sample: 1ms}}, "
      "loader: {per_sample: 16ms, workers: 0}}";
  text.workers = "[{count: 1, device: node}, {count: 2, device: late}, {count: 1, device: node}]";
  const Advice advice = Job{scenario_text(text)}.advised(options);
  const std::string& note = first_of(advice, list_a).note;
  CHECK(note.find("only ranks 144 to 145 (neighbours) wait for data") != std::string::npos);
  CHECK(note.find("a single stall is hidden by a prefetch") != std::string::npos);
}

TEST_CASE("a job that nothing can speed up is told so, and an unknown remedy is refused") {
  test::ScenarioText text = timed();
  text.workers = equal_workers(1);
  AdviseOptions options;
  options.only = {"overlap", "loaders", "replace_slow", "link"};
  const Advice advice = Job{scenario_text(text)}.advised(options);
  CHECK(advice.rows.empty());
  CHECK(advice.binding == Binding::computing);
  CHECK(plain(advise_said(advice))[1] == "No remedy can be tried here: overlap: one worker sends nothing; --all says why not the others.");
  options.only = {"overlop"};
  CHECK_THROWS_WITH_AS(Job{scenario_text(text)}.advised(options), doctest::Contains("did you mean 'overlap'?"), std::invalid_argument);
}

TEST_CASE("a run that takes long is compared over its first updates, with the same gains") {
  test::ScenarioText text = timed("{updates: 200000}");
  text.workers = "[{count: 7, device: node}, {count: 1, device: node, slowdown: 3}]";
  AdviseOptions options;
  options.longest = 0.02;
  const Advice advice = Job{scenario_text(text)}.advised(options);
  REQUIRE(advice.cut);
  CHECK(*advice.cut < 200'000);
  CHECK(1 + first_of(advice, list_a).change == doctest::Approx(3).epsilon(0.02));
}

}  // namespace advise_test
