// Hogwild against values found by hand: which version each chunk of a read is of, what additions come to, and how long it all takes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/training/node.hpp"
#include "tests/support/run.hpp"
#include "tests/support/scenarios.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

constexpr double hogwild_start = 8, hogwild_rate = 0.25;
constexpr std::size_t hogwild_features = 4;

/// A bowl: the gradient at w is w - m_i, where m_i is the mean of worker i's part, which is one batch. Worker 0 computes for 1 s, worker 1
/// for 8.5 s. A read of the 16 bytes takes 4 s, 1 s for each chunk; an addition 8 s, 2 s for each chunk.
std::string shared_bowl(const std::string& scheme, int updates) {
  return scenario_text({.name = "shared_bowl",
                        .seed = 3,
                        .node = "{compute: {affine: {overhead: 1s}}}",
                        .workers = "[{count: 1, device: node, per_host: 2}, {count: 1, device: node, slowdown: 8.5, same_host: true}]",
                        .servers = "",
                        .network = "{link: {bandwidth: 1GB/s, latency: 1s}, intra: {bandwidth: 4B/s, latency: 0s}}",
                        .model = "{kind: quadratic, condition: 1, start: " + std::to_string(hogwild_start) + "}",
                        .data = "{kind: gaussian, features: 4, classes: 1, samples: 10, test_samples: 10}",
                        .scheme = scheme,
                        .batch = "{per_worker: 5}",
                        .optimizer = "{kind: sgd, learning_rate: " + std::to_string(hogwild_rate) + "}",
                        .stop = "{updates: " + std::to_string(updates) + "}"});
}

const std::string four_chunks = "{kind: hogwild, chunks: 4}";

using Numbers = std::vector<double>;

Numbers final_numbers(const Result& result) { return {result.weights.begin(), result.weights.end()}; }

/// w - rate · (at - mean).
Numbers stepped(const Numbers& w, const Numbers& at, const Numbers& mean) {
  Numbers out(w.size());
  for (std::size_t i = 0; i < w.size(); ++i) out[i] = w[i] - hogwild_rate * (at[i] - mean[i]);
  return out;
}

/// The first `chunks` of four from `newer`.
Numbers mixed(const Numbers& newer, const Numbers& older, std::size_t chunks) {
  Numbers out = older;
  std::copy_n(newer.begin(), chunks, out.begin());
  return out;
}

double farthest_number(const Numbers& one, const Numbers& other) {
  REQUIRE(one.size() == other.size());
  double most = 0;
  for (std::size_t i = 0; i < one.size(); ++i) most = std::max(most, std::abs(one[i] - other[i]));
  return most;
}

/// Floats of 8 and a handful of operations on them; the means below are divided by the rate, 1/4.
constexpr double few_roundings = 100 * hogwild_start * 0x1p-24;

/// m_0 and m_1 from the first two versions, whose gradients were both taken at the initial weights.
struct Bowl {
  Numbers start = Numbers(hogwild_features, hogwild_start), first, second, mean0, mean1;
  Bowl() {
    first = final_numbers(run(shared_bowl(four_chunks, 1)));
    second = final_numbers(run(shared_bowl(four_chunks, 2)));
    for (std::size_t i = 0; i < hogwild_features; ++i) {
      mean0.push_back(start[i] + (first[i] - start[i]) / hogwild_rate);
      mean1.push_back(start[i] + (second[i] - first[i]) / hogwild_rate);
    }
  }
};

std::string hogwild_crash(const char* rest) { return "cluster.faults=[{kind: crash, worker: 0, at: 10s" + std::string(rest) + "}]"; }

/// Every gradient is taken at the initial weights: what is added does not depend on what is read.
class ConstantAdditions final : public Scheme {
  Process worker(Node& node) const override {
    for (;;) {
      co_await node.read_cell();
      const Gradient gradient = co_await node.gradient(node.initial_weights(), node.next_batch(node.batch_size()));
      const Weights stepped = co_await node.step_cell(gradient);
      co_await node.publish(stepped);
    }
  }
};

