// A scheme that never published ran for ever, where only updates could have stopped the run.
#include <doctest/doctest.h>

#include <algorithm>

#include "sim/base/readable.hpp"
#include "sim/training/node.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/run.hpp"
#include "tests/support/sanitized.hpp"

namespace no_update_test {

using namespace straggler;
using namespace straggler::test;

namespace {

/// Workers send gradients to a server that steps and answers; it publishes every `every`-th step, or none if that is 0, and forgets the
/// others.
class Forgets final : public Scheme {
 public:
  explicit Forgets(std::int64_t every) : every_(every) {}

 private:
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      const DrawnBatch batch = node.next_batch(node.batch_size());
      const Gradient gradient = co_await node.gradient(weights, batch);
      co_await node.send(node.server(), gradient);
      weights = co_await node.receive<Weights>(node.server());
    }
  }
  Process server(Node& node) const override {
    Weights weights = node.initial_weights();
    for (std::int64_t step = 1;; ++step) {
      const From<Gradient> arrived = co_await node.receive<Gradient>();
      Weights stepped = co_await node.step(weights, arrived);
      if (every_ > 0 && step % every_ == 0) weights = co_await node.publish(stepped);
      co_await node.send(arrived.sender, weights);
    }
  }
  std::int64_t every_;
};

/// Workers train on their own, and publish after `every` steps, or never if that is 0.
class Alone final : public Scheme {
 public:
  explicit Alone(std::int64_t every) : every_(every) {}

 private:
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    for (std::int64_t step = 1;; ++step) {
      const DrawnBatch batch = node.next_batch(node.batch_size());
      const Gradient gradient = co_await node.gradient(weights, batch);
      weights = co_await node.step(weights, gradient);
      if (every_ > 0 && step % every_ == 0) weights = co_await node.publish(weights);
    }
  }
  std::int64_t every_;
};

template <class Kind>
SchemeEntry test_entry(const std::string& name, Exchange exchange, Versions versions) {
  return {.name = name,
          .summary = "for this test",
          .reference = "none",
          .exchange = exchange,
          .contributions = one_contribution(),
          .parameters = {{.name = "every", .type = ValueType::count, .fallback = "0", .meaning = "", .range = Range::at_least(0)},
                         on_failure({OnFailure::drop}, "go on without it")},
          .make = [](const Parameters& parameters) { return std::make_unique<Kind>(parameters.count("every")); },
          .versions = versions};
}
const Register<SchemeEntry> forgets(test_entry<Forgets>("forgets", Exchange::server, Versions::shared));
const Register<SchemeEntry> alone(test_entry<Alone>("alone", Exchange::peers, Versions::lockstep));

std::string failure(int workers, const std::vector<std::string>& sets) {
  try {
    run_timing(cluster(workers), sets);
  } catch (const RunFailed& failed) {
    return failed.what();
  }
  return "none";
}

const std::string remedy =
    " and no update: a run counts updates by node.publish(weights), and stops by them; publish the weights of each update, or set "
    "training.stop.simulated_time";

}  // namespace

TEST_CASE("a server that steps and never publishes ends the run with an error") {
  for (const std::string stop : {"{updates: 10}", "{epochs: 2}", "{epochs: 2, target_accuracy: 0.9}"}) {
    CAPTURE(stop);
    CHECK(failure(2, {"training.scheme=forgets", "training.stop=" + stop}) == "20,000 steps of server 0" + remedy);
  }
}

TEST_CASE("workers that never publish end the run after many passes over the data, and many gradients of each" * long_case) {
  constexpr int workers = 3;
  constexpr std::uint64_t samples = 40'000, batch = 10;  // of the generated points
  const std::vector<std::string> sets = {"training.scheme=alone", "workload.data={kind: coordinates, samples: 40000}",
                                         "training.batch={per_worker: 10}", "training.stop={updates: 1}"};
  // A thousand passes, looked for after each 100,000 gradients of every worker.
  const std::uint64_t span = 100'000 * workers, passes = 1000 * samples / batch;
  const std::uint64_t seen = (passes + span - 1) / span * span;
  CHECK(failure(workers, sets) == readable_count(seen) + " gradients" + remedy);
}

