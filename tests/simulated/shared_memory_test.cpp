// The memory of a host, shared by the workers that compute on it: closed forms, and a second calculation that shares no code.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "scenarios/reasons/explain_said.hpp"
#include "tests/simulated/books.hpp"
#include "tests/support/text.hpp"

namespace shared_memory_test {

using namespace straggler;
using namespace straggler::test;

namespace {

constexpr double c = 0.1;      // computing a batch of 100 samples, alone
constexpr double moved = 2e9;  // bytes of a batch
constexpr const char* fast_bus = "cluster.network.intra={bandwidth: 1000GB/s, latency: 0s}";
constexpr const char* traffic = "devices.node.memory_traffic={overhead: 500MB, per_sample: 15MB}";

/// The network of cluster() moves a model in half a nanosecond.
bool about(double time, double seconds) { return std::abs(time - seconds) < 1e-6; }
bool about(Time time, double seconds) { return about(time.seconds(), seconds); }

std::string host(int workers, double gigabytes, const std::string& rest = "") {
  return fmt::format("cluster.workers=[{{count: {}, device: node, per_host: {}, memory_bandwidth: {}MB/s{}}}]", workers, workers,
                     std::llround(1e3 * gigabytes), rest);
}

/// What a worker of the second calculation does.
struct Load {
  double seconds, bytes;  // of a batch, alone
  double joins = 0, slow_from = 0, slow_to = 0, slower = 1;
};
struct Done {
  double time;
  std::size_t worker;
};

/// Max-min by bisection: the level at which the demands, each cut there, fill the memory.
std::vector<double> cut_to(const std::vector<double>& demands, double bandwidth) {
  const auto filled = [&](double level) {
    double sum = 0;
    for (const double demand : demands) sum += std::min(demand, level);
    return sum;
  };
  double low = 0, high = *std::max_element(demands.begin(), demands.end());
  if (filled(high) > bandwidth)
    for (int step = 0; step < 200; ++step) (filled((low + high) / 2) > bandwidth ? high : low) = (low + high) / 2;
  std::vector<double> shares;
  for (const double demand : demands) shares.push_back(std::min(demand, high));
  return shares;
}

/// Batch after batch on one host until `end`.
std::vector<Done> second_calculation(const std::vector<Load>& ranks, double cores, double bandwidth, double end) {
  std::vector<Done> done;
  std::vector<double> left(ranks.size(), 1);  // share of the batch
  for (double now = 0; now < end;) {
    double active = 0;
    for (const Load& each : ranks) active += each.joins <= now;
    std::vector<double> speeds, demands;
    double next = end;
    for (const Load& each : ranks) {
      const bool slow = now >= each.slow_from && now < each.slow_to;
      speeds.push_back(each.joins <= now ? std::min(1.0, cores / active) / (slow ? each.slower : 1) / each.seconds : 0);
      demands.push_back(speeds.back() * each.bytes);
      for (const double change : {each.joins, each.slow_from, each.slow_to})
        if (change > now) next = std::min(next, change);
    }
    const std::vector<double> shares = cut_to(demands, bandwidth);
    std::size_t first = ranks.size();
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (demands[i] > 0) speeds[i] *= shares[i] / demands[i];
      if (speeds[i] > 0 && now + left[i] / speeds[i] < next) {
        next = now + left[i] / speeds[i];
        first = i;
      }
    }
    for (std::size_t i = 0; i < ranks.size(); ++i) left[i] -= speeds[i] * (next - now);
    now = next;
    if (first == ranks.size()) continue;
    left[first] = 1;
    done.push_back({now, first});
  }
  return done;
}

}  // namespace

TEST_CASE("a roofline: n workers take max(c, n bytes / bandwidth)") {
  for (const int n : {1, 2, 4, 8})
    for (const double gigabytes : {10.0, 20.0, 35.0, 40.0, 100.0, 1000.0}) {
      CAPTURE(n);
      CAPTURE(gigabytes);
      const Result result = run_timing(cluster(n), {host(n, gigabytes), fast_bus, traffic, "training.stop={updates: 3}"});
      CHECK(about(result.record.end, 3 * std::max(c, n * moved / (gigabytes * 1e9))));
      check_books(result, true, false);
    }
}