const Register<SchemeEntry> constant_additions({
    .name = "constant_additions",
    .summary = "additions to shared weights that do not depend on them, for this test",
    .reference = "none",
    .family = Family::asynchronous,
    .exchange = Exchange::none,
    .parameters = {on_failure({OnFailure::drop}, "nobody waits for anybody")},
    .make = made<ConstantAdditions>,
    .cell_chunks = 7,
});

/// `workers` of one host, on which a read takes 30 ms and 1 ms, an addition 60 ms and 1 ms.
std::vector<std::string> on_hogwild_host(int workers, std::vector<std::string> more = {}) {
  std::vector<std::string> sets = {"training.scheme=hogwild",
                                   "cluster.workers=[{count: " + std::to_string(workers) + ", device: node, per_host: 64}]",
                                   "cluster.network.intra={bandwidth: 100kB/s, latency: 1ms}", "workload.cost.bytes=3000B"};
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

std::string scheme_of_chunks(int chunks) { return "training.scheme={kind: hogwild, chunks: " + std::to_string(chunks) + "}"; }

}  // namespace

TEST_CASE("Hogwild, two workers by hand: a read meets an addition and takes two chunks after it, two before it") {
  // Worker 0 reads for 4 s, computes for 1 s, adds for 8 s: it adds from 5 to 13, 18 to 26 and 31 to 39 s. Worker 1 computes for 8.5 s: it
  // adds from 12.5 to 20.5 and 33 to 41 s. Its read from 20.5 on comes to the ends of the chunks at 21.5, 22.5, 23.5, 24.5 s; worker 0's
  // addition from 18 s on has passed them at 20, 22, 24, 26 s.
  const Bowl bowl;
  const Numbers third = stepped(bowl.second, bowl.first, bowl.mean0);  // worker 0 read at 13 s: its own addition, nothing of the other's
  const Numbers fourth = stepped(third, third, bowl.mean0);            // read from 26 s on
  const Numbers read = mixed(third, bowl.second, 2);
  const Numbers fifth = stepped(fourth, read, bowl.mean1);
  const Result result = run(shared_bowl(four_chunks, 5));
  CHECK(farthest_number(final_numbers(run(shared_bowl(four_chunks, 3))), third) < few_roundings);
  CHECK(farthest_number(final_numbers(run(shared_bowl(four_chunks, 4))), fourth) < few_roundings);
  CHECK(farthest_number(final_numbers(result), fifth) < few_roundings);
  // That tells it from a read of one version, in either half.
  for (const std::size_t chunks : {0u, 1u, 3u, 4u})
    CHECK(farthest_number(final_numbers(result), stepped(fourth, mixed(third, bowl.second, chunks), bowl.mean1)) > 10 * few_roundings);
  const std::vector<double> seconds = {13, 20.5, 26, 39, 41};
  const std::vector<Rank> workers = {0, 1, 0, 0, 1};
  const std::vector<std::uint64_t> read_versions = {0, 0, 1, 3, 2};
  REQUIRE(result.sink.order.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    const OrderRow& row = result.sink.order[i];
    CHECK(row.update == i + 1);
    CHECK(row.time == Time::from_seconds(seconds[i]));
    CHECK(row.worker == workers[i]);
    CHECK(row.read_version == read_versions[i]);
  }
  const TimeSplit& split = result.record.workers[0].split;
  CHECK(split[Phase::compute] == Time::from_seconds(3));
  CHECK(split[Phase::communication] == Time::from_seconds(38));  // 3 · 12 s, and 2 s of the next read
  CHECK(result.record.bytes_sent == 0);                          // nothing is sent
}

TEST_CASE("Hogwild: no addition is lost, however they overlap") {
  // All draw the whole pool, whose gradient at the initial weights is the same for everybody: n additions change the weights by n times
  // what the first one does.
  std::vector<std::string> sets = on_hogwild_host(
      6, {"training.scheme=constant_additions", "workload.model={kind: quadratic, condition: 1, start: 8}",
          "workload.data={kind: gaussian, features: 9, classes: 1, samples: 100, test_samples: 10}", "workload.data.partition=shared",
          "devices.node.jitter={kind: exponential}", "training.optimizer.learning_rate=0.001", "training.stop.updates=1"});
  const Numbers once = final_numbers(run(cluster(6), sets));
  sets.push_back("training.stop.updates=200");
  const Numbers often = final_numbers(run(cluster(6), sets));
  for (std::size_t i = 0; i < once.size(); ++i) {
    CHECK(std::abs(once[i] - 8) > 1e-4);
    CHECK(std::abs(often[i] - 8 - 200 * (once[i] - 8)) < 2 * 200 * 8 * 0x1p-24);  // a rounding each, of the first one too
  }
}

