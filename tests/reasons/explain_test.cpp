// `explain` finds what slows a scenario down: scenarios slowed by one known cause at a time, whose cost has a closed form.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/experiment/trajectory_store.hpp"
#include "scenarios/reasons/explain_said.hpp"
#include "scenarios/report/explain_page.hpp"
#include "scenarios/results/busiest.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/run.hpp"

namespace explain_test {

using namespace straggler;
using namespace straggler::test;

namespace {

constexpr double batch_seconds = 0.1;  // of 100 samples of 1 ms

Explained explained(const std::string& yaml, const std::vector<std::string>& sets, bool timing_only = true) {
  ExplainOptions options;
  options.run.timing_only = timing_only;
  options.run.threads = 2;
  return explain(read_scenario_text(yaml, "test.yaml", sets), options);
}

std::vector<std::string> with(std::vector<std::string> sets, const std::vector<std::string>& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

/// The cause comes first, and its seconds are within 2 % of these.
void check_found(const Explained& all, Cause cause, double seconds) {
  CAPTURE(explain_csv(all));
  const std::vector<const CauseRow*> ranked = ranked_causes(all);
  REQUIRE(!ranked.empty());
  CHECK(ranked.front()->cause == cause);
  CHECK(*ranked.front()->seconds_saved == doctest::Approx(seconds).epsilon(0.02));
  REQUIRE(bottleneck(all) != nullptr);
  CHECK(bottleneck(all)->cause == cause);
  CHECK(plain(explain_said(all)).front().find(label_of(cause)) != std::string::npos);
}

std::string updates(int count) { return "training.stop={updates: " + std::to_string(count) + "}"; }

/// Links of 100 MB/s up and down, and messages of 8 MB.
constexpr double bytes = 8e6, rate = 1e8;
const std::vector<std::string> narrow_links = {"workload.cost={bytes: 8MB}", "cluster.network.link={bandwidth: 100MB/s, latency: 0s}"};
const std::string by_server = "training.scheme={kind: ssgd, via: server}";

}  // namespace

TEST_CASE("exponential jitter costs synchronous SGD H_p - 1 batches a step") {
  // The largest of p draws of mean 1 has the mean H_p = 1 + 1/2 + ... + 1/p.
  constexpr int p = 8, steps = 20'000;
  double harmonic = 0;
  for (int i = 1; i <= p; ++i) harmonic += 1.0 / i;
  check_found(explained(cluster(p), {"devices.node.jitter=exponential", updates(steps)}), Cause::jitter,
              steps * batch_seconds * (harmonic - 1));
}

TEST_CASE("one slow worker costs synchronous SGD the extra time of its batch, whatever the cause") {
  constexpr int steps = 50;
  constexpr double lost = steps * (3 - 1) * batch_seconds;
  TemporaryFolder folder;
  const std::string population = folder.write("slow.csv", "slowdown\n1\n1\n3\n1\n1\n").string();
  const std::vector<std::vector<std::string>> ways = {
      {"cluster.workers=[{count: 4, device: node}, {count: 1, device: node, slowdown: 3}]"},
      {"devices.old={compute: {affine: {overhead: 0s, per_sample: 3ms}}}",
       "cluster.workers=[{count: 2, device: node}, {count: 1, device: old}, {count: 2, device: node}]"},
      {"devices.old={compute: {table: {100: 300ms}}}", "cluster.workers=[{count: 1, device: old}, {count: 4, device: node}]"},
      {"cluster.workers=[{count: 5, device: node, population: " + population + "}]"},
  };
  for (const std::vector<std::string>& sets : ways) {
    CAPTURE(sets.back());
    const Explained all = explained(cluster(5), with(sets, {updates(steps)}));
    check_found(all, Cause::slow_workers, lost);
    CHECK(*all.row(Cause::all).seconds_saved == doctest::Approx(lost).epsilon(1e-3));
  }
}

TEST_CASE("a ring takes 2 (p - 1) (α + d β / p): its bandwidth and its latency cost a summand each") {
  constexpr int p = 8, steps = 20;
  constexpr double alpha = 2 * 0.05;  // two links
  const std::string ring = "cluster.network.collective.algorithm=ring";
  check_found(explained(cluster(p), with(narrow_links, {ring, updates(steps)})), Cause::bandwidth, steps * 2 * (p - 1) * bytes / rate / p);
  check_found(explained(cluster(p),
                        {"workload.cost={bytes: 8MB}", "cluster.network.link={bandwidth: 1000GB/s, latency: 50ms}", ring, updates(steps)}),
              Cause::latency, steps * 2 * (p - 1) * alpha);
  // One slow link holds up the whole ring.
  const std::string one_slow =
      "cluster.workers=[{count: 7, device: node}, {count: 1, device: node, link: {bandwidth: 10MB/s, latency: 0s}}]";
  check_found(explained(cluster(p), {"workload.cost={bytes: 8MB}", "cluster.network.link={bandwidth: 100MB/s, latency: 0s}", ring, one_slow,
                                     updates(steps)}),
              Cause::bandwidth, steps * 2 * (p - 1) * bytes / (rate / 10) / p);
  // Message by message as in one flow, and where processors handle messages.
  check_found(explained(cluster(p), {"workload.cost={bytes: 8B}", "cluster.network.link={bandwidth: 1000GB/s, latency: 50ms}", ring,
                                     "cluster.network.collective.fidelity=stepwise", updates(steps)}),
              Cause::latency, steps * 2 * (p - 1) * alpha);
}

TEST_CASE("p senders into one server's link cost (p - 1) d β each way, which is contention, not the link alone") {
  // The run ends with its last update, whose answers do not count.
  constexpr int p = 8, steps = 20, ways = 2 * steps - 1;
  const Explained all = explained(cluster(p), with(narrow_links, {by_server, updates(steps)}));
  check_found(all, Cause::contention, ways * (p - 1) * bytes / rate);
  CHECK(*all.row(Cause::bandwidth).seconds_saved == doctest::Approx(ways * p * bytes / rate));
  // The same through a file, whose links have bandwidths of their own.
  TemporaryFolder folder;
  std::string graph = "graph { hub [kind=switch]; node [kind=host]; edge [bandwidth=\"100MB/s\", latency=\"0s\"];\n";
  for (int w = 0; w < p; ++w) graph += "  \"worker/" + std::to_string(w) + "\" -- hub;\n";
  graph += "  \"server/0\" -- hub;\n}\n";
  const std::string file = folder.write("cluster.dot", graph).string();
  const Explained same = explained(
      cluster(p), {"workload.cost={bytes: 8MB}", "cluster.network.topology={kind: file, path: " + file + "}", by_server, updates(steps)});
  check_found(same, Cause::contention, ways * (p - 1) * bytes / rate);
  CHECK(*same.row(Cause::bandwidth).seconds_saved == doctest::Approx(ways * p * bytes / rate));
}

TEST_CASE("a server costs the time of its update and of handling each message") {
  constexpr int p = 4, steps = 30;
  constexpr double update = 0.2;  // 8 MB at 40 MB/s
  check_found(explained(cluster(p), {"workload.cost={bytes: 8MB}", "cluster.servers.update=40MB/s", by_server, updates(steps)}),
              Cause::server, steps * update);
  // The first gradients come at once and are handled one after another: p m. So are the answers; the worker that is answered last is the
  // last to send, and the others' gradients are handled by then: a step takes p m + c + m from then on.
  constexpr double each = 0.02;
  constexpr double handled = (p + (steps - 1) * (p + 1)) * each;
  check_found(explained(cluster(p), {"cluster.servers.per_message=20ms", by_server, updates(steps)}), Cause::server, handled);
  // Where every processor takes so long, that is the server's part; each worker adds its own two messages a step, one in the first.
  const Explained all = explained(cluster(p), {"cluster.network.protocol={per_message: 20ms}", by_server, updates(steps)});
  CHECK(*all.row(Cause::server).seconds_saved == doctest::Approx(handled).epsilon(0.02));
  CHECK(*all.row(Cause::latency).seconds_saved == doctest::Approx(handled + (2 * steps - 1) * each).epsilon(0.02));
}

TEST_CASE("a slow spell costs the time that it adds, and compression the time of encoding") {
  constexpr int p = 3, steps = 40;
  check_found(explained(cluster(p), {"cluster.faults=[{kind: slow, worker: 1, from: 0s, to: 1000s, times_slower: 2}]", updates(steps)}),
              Cause::faults, steps * batch_seconds);
  // Encoding 8 MB at 80 MB/s takes each worker 0.1 s; the network is fast, so that smaller messages save nothing.
  const Explained all = explained(cluster(p), {"workload.cost={bytes: 8MB}", "devices.node.compress=80MB/s",
                                               "training.compression={kind: fp16}", by_server, updates(steps)});
  CHECK(ranked_causes(all).front()->cause == Cause::compression);
  CHECK(*all.row(Cause::compression).seconds_saved >= steps * 0.1 * 0.98);
}

TEST_CASE("a cause that is absent has a row that says so and saves nothing") {
  const Explained all = explained(cluster(4), {});
  REQUIRE(all.rows.size() == 19);
  CHECK(all.rows.front().cause == Cause::nothing);
  CHECK(all.rows.back().cause == Cause::all);
  for (const Cause cause :
       {Cause::jitter, Cause::slow_workers, Cause::server, Cause::serial, Cause::staleness, Cause::faults, Cause::compression}) {
    CAPTURE(std::string(name_of(cause)));
    CHECK(all.row(cause).absent);
    CHECK_FALSE(all.row(cause).note.empty());
    CHECK(all.row(cause).seconds_saved == 0);
  }
  CHECK(bottleneck(all) == nullptr);
  CHECK(plain(explain_said(all)).front().find("computing") != std::string::npos);
  // Schemes that send weights have no gradient to take again; timing alone has none either.
  const CauseRow weights = explained(cluster(4), {"training.scheme={kind: fedasync}"}).row(Cause::staleness);
  CHECK_FALSE(weights.figures.has_value());
  CHECK(weights.note.find("not gradients") != std::string::npos);
  const CauseRow timing = explained(cluster(4), {"training.scheme=asgd"}).row(Cause::staleness);
  CHECK_FALSE(timing.figures.has_value());
  CHECK(timing.note.find("math") != std::string::npos);
}

TEST_CASE("rows do the same work: a stop by time becomes the updates that were made") {
  const std::vector<std::string> slow = {"cluster.workers=[{count: 3, device: node}, {count: 1, device: node, slowdown: 2}]"};
  const Explained all = explained(cluster(4), with(slow, {"training.stop={simulated_time: 3.1s}"}));
  CHECK(all.row(Cause::nothing).figures->updates == 15);  // of 0.2 s
  for (const CauseRow& row : all.rows)
    if (row.figures) CHECK(row.figures->updates == 15);
  CHECK(all.row(Cause::nothing).figures->simulated_seconds == doctest::Approx(3.0).epsilon(1e-3));
  CHECK(plain(work_said(all)).find("15 updates") != std::string::npos);
  CHECK_THROWS_AS(explained(cluster(4), {"training.stop={simulated_time: 1ms}"}), RunFailed);
}

TEST_CASE("a target must hold for some evaluations, and the sentence about the compared time says for how many") {
  Explained reached;
  reached.by_target = true;
  reached.work.target = 0.8;
  CHECK(plain(work_said(reached)) == "Each row takes the time to a test accuracy of 0.8.");
  reached.work.sustain = 3;
  CHECK(plain(work_said(reached)) ==
        "Each row takes the time to a test accuracy of 0.8: to the first of 3 evaluations in a row that reach it.");
  const Explained missed = explained(cluster(2),
                                     {"workload.data={kind: coordinates, samples: 400, test_samples: 100}", updates(6),
                                      "training.stop.target_accuracy=0.999", "training.evaluate={every: {updates: 1}, sustain: 4}"},
                                     false);
  CHECK(plain(work_said(missed)).ends_with(" The run does not reach its target of 0.999 in 4 evaluations in a row."));
}

TEST_CASE("a small change that lowers the rate is said to lower it, with the reason where it is known") {
  // With per_host 4 the 13th worker is alone on a 4th host.
  const std::vector<std::string> hosts = {"cluster.workers=[{count: 12, device: node, per_host: 4}]", "training.scheme=ssgd", updates(20)};
  Explained all = explained(cluster(4), with(narrow_links, hosts));
  REQUIRE(all.changes.size() == 3);
  REQUIRE(all.changes[2].change == "one worker more");
  CHECK(all.changes[2].place == "alone on a host of its own, 4 in all");
  const auto sentences = [&](double bandwidth, double computing, double worker) {
    all.changes[0].rate_change = bandwidth;
    all.changes[1].rate_change = computing;
    all.changes[2].rate_change = worker;
    std::string text;
    for (const Said& each : explain_said(all)) text += plain(each) + "\n";
    return text;
  };
  const std::string text = sentences(0.001, 0.08, -0.033);
  CAPTURE(text);
  CHECK(text.find("Of small changes, what raises the rate most is compute time -10 % (+8 % samples per second).\n") != std::string::npos);
  CHECK(text.find("Of small changes, bandwidth +10 % (+0.1 %) would change the rate by less than 0.5 %.\n") != std::string::npos);
  CHECK(text.find("Of small changes, one worker more (alone on a host of its own, 4 in all) would lower the rate by 3.3 %.\n") !=
        std::string::npos);
  CHECK(sentences(0.1, 0.1, -0.004).find("one worker more (-0.4 %) would change the rate by less than 0.5 %.") != std::string::npos);
  // A place on a host that is there is no reason.
  CHECK(explained(cluster(4), with(narrow_links, {"cluster.workers=[{count: 11, device: node, per_host: 4}]", updates(5)}))
            .changes[2]
            .place.empty());
  CHECK(explained(cluster(4), with(narrow_links, {updates(5)})).changes[2].place.empty());
}

TEST_CASE("contention that is the bottleneck comes with its larger whole, bandwidth, before the other causes") {
  // Four workers of a host share its link: 4 messages of 8 MB at 100 MB/s take 0.32 s, and 0.08 s each alone.
  const Explained all = explained(cluster(8), with(narrow_links, {"cluster.workers=[{count: 8, device: node, per_host: 4}]", by_server,
                                                                  "cluster.servers={count: 1, link: {bandwidth: 10GB/s}}", updates(30)}));
  std::string text;
  for (const Said& each : explain_said(all)) text += plain(each) + "\n";
  CAPTURE(text);
  REQUIRE(bottleneck(all)->cause == Cause::contention);
  REQUIRE(*all.row(Cause::bandwidth).share > *all.row(Cause::contention).share);
  const std::size_t whole = text.find("Unlimited bandwidth would save "), link = text.find("The busiest link is host/");
  CHECK(text.starts_with("The bottleneck is contention: if no two messages shared a link "));
  CHECK(whole != std::string::npos);
  CHECK(link != std::string::npos);
  CHECK(whole < link);
  const std::size_t next = text.find("Next come");
  CHECK((next == std::string::npos || text.substr(next, text.find('\n', next) - next).find("bandwidth") == std::string::npos));
  // The printed table has no rows of causes that are not there: a sentence names them.
  const std::string printed = explain_text(all);
  CHECK(printed.find("\nfaults ") == std::string::npos);
  CHECK(printed.find("\nNot there: ") != std::string::npos);
  CHECK(printed.find("there are no faults") != std::string::npos);
}

TEST_CASE("who holds workers up: the busiest link, and a server that answers one after the other") {
  const auto held = [](const std::vector<std::string>& sets) {
    const Scenario scenario = read_scenario_text(cluster(8), "test.yaml", with(narrow_links, sets));
    RunOptions options;
    options.timing_only = true;
    const RunRecord record = Experiment(scenario, options).run(nullptr, nullptr);
    return std::tuple(holdup(scenario, record), busiest_link(record), answering_share(scenario, record), record);
  };
  // As fast a link as a worker's: it is full of gradients or of answers, and sending answers side by side would not empty it.
  const std::string by_asgd = "training.scheme=asgd";
  const auto [full, link, answering, record] = held({by_asgd, updates(200)});
  REQUIRE(link);
  CHECK(link->name.starts_with("server/0"));
  // Some gradients are on their way at the end.
  CHECK(link->use == doctest::Approx(static_cast<double>(record.bytes_up) / (rate * record.end.seconds())).epsilon(0.06));
  CHECK(full.link == link_words(*link));
  CHECK(full.answers.empty());
  CHECK(answering == 0);
  // Ten times as fast a link: each answer leaves at its worker's speed, and the next message waits.
  const std::string fast = "cluster.servers={count: 1, link: {bandwidth: 1GB/s}}";
  const auto [turns, other, share, slow] = held({by_asgd, fast, updates(200)});
  CHECK(share == doctest::Approx(static_cast<double>(slow.bytes_down) / (rate * slow.end.seconds())).epsilon(1e-9));
  CHECK(share > 0.8);
  CHECK(turns.answers.starts_with("the server sends one answer at a time, for "));
  CHECK(turns.answers.ends_with("; training.scheme.answers: at_once sends them side by side"));
  CHECK(std::get<0>(held({"training.scheme={kind: asgd, answers: at_once}", fast, updates(200)})).answers.empty());
  // Who hardly waits is held up by nobody.
  CHECK(std::get<0>(held({by_asgd, "cluster.network.link={bandwidth: 100GB/s, latency: 0s}", updates(50)})).link.empty());
}

TEST_CASE("small changes: where all time is computing, the rate follows compute time, and workers in proportion") {
  const Explained all = explained(cluster(4), {});
  REQUIRE(all.changes.size() == 3);
  CHECK(*all.changes[0].rate_change == doctest::Approx(0).epsilon(1e-3));
  CHECK(*all.changes[1].rate_change == doctest::Approx(1 / 0.9 - 1).epsilon(1e-3));
  CHECK(*all.changes[2].rate_change == doctest::Approx(0.25).epsilon(1e-3));
  CHECK(*all.changes[2].elasticity() == doctest::Approx(1).epsilon(1e-3));
  // Where all time is a link's, the rate follows its bandwidth: 2 p d β.
  const Explained narrow = explained(cluster(4), with(narrow_links, {"devices.node.compute.affine.per_sample=1ns", by_server}));
  CHECK(*narrow.changes[0].rate_change == doctest::Approx(0.1).epsilon(1e-3));
  CHECK(*narrow.changes[2].rate_change == doctest::Approx(0).epsilon(1e-3));
}

namespace {

/// All samples at one point, so that a gradient at w is A (w - x) whoever takes it.
std::vector<std::string> bowl(const TemporaryFolder& folder, const std::string& scheme, int steps) {
  const std::string path = (folder.path() / "samples.csv").string();
  return {"workload.model={kind: quadratic, condition: 1, start: 10}",
          "workload.data={kind: csv, normalize: none, path: " + path + ", test_path: " + path + "}",
          "training.scheme=" + scheme,
          "training.batch.per_worker=8",
          "training.optimizer={kind: sgd, learning_rate: 0.05}",
          updates(steps)};
}

std::string samples_at(double x) {
  std::string text = "a,b,label\n";
  for (int i = 0; i < 64; ++i) text += std::to_string(x) + "," + std::to_string(-x) + "," + std::to_string(i % 2) + "\n";
  return text;
}

}  // namespace

TEST_CASE("gradients at the newest weights descend as plain SGD does: w_N = x + (1 - lr a)^N (w_0 - x)") {
  // Whatever the scheme does about staleness there is none to do something about; ssp steps at lr / p; a push of downpour is a sum of two.
  constexpr int steps = 60, p = 4;
  constexpr double lr = 0.05, x = 2;
  TemporaryFolder folder;
  folder.write("samples.csv", samples_at(x));
  const std::vector<std::pair<std::string, double>> schemes = {{"asgd", lr},
                                                               {"{kind: asgd, staleness: inverse}", lr},
                                                               {"{kind: asgd, staleness: delay_compensated, lambda: 1}", lr},
                                                               {"{kind: asgd, staleness: adaptive, answers: at_once}", lr},
                                                               {"{kind: softsync, n: 4, staleness: inverse}", lr},
                                                               {"{kind: k_async, k: 2}", lr},
                                                               {"{kind: k_batch_async, k: 2}", lr},
                                                               {"{kind: ssp, slack: 3}", lr / p},
                                                               {"{kind: downpour, push_every: 2, fetch_every: 3}", 2 * lr}};
  for (const auto& [scheme, step] : schemes) {
    const auto& this_scheme = scheme;  // clang 14 captures no structured binding
    CAPTURE(this_scheme);
    const Scenario scenario = read_scenario_text(cluster(p), "test.yaml", bowl(folder, scheme, steps));
    for (const bool newest : {false, true}) {
      CAPTURE(newest);
      RunOptions options;
      options.what_if.newest_weights = newest;
      Experiment experiment(scenario, options);
      const RunRecord record = experiment.run(nullptr, nullptr);
      REQUIRE(record.staleness.back().first > 0);  // the order of updates is that of the run
      const double expected = x + std::pow(1 - step, steps) * (10 - x);
      const bool plain = std::abs(experiment.final_weights().front() - expected) < 1e-4;
      CHECK(plain == newest);
    }
  }
}

TEST_CASE("staleness that slows training is found, as the time to the target") {
  const Explained all = explained(cluster(8),
                                  {"training.scheme=asgd", "workload.data={kind: coordinates, samples: 4000, test_samples: 1000}",
                                   "training.optimizer={kind: sgd, learning_rate: 0.1, momentum: 0.5}",
                                   "training.stop={epochs: 60, target_accuracy: 0.6}", "training.evaluate.every={updates: 5}"},
                                  false);
  CAPTURE(explain_csv(all));
  CHECK(all.by_target);
  REQUIRE_FALSE(ranked_causes(all).empty());
  CHECK(ranked_causes(all).front()->cause == Cause::staleness);
  const CauseRow& row = all.row(Cause::staleness);
  const CauseRow& own = all.row(Cause::nothing);
  CHECK(*row.seconds_saved == doctest::Approx(*own.figures->time_to_target - *row.figures->time_to_target));
  CHECK(*row.share == doctest::Approx(*row.seconds_saved / *own.figures->time_to_target));
  CHECK(*row.share > 0.1);
  // With more momentum the run never gets there.
  const Explained missed = explained(cluster(8),
                                     {"training.scheme=asgd", "workload.data={kind: coordinates, samples: 4000, test_samples: 1000}",
                                      "training.optimizer={kind: sgd, learning_rate: 0.1, momentum: 0.9}",
                                      "training.stop={epochs: 6, target_accuracy: 0.6}", "training.evaluate.every={updates: 5}"},
                                     false);
  CHECK_FALSE(missed.by_target);
  REQUIRE(bottleneck(missed) != nullptr);
  CHECK(bottleneck(missed)->cause == Cause::staleness);
  CHECK(plain(explain_said(missed)).front().find("does not reach its target") != std::string::npos);
}

TEST_CASE("where causes change the order of updates, they are ranked by samples per second, and one seed's chance is named") {
  const Explained all = explained(cluster(8),
                                  {"training.scheme=asgd", "workload.data={kind: coordinates, samples: 4000, test_samples: 1000}",
                                   "devices.node.jitter=exponential", "training.optimizer={kind: sgd, learning_rate: 0.1}",
                                   "training.stop={epochs: 60, target_accuracy: 0.6}", "training.evaluate.every={updates: 5}"},
                                  false);
  CAPTURE(explain_text(all));
  REQUIRE(all.by_target);
  CHECK(all.by_rate());
  const double own = all.row(Cause::nothing).figures->samples_per_second;
  std::vector<double> gains;
  for (const CauseRow* const row : ranked_causes(all)) {
    CHECK(row->cause != Cause::staleness);
    gains.push_back(row->figures->samples_per_second / own - 1);
    CHECK(cost_of(all, *row) == doctest::Approx(gains.back()));
  }
  CHECK(std::ranges::is_sorted(gains, std::greater()));
  const std::vector<std::string> words = plain(explain_said(all));
  const std::string caveat =
      "Without a cause, updates come in another order, so the time to the target differs by chance too: one seed cannot tell chance from a "
      "saving.";
  CHECK(std::ranges::count(words, caveat) == 1);
  for (const std::string& sentence : words) CHECK(sentence.find("the target is reached") == std::string::npos);
  CHECK(explain_json(all, "out").find("\"ranked_by\": \"samples_per_second\"") != std::string::npos);
  CHECK(explain_page(all).find(caveat) != std::string::npos);
  CHECK(explain_page(all).find(">time to target<") != std::string::npos);
}

namespace {

/// Counts the evaluations that were computed.
class CountingStore final : public TrajectoryStore {
 public:
  std::optional<Evaluation> find(const Key& key) override {
    const auto at = known_.find(key);
    return at == known_.end() ? std::nullopt : std::optional(at->second);
  }
  void keep(const Key& key, const Evaluation& value) override {
    ++kept;
    known_[key] = value;
  }
  std::size_t kept = 0;