TEST_CASE("a memory that suffices changes nothing, and neither does one of another host") {
  const std::vector<std::string> rest = {fast_bus, traffic, "devices.node.jitter={kind: gamma, shape: 4}", "training.scheme={kind: asgd}",
                                         "training.stop={updates: 60}"};
  const auto rows = [&](const std::string& group) {
    std::vector<std::string> sets = rest;
    sets.push_back(group);
    return run_timing(cluster(4), sets).sink.order;
  };
  const std::string own = "cluster.workers=[{count: 4, device: node, per_host: 2";
  CHECK(rows(own + "}]") == rows(own + ", memory_bandwidth: 100TB/s}]"));
  CHECK(rows(own + "}]") != rows(own + ", memory_bandwidth: 30GB/s}]"));
  // 30 GB/s for two is enough for each: whoever has the host alone is as fast as ever.
  const auto alone = [&](const std::string& more) {
    return run_timing(cluster(2), {"cluster.workers=[{count: 2, device: node" + more + "}]", traffic, "training.stop={updates: 3}"})
        .record.end;
  };
  CHECK(alone("") == alone(", memory_bandwidth: 30GB/s"));
}

TEST_CASE("two workers, one with half of the bytes: the other one waits for memory") {
  // 20 GB/s is what the first alone needs, 2 GB in 0.1 s; the second needs 10. Each may have 10: the second has what it needs and ends at
  // 0.1 s. By then the first has half of its bytes; the rest moves at 20 GB/s.
  const std::vector<std::string> sets = {
      "devices={node: {compute: {affine: {per_sample: 1ms}}, memory_traffic: {per_sample: 20MB}}, "
      "half: {compute: {affine: {per_sample: 1ms}}, memory_traffic: {per_sample: 10MB}}}",
      "cluster.workers=[{count: 1, device: node, per_host: 2, memory_bandwidth: 20GB/s}, {count: 1, device: half, same_host: true}]",
      fast_bus, "training.stop={updates: 1}"};
  const Result result = run_timing(cluster(2), sets);
  CHECK(about(result.record.end, 1.5 * c));
  CHECK(about(result.record.workers[0].split[Phase::compute], 1.5 * c));
  CHECK(about(result.record.workers[1].split[Phase::compute], c));
}