TEST_CASE("Hogwild, equal workers: each update takes X + U + 3 n b + 2 a, and p updates come at the same time") {
  const int p = 3, rounds = 10;
  const Result result = run_timing(cluster(p), on_hogwild_host(p, {"devices.node.update=30kB/s", "training.stop.updates=30"}));
  const double compute = 0.1 + 0.1, memory = 3 * 0.03 + 2 * 0.001;
  CHECK(std::abs(result.record.end.seconds() - rounds * (compute + memory)) < 1e-9);
  for (const WorkerRecord& worker : result.record.workers) {
    CHECK(std::abs(worker.split[Phase::compute].seconds() - rounds * compute) < 1e-9);
    CHECK(std::abs(worker.split[Phase::communication].seconds() - rounds * memory) < 1e-9);
    CHECK(worker.updates == rounds);
  }
  // Who adds later in a round finds what was added before it, but has not read it.
  for (const OrderRow& row : result.sink.order) CHECK(row.update - 1 - row.read_version == static_cast<std::uint64_t>(row.worker));
}

TEST_CASE("Hogwild: chunks change the values read, not the times") {
  const std::vector<std::string> jitter = {"devices.node.jitter={kind: gamma, shape: 2}", "training.stop.updates=60"};
  std::vector<Result> results;
  std::set<std::string> keys;
  for (const int chunks : {1, 2, 16, 1000}) {
    std::vector<std::string> sets = on_hogwild_host(4, jitter);
    sets.push_back(scheme_of_chunks(chunks));
    results.push_back(run(cluster(4), sets));
    CHECK(results.back().sink.order == results.front().sink.order);
    CHECK(results.back().record.end == results.front().record.end);
    keys.insert(results.back().record.weights_key.value());
  }
  CHECK(keys.size() == results.size());
}

TEST_CASE("Hogwild on memory that takes no time is asynchronous SGD with a free server, bit for bit") {
  const std::vector<std::string> sets = {"cluster.workers=[{count: 4, device: node, per_host: 4}]",
                                         "cluster.servers={count: 1, host: {worker: 0}}", "devices.node.jitter={kind: gamma, shape: 2}",
                                         "training.stop.updates=60", "training.optimizer={kind: adam, learning_rate: 0.01}"};
  const auto with = [&](const char* scheme) {
    std::vector<std::string> all = sets;
    all.push_back(std::string("training.scheme=") + scheme);
    return run(cluster(4), all);
  };
  const Result hogwild = with("hogwild"), asgd = with("asgd");
  CHECK(hogwild.sink.order == asgd.sink.order);
  CHECK(hogwild.record.weights_key == asgd.record.weights_key);
  CHECK(hogwild.weights == asgd.weights);
}

TEST_CASE("Hogwild, one worker: takes as long as plain SGD plus 3 n b + 2 a of memory traffic an update") {
  std::vector<std::string> sets = on_hogwild_host(1, {"devices.node.update=30kB/s", "training.optimizer.momentum=0.9"});
  const Result hogwild = run(cluster(1), sets);
  sets.push_back("training.scheme=sequential");
  const Result sequential = run(cluster(1), sets);
  CHECK(hogwild.weights == sequential.weights);
  CHECK(std::abs((hogwild.record.end - sequential.record.end).seconds() - 10 * (3 * 0.03 + 2 * 0.001)) < 1e-9);
}

