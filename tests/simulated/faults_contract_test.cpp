// Faults against every registered scheme, and everything that it declares it does about them: whatever happens, the books balance.
#include <doctest/doctest.h>

#include "tests/simulated/books.hpp"
#include "tests/simulated/fault_stories.hpp"
#include "tests/support/replay.hpp"

namespace faults_contract_test {

using namespace straggler;
using namespace straggler::test;

namespace {

/// `struck`: the moment at which something happens; the others follow from it.
std::vector<Story> stories(int workers, int struck) {
  const auto at = [](int milliseconds) { return std::to_string(milliseconds) + "ms"; };
  const auto crash = [&](int worker, int when, int restart) {
    return "{kind: crash, worker: " + std::to_string(worker) + ", at: " + at(when) + (restart ? ", restart_after: " + at(restart) : "") +
           "}";
  };
  const int other = workers > 1 ? 1 : 0, last = workers - 1;
  std::vector<Story> all = {
      {crash(0, struck, 30)},
      {crash(other, struck, 3)},
      {crash(0, struck, 10) + ", " + crash(0, struck + 40, 20)},
      {crash(0, struck, 10) + ", " + crash(0, struck + 11, 20)},  // again while its state is on the way
      {crash(last, struck, 300)},
      {"{kind: slow, worker: 0, from: " + at(struck) + ", to: " + at(struck + 100) +
           ", times_slower: 5}, {kind: slow, worker: 0, from: " + at(struck + 20) + ", to: " + at(struck + 50) + ", times_slower: 2}",
       false, false, false},
      {"{kind: link, worker: " + std::to_string(other) + ", from: " + at(struck) + ", to: " + at(struck + 60) + ", bandwidth_factor: 0}",
       false, false, false},
      {"{kind: link, worker: 0, from: " + at(struck) + ", to: " + at(struck + 60) + ", bandwidth_factor: 0.1}, " +
       crash(0, struck + 10, 15)},
      {crash(0, 0, 0), true, workers == 1},
      {crash(0, 0, 5)},
      {crash(last, struck, 0), true, workers == 1},
  };
  if (workers == 1) {
    all.push_back({"{kind: leave, worker: 0, at: " + at(struck) + "}", false, true, false});
    all.push_back({crash(0, struck, 50) + ", {kind: leave, worker: 0, at: " + at(struck + 20) + "}", false, true});
    return all;
  }
  std::string everyone, for_good, leaving;
  for (int worker = 0; worker < workers; ++worker) {
    everyone += (worker ? ", " : "") + crash(worker, struck + worker, 20 + 5 * worker);
    for_good += (worker ? ", " : "") + crash(worker, struck + 7 * worker, 0);
    leaving +=
        (worker ? ", " : "") + std::string("{kind: leave, worker: ") + std::to_string(worker) + ", at: " + at(struck + 9 * worker) + "}";
  }
  all.push_back({everyone});
  all.push_back({for_good, true, true});
  all.push_back({leaving, false, true, false});
  all.push_back({crash(0, struck, 20) + ", " + crash(1, struck, 20) + ", " + crash(2, struck, 40)});
  all.push_back({"{kind: join, worker: 1, at: " + at(struck) + "}", false, false, false});
  all.push_back(
      {"{kind: join, worker: 0, at: " + at(struck) + "}, {kind: join, worker: 2, at: " + at(struck + 1) + "}", false, false, false});
  all.push_back({"{kind: join, worker: 1, at: " + at(struck) + "}, " + crash(1, struck + 9, 10)});
  all.push_back({"{kind: leave, worker: 0, at: " + at(struck) + "}", false, false, false});
  all.push_back({"{kind: leave, worker: 2, at: " + at(struck) + "}, " + crash(3, struck, 25) +
                 ", {kind: join, worker: 1, at: " + at(struck + 10) + "}"});
  all.push_back({crash(1, struck, 50) + ", {kind: leave, worker: 1, at: " + at(struck + 20) + "}"});
  all.push_back({crash(1, struck, 5) + ", {kind: leave, worker: 1, at: " + at(struck + 6) + "}"});
  return all;
}

void check_outcome(const Variant& variant, const Story& story, const RunRecord& record) {
  const Outcome outcome = record.outcome;
  if (variant.on_failure == "abort" && story.crash) {
    CHECK((outcome == Outcome::aborted || outcome == Outcome::completed || outcome == Outcome::all_workers_down));
  } else if (story.nobody_left) {
    const bool stalls = variant.on_failure == "wait" && story.for_good;
    CHECK((outcome == Outcome::all_workers_down || outcome == Outcome::completed || (stalls && outcome == Outcome::stalled)));
  } else if (story.for_good && variant.on_failure == "wait") {
    CHECK((outcome == Outcome::stalled || outcome == Outcome::completed));
  } else {
    CHECK(outcome == Outcome::completed);
    CHECK(record.updates == 12);
  }
  // Who does not answer is down for good: workers that left are not waited for.
  CHECK((outcome == Outcome::stalled) == !record.stalled.empty());
  if (outcome == Outcome::stalled) CHECK(record.stalled.find(", down since ") != std::string::npos);
}

}  // namespace

TEST_CASE("every scheme, every on_failure, every fault: an outcome with a name, the books balance, and it can be repeated and replayed") {
  std::size_t runs = 0;
  for (const Variant& variant : variants()) {
    const int workers = variant.one_worker ? 1 : 4;
    for (const std::string fidelity : {"fluid", "stepwise"}) {
      if (fidelity == "stepwise" && !variant.all_reduce) continue;
      for (const int struck : {13, 22, 61}) {
        if (one_moment_in > 2 && struck != 22) continue;
        for (const Story& story : tried(stories(workers, struck), 3)) {
          CAPTURE(variant.scheme);
          CAPTURE(fidelity);
          CAPTURE(story.faults);
          const std::vector<std::string> sets = {"cluster.faults=[" + story.faults + "]",
                                                 "cluster.network.collective.fidelity=" + fidelity};
          if (refuses(variant, story.faults)) {
            CHECK_THROWS_WITH(run_timing(text(variant), sets), doctest::Contains("drives all workers from one process"));
            continue;
          }
          const Result result = run_timing(text(variant), sets);
          check_books(result, variant.synchronous);
          if (variant.answers_hold_own) check_answers(result, story.faults);
          check_outcome(variant, story, result.record);
          if (!sanitized) check_same(result, ++runs % 2 ? run_timing(text(variant), sets) : replay_timing(text(variant), sets, result));
        }
      }
    }
  }
}

TEST_CASE("every scheme with buckets, overlapped or not: a fault may strike between two of them") {
  for (const Variant& variant : variants()) {
    if (!variant.all_reduce) continue;
    for (const std::string collective : {"{bucket: 200B, overlap: true}", "{bucket: 200B, overlap: true, fidelity: stepwise}",
                                         "{bucket: 200B}", "{bucket: 200B, fidelity: stepwise}"}) {
      for (int struck = 3; struck < 60; struck += 7 * one_moment_in) {
        for (const Story& story : tried(stories(4, struck), 3)) {
          CAPTURE(variant.scheme);
          CAPTURE(collective);
          CAPTURE(story.faults);
          const Result result = run_timing(
              text(variant), {"cluster.faults=[" + story.faults + "]", "workload.cost={model: {kind: mlp, hidden: [60, 60, 60]}}",
                              "cluster.network.link={bandwidth: 10Mbps, latency: 100us}", "training.stop.updates=12",
                              "cluster.network.collective=" + collective});
          check_books(result, variant.synchronous);
          check_outcome(variant, story, result.record);
        }
      }
    }
  }
}

TEST_CASE("every scheme with a slow server: a worker restarts while the server handles its message") {
  for (const Variant& variant : variants()) {
    if (!variant.by_server || variant.on_failure == "abort") continue;
    for (int struck = 10; struck < 130; struck += 4 * one_moment_in) {
      CAPTURE(variant.scheme);
      const Story story = {"{kind: crash, worker: 1, at: " + std::to_string(struck) + "ms, restart_after: 1ms}"};
      CAPTURE(story.faults);
      // 33 ms for a step. Messages take no handling, so that the state reaches the worker meanwhile.
      const Result result = run_timing(text(variant), {"cluster.faults=[" + story.faults + "]", "cluster.servers={count: 1, update: 3MB/s}",
                                                       "cluster.network.link={bandwidth: 10Gbps, latency: 100us}"});
      check_books(result, variant.synchronous);
      if (variant.answers_hold_own) check_answers(result, story.faults);
      check_outcome(variant, story, result.record);
    }
  }
}

TEST_CASE("random faults") {
  // Every worker has a random life; all that the reader accepts must run.
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    for (const Variant& variant : variants()) {
      if (variant.one_worker || variant.one_process) continue;
      const Story story = random_story(draw, variant);
      CAPTURE(draw);
      CAPTURE(variant.scheme);
      CAPTURE(story.faults);
      const std::vector<std::string> sets = {"cluster.faults=[" + story.faults + "]",
                                             "cluster.servers.count=" + std::to_string(1 + draw % 3)};
      const Result result = run_timing(text(variant), sets);
      check_books(result, variant.synchronous);
      if (variant.answers_hold_own) check_answers(result, story.faults);
      check_outcome(variant, story, result.record);
    }
  }
}

}  // namespace faults_contract_test