TEST_CASE("where an epoch has no known number of samples the gradients alone count") {
  CHECK(failure(2, {"training.scheme=alone", "workload={cost: {model: resnet50_imagenet}}", "training.stop={updates: 1}"}) ==
        "200,000 gradients" + remedy);
}

TEST_CASE("updates without a sample in them do not bring a run of epochs nearer to its end") {
  // A micro-batch takes 8 ms: none is finished in 6 ms, and each worker's 96 samples are three whole batches.
  std::vector<std::string> sets = {"cluster.workers=[{count: 4, device: node}]",
                                   "devices.node.compute.affine={overhead: 0s, per_sample: 1ms}",
                                   "workload.data={kind: coordinates, samples: 384}",
                                   "training.batch={per_worker: 32}",
                                   "training.scheme={kind: drop_compute, micro_batches: 4, timeout: 6ms}",
                                   "training.stop={epochs: 2}"};
  const std::string wrong = failure(4, sets);
  CHECK_MESSAGE(wrong.find(" updates without a sample in them: a run of epochs stops by samples") != std::string::npos, wrong);
  sets.back() = "training.stop={updates: 20}";
  CHECK(run_timing(cluster(4), sets).record.updates == 20);
}

TEST_CASE("a stop by time still comes, and a scheme whose numbers put off its updates is right") {
  // A batch takes 100 ms.
  const Result timed = run_timing(cluster(1), {"training.scheme=alone", "training.stop={updates: 5, simulated_time: 30000s}"});
  CHECK(timed.record.updates == 0);
  CHECK(timed.record.end == Time::from_seconds(30000));
  const std::vector<std::string> few = {"workload.data={kind: coordinates, samples: 1000}", "training.batch={per_worker: 1000}",
                                        "training.stop={updates: 2}"};
  for (const std::string scheme : {"{kind: alone, every: 150000}", "{kind: forgets, every: 150000}"}) {
    CAPTURE(scheme);
    std::vector<std::string> sets = few;
    sets.push_back("training.scheme=" + scheme);
    sets.emplace_back("devices.node.compute.affine={overhead: 1ms, per_sample: 0s}");
    CHECK(run_timing(cluster(1), sets).record.updates == 2);
  }
}

TEST_CASE("updates in between begin the count anew") {
  // 9,000 steps an update, 225,000 in all.
  CHECK(run_timing(cluster(1), {"training.scheme={kind: forgets, every: 9000}", "training.stop={updates: 25}"}).record.updates == 25);
}

TEST_CASE("clients that always go before they can answer are named, with what would help" * long_case) {
  // A step takes 100 ms, and three are a contribution. In each second client 1 stays for 250 ms, and so does client 2, 100 ms later: each
  // begins three steps. Client 0 never comes.
  const TemporaryFolder folder;
  folder.write("clients.csv", "worker,from_s,to_s\n0,0,0.25\n1,0.1,0.35\n");
  folder.write("never.csv", "worker,from_s,to_s\n0,1000000,1000001\n");
  const auto group = [&](int count, const std::string& file, const std::string& more) {
    return "{count: " + std::to_string(count) + ", device: node, availability: {kind: trace, path: " + (folder.path() / file).string() +
           more + "}}";
  };
  constexpr std::uint64_t gradients = 3 * 100'000;  // of three workers
  const std::string begins =
                        readable_count(gradients) + " gradients and no update: workers 1 and 2 go before their contributions have left, ",
                    ends =
                        " times one after another; write longer times of presence in cluster.workers[1].availability, or a smaller "
                        "training.scheme.local_steps or local_epochs";
  for (const std::string scheme : {"fedasync", "fedavg"}) {
    CAPTURE(scheme);
    const std::string said =
        failure(3, {"training.scheme={kind: " + scheme + ", local_steps: 3}", "training.stop={updates: 1}",
                    "workload.data={kind: coordinates, samples: 20000}",
                    "cluster.workers=[" + group(1, "never.csv", "") + ", " + group(2, "clients.csv", ", repeat: 1s") + "]"});
    REQUIRE(said.size() > begins.size() + ends.size());
    CHECK(said.substr(0, begins.size()) == begins);
    CHECK(said.substr(said.size() - ends.size()) == ends);
    // The last of these gradients is the third of a stay of client 2, which has not ended.
    if (scheme == "fedasync") CHECK(said == begins + readable_count(gradients / 3 - 1) + ends);
  }
}

}  // namespace no_update_test