TEST_CASE("Hogwild: a worker that crashes in an addition leaves the chunks that it has passed") {
  // Worker 0 adds from 5 to 13 s and has passed the first two chunks at 7 and 9 s, when it crashes at 10 s. Worker 1's addition, from 12.5
  // s on, makes version 1.
  const Bowl bowl;
  const Numbers left = mixed(bowl.first, bowl.start, 2);
  const Result result = run(shared_bowl(four_chunks, 1), {hogwild_crash("")});
  CHECK(farthest_number(final_numbers(result), stepped(left, bowl.start, bowl.mean1)) < few_roundings);
  CHECK(farthest_number(final_numbers(result), stepped(bowl.start, bowl.start, bowl.mean1)) > 10 * few_roundings);
  CHECK(farthest_number(final_numbers(result), stepped(bowl.first, bowl.start, bowl.mean1)) > 10 * few_roundings);
  CHECK(result.record.end == Time::from_seconds(20.5));
  CHECK(result.record.samples == 5);  // it is in no version
  CHECK(result.record.workers[0].updates == 0);
}

TEST_CASE("Hogwild: the optimizer's state is shared, and changed in the same chunks as the weights") {
  // v ← v / 2 + g, w ← w - lr v in each chunk. Worker 0's addition made v = g_0 in two chunks and left it 0 in the others.
  const Bowl bowl;
  const Result result = run(shared_bowl(four_chunks, 1), {hogwild_crash(""), "training.optimizer.momentum=0.5"});
  const Numbers left = mixed(bowl.first, bowl.start, 2);
  Numbers expected;
  for (std::size_t i = 0; i < hogwild_features; ++i) {
    const double before = i < 2 ? bowl.start[i] - bowl.mean0[i] : 0;
    expected.push_back(left[i] - hogwild_rate * (0.5 * before + bowl.start[i] - bowl.mean1[i]));
  }
  CHECK(farthest_number(final_numbers(result), expected) < few_roundings);
}

TEST_CASE("Hogwild: a worker that comes back reads the shared weights at once") {
  // It is back at 11 s and reads until 15 s: what its former life has left, and nothing of worker 1's addition, which begins at 12.5 s. It
  // computes for 1 s and adds until 24 s.
  const Bowl bowl;
  const Numbers left = mixed(bowl.first, bowl.start, 2), first = stepped(left, bowl.start, bowl.mean1);
  const Result result = run(shared_bowl(four_chunks, 2), {hogwild_crash(", restart_after: 1s")});
  CHECK(farthest_number(final_numbers(result), stepped(first, left, bowl.mean0)) < few_roundings);
  CHECK(result.record.end == Time::from_seconds(24));
  CHECK(result.record.workers[0].split[Phase::down] == Time::from_seconds(1));
  REQUIRE(result.sink.order.size() == 2);
  CHECK(result.sink.order[1].worker == 0);
  CHECK(result.sink.order[1].read_version == 0);
  CHECK(result.record.bytes_sent == 0);
}

TEST_CASE("Hogwild is refused where workers are on several hosts") {
  CHECK_THROWS_WITH(
      run_timing(cluster(3), {"training.scheme=hogwild"}),
      doctest::Contains("training.scheme: hogwild shares weights in the memory of one host, and the workers are on 3 hosts; write "
                        "per_host: 3 in cluster.workers[0]"));
  CHECK_NOTHROW(run_timing(cluster(3), {"training.scheme=hogwild", "cluster.workers[0].per_host=3"}));
}

TEST_CASE("check warns where the shared memory takes no time") {
  const auto told = [](std::vector<std::string> sets) {
    sets.insert(sets.begin(), {"training.scheme=hogwild", "cluster.workers=[{count: 2, device: node, per_host: 2}]"});
    RunOptions options;
    options.timing_only = true;
    const Explanation explained = Experiment(read_scenario_text(cluster(2), "/scenario.yaml", sets), options).explain();
    return std::count_if(explained.warnings.begin(), explained.warnings.end(), [](const std::string& warning) {
      return warning.find("in no time without cluster.network.intra") != std::string::npos;
    });
  };
  CHECK(told({}) == 1);
  CHECK(told({"cluster.network.intra={bandwidth: 1GB/s, latency: 0s}"}) == 0);
  CHECK(told({"cluster.workers[0].count=1"}) == 0);
  CHECK(told({scheme_of_chunks(1)}) == 0);
}
