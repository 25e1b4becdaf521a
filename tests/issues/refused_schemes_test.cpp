// A scheme that has a server and calls an all-reduce is refused with a message; it ran into a null pointer.
#include <doctest/doctest.h>

#include "sim/training/gather.hpp"
#include "tests/support/run.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

/// The server waits for what never comes; workers reduce weights, or gradients where `averaged`.
class ReducesBesideServer final : public Scheme {
 public:
  explicit ReducesBesideServer(bool averaged) : averaged_(averaged) {}

 private:
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      const DrawnBatch batch = node.next_batch(node.batch_size());
      if (averaged_) {
        const Gradient mean = co_await node.averaged_gradient(weights, batch);
        weights = co_await node.step(weights, mean);
      } else {
        const Gradient gradient = co_await node.gradient(weights, batch);
        weights = co_await node.step(weights, gradient);
        weights = co_await node.all_reduce_mean(weights);
      }
    }
  }
  Process server(Node& node) const override { co_await node.receive<Gradient>(); }

  bool averaged_;
};

const Register<SchemeEntry> reduces_beside_server({
    .name = "reduces_beside_server",
    .summary = "for this test",
    .reference = "none",
    .contributions = one_contribution(),
    .parameters = {{.name = "what", .type = ValueType::choice, .fallback = "weights", .meaning = "", .choices = {"weights", "gradients"}},
                   on_failure({OnFailure::drop}, "go on without it")},
    .make = [](const Parameters& parameters) { return std::make_unique<ReducesBesideServer>(parameters.text("what") == "gradients"); },
});

}  // namespace

TEST_CASE("an all-reduce of a scheme with a server is refused: place, what is wrong, what would be right") {
  for (const std::string what : {"weights", "gradients"}) {
    for (const int workers : {1, 3}) {
      CAPTURE(what);
      CAPTURE(workers);
      const std::vector<std::string> sets = {"training.scheme={kind: reduces_beside_server, what: " + what + "}"};
      std::vector<std::string> lines;
      try {
        run_timing(cluster(workers), sets);
      } catch (const ScenarioErrors& errors) {
        lines = errors.lines();
      }
      REQUIRE(lines.size() == 1);
      CHECK(lines.front() == "--set training.scheme={kind: reduces_beside_server, what: " + what +
                                 "}: training.scheme: worker 0 calls an all-reduce, but its scheme exchanges through a server; set "
                                 "SchemeEntry::reduces to allow both");
    }
  }
}

TEST_CASE("an all-reduce beside a server is refused where workers fail, too") {
  CHECK_THROWS_AS(run_timing(cluster(2), {"training.scheme=reduces_beside_server",
                                          "cluster.faults=[{kind: crash, worker: 0, at: 50ms, restart_after: 10ms}]"}),
                  ScenarioErrors);
}

TEST_CASE("fragments of weights that a loss scale follows are refused before the run, and go without that scale") {
  const auto sets = [](const std::string& precision, int fragments) {
    return std::vector<std::string>{"workload.precision=" + precision,
                                    "training.scheme={kind: diloco, steps: 2, fragments: " + std::to_string(fragments) + "}"};
  };
  const std::string refused = error_of<ScenarioErrors>([&] { run_timing(cluster(2), sets("mixed", 2)); });
  CHECK(has(refused, "training.scheme: fragments: 2 of a model with"));
  CHECK(has(refused, "take fragments: 1"));
  CHECK(run_timing(cluster(2), sets("mixed", 1)).record.updates == 10);
  CHECK(run_timing(cluster(2), sets("fp16", 2)).record.updates == 10);
}
