// On a busy server some schemes waited until an answer had left, and others did not: the same rule had two speeds.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/schemes/course.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

/// Four equal workers compute for 50 ms. Each takes 100 ms to send a message or to get one; the server could send many at a time.
const double work = 0.05, message = 0.1;
std::vector<std::string> busy(const std::string& scheme, int updates) {
  return {"cluster.network.link={bandwidth: 1MB/s, latency: 0s}",
          "cluster.servers.link={bandwidth: 1GB/s, latency: 0s}",
          "workload.cost={bytes: 100000B}",
          "training.batch.per_worker=50",
          "training.stop={updates: " + std::to_string(updates) + "}",
          "training.scheme=" + scheme};
}
/// Unequal workers with jitter, and one link of the server for all answers.
const std::vector<std::string> crowded = {"cluster.workers=[{count: 3, device: node}, {count: 1, device: node, slowdown: 3}]",
                                          "devices.node.jitter={kind: gamma, shape: 3}",
                                          "cluster.network.link={bandwidth: 12.5kB/s, latency: 1ms}", "training.stop.updates=60"};
std::string with(const std::string& scheme, const std::string& answers) { return "{" + scheme + ", answers: " + answers + "}"; }

}  // namespace

TEST_CASE("an answer takes the time of a message in turn, and answers at once leave side by side: one law for all schemes") {
  // All four gradients arrive at C + S. In turn: one answer after another, and the next gradient of each is there before its turn (C < 2
  // S). At once: all are answered then, and come again after C + 2 S.
  const int rounds = 5;
  for (const std::string scheme :
       {"kind: asgd", "kind: k_async, k: 1", "kind: k_batch_async, k: 1", "kind: softsync, n: 4", "kind: ssp, slack: 1000, scale: sum",
        "kind: easgd, period: 1", "kind: fedasync, local_steps: 1", "kind: fedbuff, buffer: 1, local_steps: 1"}) {
    CAPTURE(scheme);
    const double in_turn = work + 4 * rounds * message, at_once = work + message + (rounds - 1) * (work + 2 * message);
    for (const std::string& text : {with(scheme, "in_turn"), "{" + scheme + "}"})
      CHECK(run_timing(cluster(4), busy(text, 4 * rounds)).record.end.seconds() == doctest::Approx(in_turn).epsilon(1e-9));
    CHECK(run_timing(cluster(4), busy(with(scheme, "at_once"), 4 * rounds)).record.end.seconds() == doctest::Approx(at_once).epsilon(1e-9));
  }
}

TEST_CASE("downpour answers requests in turn, or at once") {
  // As above, but a request of 8 bytes follows each gradient, so the fetch waits for both.
  const int rounds = 5;
  const double request = 8 / 1e6;
  const auto end = [&](const std::string& answers) {
    return run_timing(cluster(4), busy(with("kind: downpour", answers), 4 * rounds)).record.end.seconds();
  };
  CHECK(end("at_once") == doctest::Approx(work + message + (rounds - 1) * (work + 2 * message + request)).epsilon(1e-9));
  // Four updates need no answer. Each further one follows an answer of its own, and the server gives one at a time.
  CHECK(end("in_turn") >= work + message + 4 * (rounds - 1) * message);
}

TEST_CASE("backup workers: late workers are answered in turn, or at once; those of an update always at once") {
  // At C + S the first gradient makes an update, and its answer leaves. In turn: the three late workers are answered by C + 4 S, and the
  // next gradient at the new version, there since 2 C + 3 S, waits until then.
  const auto end = [&](const std::string& answers) {
    return run_timing(cluster(4), busy(with("kind: backup_workers, backups: 3", answers), 2)).record.end.seconds();
  };
  CHECK(end("at_once") == doctest::Approx(2 * work + 3 * message).epsilon(1e-9));
  CHECK(end("in_turn") == doctest::Approx(work + 4 * message).epsilon(1e-9));
  // k_async answers the k of an update side by side, and waits for the last of them.
  const auto pairs = [&](const std::string& answers) {
    return run_timing(cluster(4), busy(with("kind: k_async, k: 2", answers), 2)).record.end.seconds();
  };
  CHECK(pairs("at_once") == doctest::Approx(work + message).epsilon(1e-9));
  CHECK(pairs("in_turn") == doctest::Approx(work + 2 * message).epsilon(1e-9));
}

TEST_CASE("the same rule under two names has the same course on a crowded link, whatever `answers`") {
  const std::vector<std::pair<std::string, std::string>> same = {
      {"kind: k_async, k: 1", "kind: asgd"},
      {"kind: k_batch_async, k: 1", "kind: asgd"},
      {"kind: softsync, n: 4", "kind: asgd"},
      {"kind: ssp, slack: 1000000, scale: sum", "kind: asgd"},
      {"kind: softsync, n: 2", "kind: k_batch_async, k: 2"},
      {"kind: softsync, n: 1", "kind: k_batch_async, k: 4"},
      {"kind: rennala, batch: 1", "kind: asgd, max_delay: 1"},
  };
  for (const std::string answers : {"in_turn", "at_once"}) {
    CAPTURE(answers);
    for (const auto& [one, other] : same) {
      CAPTURE(one);
      check_same_course(run(cluster(4), with_scheme(crowded, with(one, answers))),
                        run(cluster(4), with_scheme(crowded, with(other, answers))));
    }
    check_same_course(run(cluster(4), with_scheme(crowded, with("kind: backup_workers, backups: 0", answers))),
                      run(cluster(4), with_scheme(crowded, "{kind: ssgd, via: server}")));
  }
  check_same_course(run(cluster(4), with_scheme(crowded, with("kind: backup_workers, backups: 3", "at_once"))),
                    run(cluster(4), with_scheme(crowded, with("kind: asgd, max_delay: 1", "at_once"))));
}

TEST_CASE("check says that several servers are idle, unless their answers leave side by side") {
  const auto told = [](const std::string& scheme) {
    const Scenario scenario = read_scenario_text(cluster(4), "test.yaml", {"training.scheme=" + scheme, "cluster.servers.count=3"});
    std::string said;
    for (const std::string& warning : Experiment(scenario, {}).explain().warnings)
      if (warning.find("answers: at_once") != std::string::npos) said += warning;
    return said;
  };
  const auto begins = [&](const std::string& scheme, const std::string& text) { return told(scheme).starts_with(text); };
  CHECK(begins("asgd", "the 3 servers answer one worker at a time, "));
  CHECK(begins("easgd", "the 3 servers answer one worker at a time, "));
  CHECK(begins("{kind: k_async, k: 2}", "the 3 servers answer 2 workers at a time, "));
  CHECK(told("{kind: k_async, k: 3}").empty());  // three links of the servers, three workers at a time
  CHECK(told("{kind: asgd, answers: at_once}").empty());
  CHECK(told("{kind: backup_workers, backups: 1}").empty());
  CHECK(told("{kind: ssgd, via: server}").empty());
}