 private:
  std::map<Key, Evaluation> known_;
};

}  // namespace

TEST_CASE("runs with the same order of updates compute their math once") {
  const std::vector<std::string> sets = {
      "devices.node.jitter=exponential", "workload.data={kind: coordinates, samples: 1000, test_samples: 200}",
      "training.evaluate.every={updates: 2}", "cluster.workers=[{count: 3, device: node}, {count: 1, device: node, slowdown: 2}]"};
  CountingStore alone, shared;
  std::size_t expected = 0;
  for (const int fast : {3, 4}) {  // the run, and with one worker more
    RunOptions options;
    options.store = &alone;
    const std::vector<std::string> workers = {"cluster.workers=[{count: " + std::to_string(fast) +
                                              ", device: node}, {count: 1, device: node, slowdown: 2}]"};
    Experiment(read_scenario_text(cluster(4), "test.yaml", with(sets, workers)), options).run(nullptr, nullptr);
    expected = alone.kept;
  }
  ExplainOptions options;
  options.run.store = &shared;
  const Explained all = explain(read_scenario_text(cluster(4), "test.yaml", sets), options);
  CHECK(shared.kept == expected);
  std::set<double> accuracies;
  for (const CauseRow& row : all.rows) accuracies.insert(row.figures->final_test_accuracy.value());
  CHECK(accuracies.size() == 1);
}

TEST_CASE("the tables have the columns of the contract, and every row of the causes") {
  const Explained all = explained(cluster(2), {});
  const std::string csv = explain_csv(all);
  CHECK(csv.starts_with("cause,simulated_seconds,samples_per_second,time_to_target_s,final_test_accuracy,seconds_saved,share\nnothing,"));
  std::string causes;
  std::size_t commas = 0;
  for (std::size_t at = 0; at < csv.size(); at = csv.find('\n', at) + 1) {
    causes += csv.substr(at, csv.find(',', at) - at) + " ";
    const std::string line = csv.substr(at, csv.find('\n', at) - at);
    CHECK(std::ranges::count(line, ',') == 6);
    ++commas;
  }
  CHECK(causes ==
        "cause nothing jitter slow_workers bandwidth latency contention server serial staleness faults compression collectives loaders "
        "launches batch overlap distributed start_up all ");
  CHECK(commas == all.rows.size() + 1);
  CHECK(elasticities_csv(all).starts_with("change,input_change,samples_per_second,rate_change,elasticity,"));
}

TEST_CASE("what people can change is a cause: loaders, launches, the fixed time of a batch, overlap, the price of being distributed") {
  constexpr int steps = 100;
  check_found(explained(cluster(4), {"devices.node.loader={per_sample: 4ms, workers: 1, prefetch: 1}", updates(steps)}), Cause::loaders,
              steps * 3 * batch_seconds);
  check_found(explained(cluster(4), {"devices.node.compute={affine: {overhead: 100ms, per_sample: 1ms}}", updates(steps)}), Cause::batch,
              steps * batch_seconds);
  check_found(explained(cluster(4), {"cluster.network.collective.per_step=30ms", updates(steps)}), Cause::distributed, steps * 0.03);
  check_found(explained(cluster(4), {"devices.node.compute={table: {100: 100ms, 200: 200ms}, launch: 400ms}", updates(steps)}),
              Cause::launches, steps * 0.3);
  const Explained all = explained(cluster(4), {updates(steps)});
  for (const Cause cause : {Cause::collectives, Cause::loaders, Cause::launches, Cause::batch, Cause::distributed, Cause::start_up})
    CHECK(all.row(cause).absent);
}

TEST_CASE("without contention the all-reduce stays the one that auto chose") {
  // Two workers a host: a ring shares no link, and a tree that would be faster without sharing does not count.
  const std::vector<std::string> sets = with(narrow_links, {"cluster.workers=[{count: 8, device: node, per_host: 2}]", updates(10)});
  const Explained chosen = explained(cluster(8), sets);
  const Scenario scenario = read_scenario_text(cluster(8), "test.yaml", sets);
  const std::string name = Blueprint(scenario, "auto").all_reduce->name;
  const Explained named = explained(cluster(8), with(sets, {"cluster.network.collective.algorithm=" + name}));
  CHECK(chosen.row(Cause::contention).figures->simulated_seconds == named.row(Cause::contention).figures->simulated_seconds);
}

TEST_CASE("links do not change measured all-reduces, which are a cause of their own") {
  TemporaryFolder folder;
  const std::string times = folder.write("times.csv", "bytes,seconds\n8000000,0.3\n").string();
  const Explained all =
      explained(cluster(4), with(narrow_links, {"cluster.network.collective={kind: measured, path: " + times + "}", updates(20)}));
  for (const Cause cause : {Cause::bandwidth, Cause::latency, Cause::contention}) {
    CHECK(!all.row(cause).absent);
    CHECK(!all.row(cause).figures);
    CHECK(all.row(cause).note == measured_words());
  }
  check_found(all, Cause::collectives, 20 * 0.3);
  const std::vector<std::string> said = plain(explain_said(all));
  CHECK(std::ranges::any_of(said, [](const std::string& each) {
    return each.starts_with("What bandwidth, latency and contention would do is not known: times of all-reduces are measured");
  }));
  CHECK(std::ranges::none_of(said, [](const std::string& each) { return each.starts_with("What would not help: bandwidth"); }));
}

}  // namespace explain_test
