// A link that stops holds several messages of one worker back. They end at one instant, and must still arrive in the order in which they
// were sent, as on one connection: D-PSGD takes a neighbour's weights of version n before those of n + 1, and waited forever otherwise.
#include <doctest/doctest.h>

#include <map>
#include <stdexcept>

#include "sim/training/node.hpp"
#include "tests/support/point_data.hpp"
#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

const std::vector<Client> unlike = {{8, {1, -0.5, 0.7}}, {8, {-0.4, 0.5, 0}}, {8, {0.2, 0.3, -0.6}}, {8, {0.3, -1, -0.1}}};
// The first two and worker 0's crash leave workers some steps apart; so two messages to worker 3 wait while its link is down.
const std::string faults =
    "cluster.faults=[{kind: crash, worker: 1, at: 203ms, restart_after: 30ms}, {kind: slow, worker: 2, from: 100ms, to: 300ms, "
    "times_slower: 4}, {kind: crash, worker: 0, at: 415ms, restart_after: 1ms}, {kind: link, worker: 3, from: 450ms, to: 470ms, "
    "bandwidth_factor: 0}, {kind: crash, worker: 1, at: 477ms, restart_after: 100ms}]";

class MessageSink final : public RecordSink {
 public:
  std::vector<MessageTrace> arrived;

 private:
  void message(const MessageTrace& message) override {
    if (!message.lost) arrived.push_back(message);
  }
  void contribution(std::uint64_t, Time, Rank, std::uint64_t, std::uint64_t, std::uint32_t, std::uint64_t) override {}
  void choice(Rank, std::int32_t) override {}
  void span(Rank, Phase, Time, Time) override {}
};

/// Each worker sends a large message, then a small one, then its gradient. The server asks for them in this order.
class LargeThenSmall final : public Scheme {
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      const Gradient gradient = co_await node.gradient(weights, node.batch_size());
      node.post(node.server(), Token{1, 1200});
      node.post(node.server(), Token{2, 8});
      co_await node.send(node.server(), gradient);
      weights = co_await node.receive<Weights>(node.server());
    }
  }
  Process server(Node& node) const override {
    Weights weights = node.initial_weights();
    for (Rank worker = 0;; worker = (worker + 1) % node.workers()) {
      for (const std::uint32_t number : {1U, 2U}) {
        const From<Token> token = co_await node.receive<Token>(worker);
        if (token.number != number) throw std::logic_error("a small message has overtaken a large one");
      }
      const From<Gradient> arrived = co_await node.receive<Gradient>(worker);
      weights = co_await node.step(weights, arrived);
      weights = co_await node.publish(weights);
      node.post(arrived.sender, weights);
    }
  }
};

const Register<SchemeEntry> large_then_small({
    .name = "large_then_small",
    .summary = "for this test",
    .reference = "none",
    .contributions = one_contribution(),
    .parameters = {on_failure({OnFailure::wait}, "wait for it")},
    .make = made<LargeThenSmall>,
});

}  // namespace

TEST_CASE("a small message does not overtake a large one in a run with faults") {
  const PointData points(unlike);
  const Result result = run(equal_bowl(4, "large_then_small", points.data(true), 0.1, 40),
                            {"cluster.network.link={bandwidth: 60kB/s, latency: 0s}",
                             "cluster.faults=[{kind: link, worker: 3, from: 50ms, to: 170ms, bandwidth_factor: 0.1}]"});
  CHECK(result.record.outcome == Outcome::completed);
  CHECK(result.record.updates == 40);
}

TEST_CASE("messages that a link held back arrive in the order in which they were sent") {
  const PointData points(unlike);
  RunOptions options;
  options.timing_only = true;
  options.trace = true;
  for (const std::string scheme : {"dpsgd", "{kind: k_batch_sync, k: 2}"}) {
    CAPTURE(scheme);
    Experiment experiment(scenario_of(equal_bowl(4, scheme, points.data(true), 0.1, 100), {faults}), options);
    MessageSink sink;
    experiment.run(&sink, nullptr);
    std::map<std::pair<Rank, Rank>, MessageTrace> last;
    std::size_t together = 0;
    for (const MessageTrace& message : sink.arrived) {
      const auto [known, first] = last.try_emplace({message.from, message.to}, message);
      if (first) continue;
      CHECK(message.sent >= known->second.sent);
      CHECK(message.arrived >= known->second.arrived);
      together += message.arrived == known->second.arrived;
      known->second = message;
    }
    CHECK(together > 0);
  }
}

TEST_CASE("D-PSGD ends at the mean of its workers' optima after a link stopped between two crashes") {
  // Curvatures and shares are the same for all, so that the mean of all weights moves as one: towards the mean of the optima. What is left
  // of its distance, below 1, after 1200 steps, each of which takes 0.1 / 4 of it at the least curvature, is below a rounding.
  const PointData points(unlike);
  std::vector<double> mean(point_dimensions);
  for (const Client& client : unlike)
    for (std::size_t j = 0; j < point_dimensions; ++j) mean[j] += client.point[j] / 4;
  for (const std::string graph : {"ring", "torus", "full", "exponential"}) {
    CAPTURE(graph);
    const Result result = run(equal_bowl(4, "{kind: dpsgd, graph: " + graph + "}", points.data(true), 0.1, 1200), {faults});
    CHECK(result.record.outcome == Outcome::completed);
    CHECK(farthest_from(result.weights, mean) < 1e-5);
  }
}
