// A run that stalled said which processes wait, idle clients first, and not why: who was absent when it was invited, or is down.
#include <doctest/doctest.h>

#include <string>

#include "sim/training/node.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/run.hpp"

namespace stalled_says_who_test {

using namespace straggler;
using namespace straggler::test;

namespace {

/// Rounds of all clients. The server does not look whether those that it invites are present, and waits for each of them.
class WaitsForAll final : public Scheme {
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    if (node.present(node.self()).life > 0) weights = co_await node.receive<Weights>(node.server());
    for (;;) {
      const Gradient gradient = co_await node.gradient(weights, node.next_batch(node.batch_size()));
      weights = co_await node.step(weights, gradient);
      co_await node.send(node.server(), weights);
      weights = co_await node.receive<Weights>(node.server());
    }
  }
  Process server(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      std::vector<Weights> parts;
      for (Rank rank = 0; rank < node.workers(); ++rank) {
        const Weights part = co_await node.receive<Weights>(rank);
        parts.push_back(part);
      }
      const Weights mean = node.mean(parts);
      weights = co_await node.publish(mean);
      std::vector<Rank> all;
      for (Rank rank = 0; rank < node.workers(); ++rank) all.push_back(rank);
      node.broadcast(weights, all);
    }
  }
};

const Register<SchemeEntry> waits_for_all({
    .name = "waits_for_all",
    .summary = "for this test",
    .reference = "none",
    .contributions = one_contribution(),
    .parameters = {on_failure({OnFailure::drop}, "wait all the same")},
    .make = made<WaitsForAll>,
    .invited = [](const Parameters&, const TrainingPlan& plan) { return plan.workers; },
    .invites = true,
});

/// A batch takes 100 ms, worker 0's 300 ms; the network takes no time. `spans`: of the other workers' file, whose worker 0 is worker 1
/// here.
std::string stalled(const std::string& scheme, int others, const std::string& spans, bool slow_too) {
  const TemporaryFolder folder;
  folder.write("clients.csv", "worker,from_s,to_s\n" + spans);
  const std::string file = (folder.path() / "clients.csv").string();
  const Result result = run_timing(
      cluster(others), {"cluster.workers=[" + std::string(slow_too ? "{count: 1, device: node, slowdown: 3}, " : "") +
                            "{count: " + std::to_string(others) + ", device: node, availability: {kind: trace, path: " + file + "}}]",
                        "training.scheme=" + scheme, "training.stop.updates=20"});
  CHECK(result.record.outcome == Outcome::stalled);
  REQUIRE(result.record.warnings.size() == 1);
  CHECK(result.record.warnings[0].find(result.record.stalled) != std::string::npos);
  CHECK(result.record.stalled.find('\n') == std::string::npos);
  return result.record.stalled;
}
bool begins(const std::string& text, const std::string& with) { return text.rfind(with, 0) == 0; }

}  // namespace

TEST_CASE("a stalled round names the client that was absent when it was invited, before the many that wait for the server") {
  // The first round ends with worker 0, at 300 ms. Worker 13 has answered at 100 ms, and is away from 200 to 500 ms.
  std::string spans;
  for (int worker = 0; worker < 30; ++worker) spans += worker == 12 ? "12,0,0.2\n12,0.5,100\n" : std::to_string(worker) + ",0,100\n";
  const std::string text = stalled("waits_for_all", 30, spans, true);
  const std::string said = "server 0 waits for weights from worker 13, absent when it was sent a message at ";
  REQUIRE(begins(text, said));
  CHECK(std::stod(text.substr(said.size())) == doctest::Approx(0.3).epsilon(1e-6));
}

TEST_CASE("a stalled round names the client that went before it had answered") {
  // Worker 2 is lost to the round at 50 ms. It is back at 70 ms, and nobody invites it again.
  CHECK(begins(stalled("waits_for_all", 3, "0,0,100\n1,0,0.05\n1,0.07,100\n2,0,100\n", true),
               "server 0 waits for weights from worker 2, which went at 50ms and was sent nothing since"));
  CHECK(begins(stalled("waits_for_all", 3, "0,0,100\n1,0,0.05\n2,0,100\n", true),
               "server 0 waits for weights from worker 2, absent since 50ms"));
}

TEST_CASE("nobody is left to invite") {
  CHECK(begins(stalled("{kind: fedavg, local_steps: 1}", 2, "0,0,0.25\n1,0,0.25\n", false),
               "server 0 waits for weights from anyone: no client is present, and none will come"));
}

TEST_CASE("a worker that is down for good is named, with the time, whoever waits for it") {
  for (const std::string scheme : {"{kind: ssgd, on_failure: wait}", "{kind: ssgd, via: server, on_failure: wait}",
                                   "{kind: ssp, slack: 1, on_failure: wait}", "{kind: nonblocking, on_failure: wait}",
                                   "{kind: dpsgd, graph: full, on_failure: wait}", "{kind: k_sync, k: 4, on_failure: wait}"}) {
    CAPTURE(scheme);
    const Result result = run_timing(
        cluster(4),
        {"training.scheme=" + scheme, "cluster.faults=[{kind: crash, worker: 1, at: 170ms}, {kind: leave, worker: 3, at: 120ms}]"});
    REQUIRE(result.record.outcome == Outcome::stalled);
    CHECK(result.record.stalled.find("worker 1, down since 170ms") != std::string::npos);
    CHECK(result.record.stalled.find("worker 3") == std::string::npos);
  }
}

}  // namespace stalled_says_who_test