TEST_CASE("staggered starts, slow spells, few cores: as a second calculation has them, and no byte more than the memory moves") {
  std::mt19937 random(236);
  const auto draw = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
  std::size_t bound = 0;
  for (int round = 0; round < 40; ++round) {
    CAPTURE(round);
    const int n = std::uniform_int_distribution<int>(1, 6)(random), cores = std::uniform_int_distribution<int>(1, n)(random);
    std::vector<Load> ranks;
    std::string devices, groups, faults;
    double demand = 0;
    for (int i = 0; i < n; ++i) {
      const long microseconds = std::lround(draw(200, 3000)), kilobytes = std::lround(draw(0, 40000));
      ranks.push_back({microseconds * 1e-4, kilobytes * 1e5});
      demand += ranks.back().bytes / ranks.back().seconds;
      devices += fmt::format("n{}: {{compute: {{affine: {{per_sample: {}us}}}}, memory_traffic: {{per_sample: {}kB}}}}, ", i, microseconds,
                             kilobytes);
    }
    const long megabytes = std::max(1L, std::lround(1e-6 * demand * draw(0.2, 1.2)));
    for (int i = 0; i < n; ++i) {
      groups += fmt::format("{{count: 1, device: n{}, {}}}, ", i,
                            i > 0 ? std::string("same_host: true")
                                  : fmt::format("per_host: {}, cores_per_host: {}, memory_bandwidth: {}MB/s", n, cores, megabytes));
      Load& each = ranks[static_cast<std::size_t>(i)];
      if (i > 0 && draw(0, 1) < 0.5) {
        const long at = std::lround(draw(1, 900));
        faults += fmt::format("{{kind: join, worker: {}, at: {}ms}}, ", i, at);
        each.joins = at * 1e-3;
      } else if (draw(0, 1) < 0.4) {
        const long from = std::lround(draw(1, 500)), to = from + std::lround(draw(1, 900));
        faults += fmt::format("{{kind: slow, worker: {}, from: {}ms, to: {}ms, times_slower: 3}}, ", i, from, to);
        each.slow_from = from * 1e-3;
        each.slow_to = to * 1e-3;
        each.slower = 3;
      }
    }
    const Result result =
        run_timing(cluster(n), {"devices={" + devices + "node: {compute: {affine: {per_sample: 1ms}}}}", "cluster.workers=[" + groups + "]",
                                "cluster.faults=[" + faults + "]", fast_bus, "training.scheme=asgd", "training.stop={simulated_time: 3s}"});
    const double end = result.record.end.seconds();
    const std::vector<Done> expected = second_calculation(ranks, cores, megabytes * 1e6, end - 1e-6);
    REQUIRE(result.sink.order.size() >= expected.size());
    REQUIRE(result.sink.order.size() <= expected.size() + static_cast<std::size_t>(n));  // those of the last microsecond
    // Of ends at one moment any may be the first.
    std::vector<std::vector<double>> by_rank(ranks.size()), reference(ranks.size());
    for (const OrderRow& row : result.sink.order) by_rank[index_of(row.worker)].push_back(row.time.seconds());
    for (const Done& each : expected) reference[each.worker].push_back(each.time);
    double bytes = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      REQUIRE(by_rank[i].size() >= reference[i].size());
      for (std::size_t k = 0; k < reference[i].size(); ++k) CHECK(std::abs(by_rank[i][k] - reference[i][k]) < 1e-6);
      bytes += ranks[i].bytes * static_cast<double>(by_rank[i].size());
    }
    CHECK(bytes <= megabytes * 1e6 * end * (1 + 1e-6));
    bound += demand > megabytes * 1e6;
  }
  CHECK(bound > 20);  // where the memory is short
}

TEST_CASE("a crash leaves its share, a pause between epochs stops all, and a busy waiter moves nothing") {
  // Two workers share 20 GB/s, each at half of its speed, until one crashes at 0.06: 0.03 of 0.1 are done, the rest alone.
  const Result crash = run_timing(cluster(2), {host(2, 20), fast_bus, traffic, "training.scheme={kind: ssgd, on_failure: drop}",
                                               "training.stop={updates: 2}", "cluster.faults=[{kind: crash, worker: 1, at: 60ms}]"});
  CHECK(about(crash.record.end, 0.06 + 0.07 + c));
  // Each of three epochs of 400 samples ends with a pause, in the middle of the other worker's batch.
  for (const char* waiting : {"", ", waiting: busy"}) {
    const auto end = [&](const std::string& pause) {
      return run_timing(cluster(2), {host(2, 20, waiting), fast_bus, traffic, "training.scheme=asgd", "training.stop={epochs: 3}",
                                     "workload.serial_per_epoch=" + pause, "cluster.faults=[{kind: join, worker: 1, at: 37ms}]",
                                     "workload.data={kind: coordinates, samples: 400, test_samples: 100}"})
          .record.end;
    };
    CHECK(about(end("1s"), end("0s").seconds() + 3));
  }
  // Of two workers the second has three times the work and the same bytes: 20 and 6.67 GB/s for 20 GB/s. The first has 13.33 GB/s, two
  // thirds of its speed, until 0.15; the second its own speed all the time, busy waiting or not.
  for (const char* waiting : {"yield", "busy"}) {
    const Result busy =
        run_timing(cluster(2), {std::string("cluster.workers=[{count: 1, device: node, per_host: 2, memory_bandwidth: 20GB/s, waiting: ") +
                                    waiting + "}, {count: 1, device: node, same_host: true, slowdown: 3}]",
                                fast_bus, traffic, "training.stop={updates: 2}"});
    CHECK(about(busy.record.end, 2 * 3 * c));
    CHECK(about(busy.record.workers[0].split[Phase::compute], 2 * 1.5 * c));
  }
}

