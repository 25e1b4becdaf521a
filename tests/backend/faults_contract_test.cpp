// Faults against every registered scheme, and everything that it declares it does about them: whatever happens, the books balance.
#include <doctest/doctest.h>

#include "books.hpp"
#include "sim/base/random.hpp"
#include "sim/training/scheme.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

struct Variant {
  std::string scheme, on_failure;
  bool one_worker = false, all_reduce = false, synchronous = false, one_process = false;
};

/// Every variant of every scheme, times each on_failure.
std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const SchemeVariant& each : all_scheme_variants()) {
    REQUIRE_FALSE(failure_choices(*each.entry).empty());
    for (const std::string& on_failure : failure_choices(*each.entry)) {
      ParameterTexts given = each.given;
      given["on_failure"] = on_failure;
      all.push_back({variant_of(*each.entry, given).text(), on_failure, each.entry->only_workers.has_value(),
                     each.exchange() == Exchange::all_reduce, !each.asynchronous(), each.entry->one_process});
    }
  }
  return all;
}

/// Uneven workers; a message takes as long as a computation, so that a fault may strike in either.
std::string text(const Variant& variant) {
  return R"(straggler: 1
name: faults
seed: 5
devices:
  node:
    compute: {affine: {overhead: 1ms, per_sample: 0.3ms}}
    jitter: {kind: gamma, shape: 3}
    update: 100MB/s
cluster:
  workers: )" +
         std::string(variant.one_worker ? "[{count: 1, device: node}]"
                                        : "[{count: 3, device: node}, {count: 1, device: node, slowdown: 2}]") +
         R"(
  servers: {count: 1, update: 50MB/s, per_message: 20us}
  network: {link: {bandwidth: 100Mbps, latency: 1ms}}
workload:
  model: {kind: mlp, hidden: [16]}
  data: {kind: coordinates, samples: 400, test_samples: 100}
  cost: {bytes: 100000B}
training:
  scheme: )" +
         variant.scheme + R"(
  batch: {per_worker: 40}
  optimizer: {kind: sgd, learning_rate: 0.05, momentum: 0.9}
  stop: {updates: 12, simulated_time: 5s}
)";
}

struct Story {
  std::string faults;
  bool for_good = false;  // some worker crashes and does not restart
  bool nobody_left = false;
  bool crash = true;
};

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

/// Where one process drives all workers, none can join or leave.
bool refuses(const Variant& variant, const std::string& faults) {
  return variant.one_process && (faults.find("join") != std::string::npos || faults.find("leave") != std::string::npos);
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
}

}  // namespace

TEST_CASE("every scheme, every on_failure, every fault: an outcome with a name, and the books balance") {
  for (const Variant& variant : variants()) {
    const int workers = variant.one_worker ? 1 : 4;
    for (const std::string fidelity : {"fluid", "stepwise"}) {
      if (fidelity == "stepwise" && !variant.all_reduce) continue;
      for (const int struck : {13, 22, 61}) {
        for (const Story& story : stories(workers, struck)) {
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
          check_answers(result, story.faults);
          check_outcome(variant, story, result.record);
          check_same(result, run_timing(text(variant), sets));
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
      for (int struck = 3; struck < 60; struck += 7) {
        for (const Story& story : stories(4, struck)) {
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

TEST_CASE("every scheme with a server that takes long: a worker restarts while the server has what it sent") {
  for (const Variant& variant : variants()) {
    if (!variant.by_server || variant.on_failure == "abort") continue;
    for (int struck = 10; struck < 130; struck += 4) {
      CAPTURE(variant.scheme);
      const Story story = {"{kind: crash, worker: 1, at: " + std::to_string(struck) + "ms, restart_after: 1ms}"};
      CAPTURE(story.faults);
      // 33 ms for a step. Messages take no handling, so that the state reaches the worker meanwhile.
      const Result result = run_timing(text(variant), {"cluster.faults=[" + story.faults + "]", "cluster.servers={count: 1, update: 3MB/s}",
                                                       "cluster.network.link={bandwidth: 10Gbps, latency: 100us}"});
      check_books(result, variant.synchronous);
      check_answers(result, story.faults);
      check_outcome(variant, story, result.record);
    }
  }
}

TEST_CASE("random faults") {
  // Every worker has a random life; all that the reader accepts must run.
  for (std::uint64_t draw = 0; draw < 60; ++draw) {
    for (const Variant& variant : variants()) {
      if (variant.one_worker || variant.one_process) continue;
      RandomStream random(draw, variant.scheme, 0);
      std::string faults;
      Story story;
      story.nobody_left = true;
      story.crash = false;
      for (int worker = 0; worker < 4; ++worker) {
        double at = 0;
        bool gone = false;
        const auto add = [&](const std::string& fault) { faults += (faults.empty() ? "" : ", ") + fault; };
        const auto us = [](double seconds) { return std::to_string(static_cast<std::int64_t>(seconds * 1e6)) + "us"; };
        const std::string who = "worker: " + std::to_string(worker);
        if (random.uniform() < 0.25) add("{kind: join, " + who + ", at: " + us(at = 0.2 * random.uniform()) + "}");
        while (random.uniform() < 0.5) {
          at += 1e-4 + 0.15 * random.uniform();
          const double down = 1e-4 + (random.uniform() < 0.5 ? 0.01 : 0.2) * random.uniform();
          gone = random.uniform() < 0.15;
          add("{kind: crash, " + who + ", at: " + us(at) + (gone ? "" : ", restart_after: " + us(down)) + "}");
          story.crash = true;
          at += down;
          if (gone) break;
        }
        story.for_good = story.for_good || gone;
        if (!gone && random.uniform() < 0.2) {
          add("{kind: leave, " + who + ", at: " + us(at += 1e-3 + 0.1 * random.uniform()) + "}");
          gone = true;
        }
        if (random.uniform() < 0.3)
          add("{kind: slow, " + who + ", from: " + us(0.1 * random.uniform()) + ", to: " + us(0.11 + 0.2 * random.uniform()) +
              ", times_slower: 3}");
        if (random.uniform() < 0.3)
          add("{kind: link, " + who + ", from: " + us(0.1 * random.uniform()) + ", to: " + us(0.11 + 0.2 * random.uniform()) +
              ", bandwidth_factor: " + (random.uniform() < 0.5 ? "0" : "0.3") + "}");
        story.nobody_left = story.nobody_left && gone;
      }
      CAPTURE(draw);
      CAPTURE(variant.scheme);
      CAPTURE(faults);
      const std::vector<std::string> sets = {"cluster.faults=[" + faults + "]", "cluster.servers.count=" + std::to_string(1 + draw % 3)};
      const Result result = run_timing(text(variant), sets);
      check_books(result, variant.synchronous);
      check_answers(result, faults);
      check_outcome(variant, story, result.record);
    }
  }
}