TEST_CASE("equal workers that share a memory are as if all were slower: buckets, micro-batches, sharded states, recomputing") {
  // Two workers of 2 GB in 0.1 s on 16 GB/s: 0.25 s, 2.5 times as long.
  const std::vector<std::vector<std::string>> ways = {
      {"cluster.network.collective={algorithm: ring, overlap: true, bucket: 10MB}"},
      {"cluster.network.collective={algorithm: ring, overlap: true, bucket: 10MB, interference: 0}", "training.batch.accumulate=4"},
      {"training.sharding={stage: 3}"},
  };
  for (const std::vector<std::string>& way : ways) {
    CAPTURE(way.front());
    const auto end = [&](const std::string& group, const std::string& bytes) {
      std::vector<std::string> sets = way;
      sets.insert(sets.end(), {group, bytes, "workload.cost={model: resnet18}", "training.stop={updates: 3}",
                               "cluster.network.intra={bandwidth: 1GB/s, latency: 10us}"});
      return run_timing(cluster(2), sets).record.end.seconds();
    };
    const bool micro = way.size() > 1;  // each of four has the overhead
    const double shared = end(host(2, 16), micro ? "devices.node.memory_traffic={overhead: 125MB, per_sample: 15MB}" : traffic);
    CHECK(shared == doctest::Approx(end("cluster.workers=[{count: 2, device: node, per_host: 2, slowdown: 2.5}]", traffic)).epsilon(1e-9));
  }
}

TEST_CASE("bytes are counted from the model's layers: weights three times, and three times what backward reads again") {
  // f features, h hidden, k classes. Backward reads h numbers after the ReLU and k of the output, beside the weights.
  constexpr double f = 20, h = 30, k = 4, parameters = f * h + h + h * k + k, b = 100;
  const auto step = [&](const std::string& precision, const std::string& rate) {
    return run_timing(cluster(1), {"cluster.workers=[{count: 1, device: node, memory_bandwidth: " + rate + "}]",
                                   "workload.model={kind: mlp, hidden: [30]}", "workload.precision=" + precision,
                                   "workload.data={kind: gaussian, samples: 4000, test_samples: 200, features: 20, classes: 4}",
                                   "training.scheme=sequential", "training.stop={updates: 1}"})
        .record.end.seconds();
  };
  const double bytes = 3 * 4 * (parameters + b * (h + k));
  CHECK(about(step("fp32", "10kB/s"), bytes / 1e4));
  CHECK(about(step("bf16", "10kB/s"), bytes / 2 / 1e4));
  CHECK(about(step("fp32", "1GB/s"), c));
}

TEST_CASE("where bytes are not known, a memory's bandwidth is refused") {
  const std::string bytes = "workload.cost={bytes: 8kB}";
  const std::string said = error_of<ScenarioErrors>([&] { run_timing(cluster(2), {host(2, 20), bytes}); });
  CHECK(said.find("cluster.workers[0].memory_bandwidth: the bytes that a batch moves") != std::string::npos);
  CHECK_NOTHROW(run_timing(cluster(2), {host(2, 20), bytes, traffic}));
}

TEST_CASE("explain names the memory where it binds, and asks for it only where it is limited") {
  const auto explained = [](const std::string& group) {
    ExplainOptions options;
    options.run.timing_only = true;
    options.run.threads = 1;
    options.slowdowns = true;
    return explain(read_scenario_text(cluster(2), "test.yaml", {group, fast_bus, traffic, "training.stop={updates: 3}"}), options);
  };
  const Explained bound = explained(host(2, 20));
  REQUIRE(bottleneck(bound) != nullptr);
  CHECK(bottleneck(bound)->cause == Cause::memory);
  CHECK(*bound.row(Cause::memory).share == doctest::Approx(0.5));  // twice as long as without
  const Explained free = explained("cluster.workers=[{count: 2, device: node, per_host: 2}]");
  CHECK(std::ranges::none_of(free.rows, [](const CauseRow& row) { return row.cause == Cause::memory; }));
  REQUIRE(bound.slowdowns);
  for (const Slowdowns::Kind& kind : bound.slowdowns->kinds) CHECK(kind.slowdown == doctest::Approx(1).epsilon(1e-6));
}

}  // namespace shared_memory_test
