// What exchanges cost through a whole run: buckets and overlap, sharded servers, every collective, and what links do.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "books.hpp"
#include "sim/collectives/collective.hpp"

namespace exchange_test {

using namespace straggler;
using namespace straggler::test;

namespace {

constexpr double c = 0.1;
constexpr double bandwidth = 125e6, alpha = 100e-6;  // 1 Gbit/s; two links of 50 us

bool near_to(Time time, double seconds, double tolerance = 1e-9) { return std::abs(time.seconds() - seconds) <= tolerance; }

/// On links of 1 Gbit/s and 50 us, messages of `bytes`, `updates` updates.
Result run_on(int workers, std::uint64_t bytes, int updates, std::vector<std::string> more) {
  std::vector<std::string> sets = {"cluster.network.link={bandwidth: 1Gbps, latency: 50us}",
                                   "workload.cost={bytes: " + std::to_string(bytes) + "B}",
                                   "training.stop={updates: " + std::to_string(updates) + "}"};
  sets.insert(sets.end(), more.begin(), more.end());
  return run_timing(cluster(workers), sets);
}

const std::string by_server = "training.scheme={kind: ssgd, via: server}";

/// ResNet-18's buckets as DistributedDataParallel makes them, and the share of backward after which each is there, from the files of
/// measured and derived facts.
struct MeasuredBucket {
  double bytes = 0, ready = 0;
};

std::vector<std::vector<std::string>> rows_of(const std::string& file) {
  std::ifstream in(STRAGGLER_SOURCE_DIR "/tests/data/" + file);
  REQUIRE(in.good());
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> row;
    std::istringstream fields(line);
    for (std::string field; std::getline(fields, field, ',');) row.push_back(field);
    rows.push_back(row);
  }
  rows.erase(rows.begin());
  return rows;
}

std::vector<MeasuredBucket> resnet18_buckets() {
  const auto layers = rows_of("resnet18_cifar_layers.csv");
  double total = 0;
  for (const auto& layer : layers) total += std::stod(layer[3]);
  std::vector<MeasuredBucket> buckets;
  for (const auto& row : rows_of("ddp_buckets_resnet18_cifar.csv")) {
    const std::string last = row[3].substr(0, row[3].rfind('.'));  // layer4.1.conv2.weight
    double through = 0;
    bool found = false;
    for (auto layer = layers.rbegin(); layer != layers.rend() && !found; ++layer) {
      through += std::stod((*layer)[3]);
      found = (*layer)[0] == last;
    }
    REQUIRE(found);
    buckets.push_back({std::stod(row[4]), through / total});
  }
  return buckets;
}

}  // namespace

TEST_CASE("ResNet-18's buckets, overlapped with backward: each leaves when it is there and the one before is through") {
  const std::vector<MeasuredBucket> buckets = resnet18_buckets();
  REQUIRE(buckets.size() == 3);
  for (const double gigabits : {1.0, 10.0, 40.0, 400.0}) {
    for (const int p : {2, 4, 7}) {
      for (const bool overlap : {true, false}) {
        Time fluid;
        for (const std::string fidelity : {"fluid", "stepwise"}) {
          CAPTURE(gigabits);
          CAPTURE(p);
          CAPTURE(overlap);
          CAPTURE(fidelity);
          const double rate = gigabits * 125e6;
          double through = 0, flying = 0, hidden = 0, bytes = 0;
          for (const MeasuredBucket& bucket : buckets) {
            const double time = 2 * (p - 1) * (alpha + bucket.bytes / p / rate);
            const double begin = std::max(through, overlap ? c * (1 + 2 * bucket.ready) / 3 : c);  // forward is a third
            through = begin + time;
            flying += time;
            hidden += std::max(0.0, std::min(through, c) - begin);
            bytes += bucket.bytes;
          }
          const int updates = 3;
          const Result result = run_timing(
              cluster(p), {"cluster.network.link={bandwidth: " + std::to_string(static_cast<int>(gigabits)) + "Gbps, latency: 50us}",
                           "workload.cost={model: resnet18}", "training.stop={updates: 3}",
                           "cluster.network.collective={algorithm: ring, bucket: 25MiB, first_bucket: 1MiB, overlap: " +
                               std::string(overlap ? "true" : "false") + ", fidelity: " + fidelity + "}"});
          // Chunks of a bucket that does not divide by p differ by a byte.
          const double rounding = 3 * 2.0 * p * 2 / rate + 1e-9;
          CHECK(near_to(result.record.end, updates * through, updates * rounding));
          for (const WorkerRecord& worker : result.record.workers) {
            CHECK(near_to(worker.bytes_in_flight, updates * flying, updates * rounding));
            CHECK(near_to(worker.overlapped, updates * hidden, updates * rounding));
            CHECK(near_to(worker.split[Phase::compute], updates * c));
            CHECK(near_to(worker.split[Phase::communication], updates * (flying - hidden), updates * rounding));
          }
          CHECK(result.record.bytes_sent == static_cast<std::uint64_t>(updates * 2 * (p - 1)) * static_cast<std::uint64_t>(bytes));
          CHECK(result.record.bytes_lost == 0);
          check_books(result, true, fidelity == "stepwise");  // as one flow, links carry chunks that are a byte larger
          if (fidelity == "fluid") fluid = result.record.end;
          CHECK(std::abs(fluid.seconds() - result.record.end.seconds()) < 0.01 * fluid.seconds());
        }
      }
    }
  }
}

TEST_CASE("ways inside a host have a share of their bandwidth while their worker computes") {
  const std::vector<MeasuredBucket> buckets = resnet18_buckets();
  for (const double rate : {2e9, 0.5e9}) {
    for (const double share : {1.0, 0.3}) {
      for (const int p : {2, 4}) {
        for (const std::string fidelity : {"fluid", "stepwise"}) {
          CAPTURE(rate);
          CAPTURE(share);
          CAPTURE(p);
          CAPTURE(fidelity);
          // Without latency a bucket is just bytes: at the share of the rate until the end of backward, at all of it behind.
          double through = 0;
          for (const MeasuredBucket& bucket : buckets) {
            const double begin = std::max(through, c * (1 + 2 * bucket.ready) / 3);
            const double bytes = 2 * (p - 1) * bucket.bytes / p, early = std::max(0.0, c - begin) * share * rate;
            through = bytes <= early ? begin + bytes / share / rate : std::max(begin, c) + (bytes - early) / rate;
          }
          const std::string workers = std::to_string(p), bandwidth = std::to_string(static_cast<int>(rate / 1e6));
          const Result result = run_timing(
              cluster(p),
              {"cluster.workers=[{count: " + workers + ", device: node, per_host: " + workers + "}]",
               "cluster.network.topology={kind: hosts}",
               "cluster.network.intra={bandwidth: " + bandwidth + "MB/s, latency: 0s, while_computing: " + std::to_string(share) + "}",
               "workload.cost={model: resnet18}", "training.stop={updates: 3}",
               "cluster.network.collective={algorithm: ring, bucket: 25MiB, first_bucket: 1MiB, overlap: true, fidelity: " + fidelity +
                   "}"});
          CHECK(near_to(result.record.end, 3 * through, 1e-6));
          check_bytes(result, false);
          check_time(result);
        }
      }
    }
  }
}

TEST_CASE("servers on every worker's host: what goes to one's own host crosses no link") {
  // p workers alone on their hosts, as many servers: of n bytes a worker sends (p-1)/p over its link, and takes as many back.
  const int p = 4;
  const std::uint64_t bytes = 100'000'000;
  const std::string servers = "cluster.servers={count: 4, host: {each: true}}";
  const std::string collective = "cluster.network.collective={algorithm: parameter_server, fidelity: stepwise}";
  const Result result = run_on(p, bytes, 2, {servers, collective, "cluster.network.topology={kind: hosts}"});
  CHECK(near_to(result.record.end, 2 * (c + 2 * (0.75 * bytes / bandwidth + alpha)), 1e-6));
}

TEST_CASE("overlap alone takes the buckets of DistributedDataParallel; without buckets or overlap the gradient goes whole") {
  const std::vector<std::string> sets = {"workload.cost={model: resnet18}", "cluster.network.link={bandwidth: 10Gbps, latency: 50us}"};
  const auto end = [&](const std::string& collective) {
    std::vector<std::string> with = sets;
    with.push_back("cluster.network.collective=" + collective);
    return run_timing(cluster(4), with).record.end;
  };
  CHECK(end("{algorithm: ring, overlap: true}") == end("{algorithm: ring, overlap: true, bucket: 25MiB, first_bucket: 1MiB}"));
  CHECK(end("{algorithm: ring, overlap: true}") < end("{algorithm: ring, bucket: 25MiB, first_bucket: 1MiB}"));
  // Whole: saves the latencies of two of the three buckets.
  const double more = 10 * 2 * 2 * 3 * alpha;
  CHECK(std::abs(end("{algorithm: ring, bucket: 25MiB, first_bucket: 1MiB}").seconds() - end("{algorithm: ring}").seconds() - more) < 1e-6);
}

TEST_CASE("every collective algorithm: bytes by formula, the same in both fidelities, and times within 1 %") {
  for (const CollectiveEntry& entry : Registry<CollectiveEntry>::instance().entries()) {
    for (const int p : {2, 3, 4, 6, 8}) {
      CAPTURE(entry.name);
      CAPTURE(p);
      const std::uint64_t n = 840'000, ranks = static_cast<std::uint64_t>(p), updates = 4;
      std::uint64_t q = 1, levels = 0;
      for (; 2 * q <= ranks; q *= 2) ++levels;
      std::uint64_t all = 2 * (ranks - 1) * n;  // every byte but one's own is sent once to be added, once as a sum
      if (entry.name == "recursive_doubling") all = q * levels * n + 2 * (ranks - q) * n;
      const bool served = !entry.unfit({2, 0, {}}).empty();  // each byte goes to a server once, and comes back once
      if (served) all = 2 * ranks * n;
      std::vector<Result> results;
      for (const std::string fidelity : {"fluid", "stepwise"}) {
        results.push_back(
            run_on(p, n, static_cast<int>(updates),
                   {"cluster.network.collective={algorithm: " + entry.name + ", reduce_rate: 2GB/s, fidelity: " + fidelity + "}"}));
        const Result& result = results.back();
        CHECK(result.record.bytes_sent == updates * all);
        // Step by step, the first rank is done before the others where rounds are not alike: at its last update the run stops.
        CHECK(result.record.bytes_lost <= (fidelity == "stepwise" ? all : 0));
        std::uint64_t workers = 0;
        for (const WorkerRecord& worker : result.record.workers) {
          workers += worker.bytes_sent;
          CHECK(near_to(worker.split[Phase::compute], static_cast<double>(updates) * c));
          if (served) CHECK(worker.bytes_sent == updates * n);
          if (entry.name == "ring") CHECK(worker.bytes_sent == updates * 2 * (ranks - 1) * (n / ranks));
        }
        CHECK(workers == updates * (served ? ranks * n : all));
        check_bytes(result, false);
        check_time(result);
        check_order(result, true);
      }
      for (std::size_t i = 0; i < ranks; ++i) CHECK(results[0].record.workers[i].bytes_sent == results[1].record.workers[i].bytes_sent);
      // From one update to the next, all have to be done.
      const auto period = [&](const std::string& fidelity, const Result& longer) {
        const Result shorter =
            run_on(p, n, 2, {"cluster.network.collective={algorithm: " + entry.name + ", reduce_rate: 2GB/s, fidelity: " + fidelity + "}"});
        return (longer.record.end - shorter.record.end).seconds() / 2;
      };
      const double fluid = period("fluid", results[0]) - c, stepwise = period("stepwise", results[1]) - c;
      CHECK(std::abs(fluid - stepwise) < 0.01 * stepwise);
    }
  }
}

TEST_CASE("each bucket is launched, in every fidelity, and a library chooses for each") {
  const std::vector<std::string> sets = {"workload.cost={model: resnet18}", "cluster.network.link={bandwidth: 10Gbps, latency: 50us}"};
  const int updates = 10;
  const auto end = [&](const std::string& collective) {
    std::vector<std::string> with = sets;
    with.push_back("cluster.network.collective=" + collective);
    return run_timing(cluster(4), with).record.end.seconds();
  };
  const double launch = 300e-6;
  for (const std::string how : {"fidelity: fluid", "fidelity: stepwise", "fidelity: stepwise, start: as_they_come"}) {
    CAPTURE(how);
    const std::string whole = "{algorithm: ring, " + how, cut = "{algorithm: ring, bucket: 25MiB, first_bucket: 1MiB, " + how;
    CHECK(std::abs(end(whole + ", launch: 300us}") - end(whole + "}") - updates * launch) < 1e-7);
    CHECK(std::abs(end(cut + ", launch: 300us}") - end(cut + "}") - updates * 3 * launch) < 1e-7);
  }
  // The buckets of a ResNet-18 follow one another, each as fast as its own size alone.
  std::vector<std::string> with = sets;
  with.push_back("cluster.network.collective={algorithm: nccl, bucket: 25MiB, first_bucket: 20KiB}");
  const Experiment experiment(read_scenario_text(cluster(4), "test.yaml", with), {});
  const Explanation explained = experiment.explain();
  REQUIRE(explained.bucket_bytes.size() >= 2);
  const CollectiveEntry& nccl = Registry<CollectiveEntry>::instance().at("nccl");
  const UniformLinks links{100e-6, 8 / 10e9};
  const Parameters parameters = complete(nccl.parameters, {});
  double seconds = 0;
  std::set<std::string> choices;
  for (const std::uint64_t bytes : explained.bucket_bytes) {
    const std::string choice = nccl.choice(static_cast<double>(bytes), {4, 0, {}}, links, parameters);
    CHECK(explained.collective.find(choice) != std::string::npos);
    choices.insert(choice);
    seconds += nccl.seconds(static_cast<double>(bytes), {4, 0, {}}, links, parameters);
  }
  CHECK(choices.size() == 2);
  std::vector<std::string> free = sets;
  free.push_back("cluster.network.link={bandwidth: 1000000Gbps, latency: 0s}");
  free.push_back("cluster.network.collective={algorithm: ring}");
  const double computing = run_timing(cluster(4), free).record.end.seconds();
  CHECK(std::abs(run_timing(cluster(4), with).record.end.seconds() - computing - updates * seconds) < 0.01 * updates * seconds);
  // All algorithms that fit are told, fastest first.
  const std::vector<CollectiveTime> times = experiment.collective_times();
  CHECK(times.size() == Registry<CollectiveEntry>::instance().entries().size());
  for (std::size_t i = 1; i < times.size(); ++i) CHECK(times[i - 1].seconds <= times[i].seconds);
  for (const CollectiveTime& each : times) CHECK(each.choice.empty() == !Registry<CollectiveEntry>::instance().at(each.name).library);
}

TEST_CASE("a hierarchical all-reduce whose hosts are no longer alike continues as a ring") {
  const Result result =
      run_on(4, 400'000, 6,
             {"cluster.workers=[{count: 4, device: node, per_host: 2}]", "training.scheme={kind: ssgd, on_failure: drop}",
              "cluster.network.collective={algorithm: hierarchical}", "cluster.faults=[{kind: crash, worker: 3, at: 250ms}]"});
  CHECK(result.record.outcome == Outcome::completed);
  CHECK(result.record.samples == 2 * 400 + 4 * 300);
  check_books(result, true, false);
}

TEST_CASE("sharded servers: push max(n b, p n b / S) + alpha, pull alike, updates side by side") {
  for (const std::uint64_t n : {300'000u, 300'001u}) {
    for (const int p : {1, 2, 3, 6}) {
      for (int servers = 1; servers <= 5; ++servers) {
        CAPTURE(n);
        CAPTURE(p);
        CAPTURE(servers);
        const Result result = run_on(p, n, 5, {by_server, "cluster.servers={count: " + std::to_string(servers) + ", update: 10MB/s}"});
        const double shard = std::ceil(static_cast<double>(n) / servers);
        const double way = std::max(static_cast<double>(n), p * shard) / bandwidth + alpha;
        const double update = static_cast<double>(n) / servers / 10e6;
        // Shards may differ by a byte: p of them, at a p-th of the bandwidth.
        CHECK(near_to(result.record.end, 5 * (c + way + update) + 4 * way,
                      1e-9 + (n % static_cast<std::uint64_t>(servers) ? 9 * p / bandwidth : 0)));
        CHECK(result.record.bytes_sent == 9 * static_cast<std::uint64_t>(p) * n);
        check_books(result, true);
      }
    }
  }
}

TEST_CASE("servers on a worker's host are behind its link, and free for that worker") {
  const std::uint64_t n = 250'000;
  for (const int servers : {1, 2}) {
    for (const int p : {1, 3}) {
      const std::string count = "cluster.servers={count: " + std::to_string(servers) + ", host: {worker: 0}}";
      const double way = p == 1 ? 0 : static_cast<double>(p - 1) * static_cast<double>(n) / bandwidth + alpha;
      CHECK(near_to(run_on(p, n, 5, {by_server, count}).record.end, 5 * (c + way) + 4 * way));
      // With an inside that costs something: 40 ms of it a message, and the way to the others beside it.
      const Result inside = run_on(p, n, 5, {by_server, count, "cluster.network.intra={bandwidth: 6250kB/s, latency: 10ms}"});
      if (p == 1 && servers == 1) CHECK(near_to(inside.record.end, 5 * (c + 0.05) + 4 * 0.05));
      check_books(inside, true, false);
    }
  }
}

TEST_CASE("workers of one host reduce over its inside") {
  const std::uint64_t n = 1'000'000;
  for (const std::string fidelity : {"fluid", "stepwise"}) {
    const Result result =
        run_on(2, n, 3,
               {"cluster.workers=[{count: 2, device: node, per_host: 2}]", "cluster.network.intra={bandwidth: 10MB/s, latency: 2ms}",
                "cluster.network.collective={algorithm: ring, fidelity: " + fidelity + "}"});
    // Both directions are the same inside if it is one link, or one for each: two halves of n/2 each, both ways at once.
    const double step = 0.002 + 0.5e6 / 10e6, shared = 0.002 + 1e6 / 10e6;
    const double got = result.record.end.seconds() / 3 - c;
    CHECK((std::abs(got - 2 * step) < 1e-9 || std::abs(got - 2 * shared) < 1e-9));
    check_books(result, true, false);
  }
}

TEST_CASE("half duplex: both directions of a ring share each cable") {
  const std::uint64_t n = 840'000;
  for (const std::string fidelity : {"fluid", "stepwise"}) {
    for (const int p : {2, 4, 7}) {
      CAPTURE(fidelity);
      CAPTURE(p);
      const Result result =
          run_on(p, n, 3, {"cluster.network.link.duplex=half", "cluster.network.collective={algorithm: ring, fidelity: " + fidelity + "}"});
      CHECK(near_to(result.record.end,
                    3 * (c + 2 * (p - 1) * (alpha + 2 * static_cast<double>(n / static_cast<std::uint64_t>(p)) / bandwidth))));
    }
  }
}

TEST_CASE("a burst passes at once, and is there again after a pause") {
  // t seconds carry burst + B t bytes, on both links of the way.
  const std::uint64_t n = 300'000;
  const double way = (300'000 - 100'000) / bandwidth + alpha;
  const Result result = run_on(1, n, 5, {by_server, "cluster.network.link.burst=100kB"});
  CHECK(near_to(result.record.end, 5 * (c + way) + 4 * way));
  const Result large = run_on(1, n, 5, {by_server, "cluster.network.link.burst=400kB", "cluster.network.link.peak=10Gbps"});
  const double all = 300'000 / 1.25e9 + alpha;  // drained by 9/10 of that: 270 kB
  CHECK(near_to(large.record.end, 5 * (c + all) + 4 * all));
}

TEST_CASE("segments: each message by its size, in a push and in each step of a ring") {
  const std::string segments =
      "cluster.network.protocol.segments=[{up_to: 64KiB, latency_factor: 1.2, bandwidth_factor: 0.8}, {latency_factor: 2, "
      "bandwidth_factor: 0.95}]";
  for (const std::uint64_t n : {40'000u, 300'000u}) {
    const bool small = n < 65'536;
    const double way = static_cast<double>(n) / bandwidth / (small ? 0.8 : 0.95) + (small ? 1.2 : 2) * alpha;
    CHECK(near_to(run_on(1, n, 5, {by_server, segments}).record.end, 5 * (c + way) + 4 * way));
    // Two servers get half each: 150 kB is large, 20 kB small.
    CHECK(near_to(run_on(1, n, 5, {by_server, segments, "cluster.servers.count=2"}).record.end, 5 * (c + way) + 4 * way));
    for (const std::string fidelity : {"fluid", "stepwise"}) {
      CAPTURE(n);
      CAPTURE(fidelity);
      const double chunk = static_cast<double>(n) / 4;
      const bool small_chunk = chunk < 65'536;
      const double step = chunk / bandwidth / (small_chunk ? 0.8 : 0.95) + (small_chunk ? 1.2 : 2) * alpha;
      CHECK(near_to(run_on(4, n, 3, {segments, "cluster.network.collective={algorithm: ring, fidelity: " + fidelity + "}"}).record.end,
                    3 * (c + 6 * step)));
    }
  }
}

TEST_CASE("processor time of a message, on both sides; a server's comes on top") {
  const std::uint64_t n = 300'000;
  const double move = 300'000 / bandwidth + alpha, mine = 70e-6, server = mine + 30e-6;
  const std::string both = "cluster.network.protocol.per_message=70us";
  for (const std::string scheme : {"asgd", "{kind: ssgd, via: server}"}) {
    const Result result = run_on(1, n, 5, {"training.scheme=" + scheme, both, "cluster.servers={count: 1, per_message: 30us}"});
    const double way = mine + move + server;
    CHECK(near_to(result.record.end, 5 * (c + way) + 4 * way));
    check_books(result, true);
  }
  // Two workers: the server takes one message after the other, and sends so.
  const Result two = run_on(2, n, 3, {by_server, both, "cluster.servers={count: 1, per_message: 30us}"});
  const double push = mine + 2 * 300'000 / bandwidth + alpha + 2 * server;
  // Pull: the first leaves after one handling, alone until the second has been handled, too; both are through 2 n / B after the first
  // began, the first one handling before the second. So far apart they push: the server has handled the first when the second arrives.
  const double pull = server + 2 * 300'000 / bandwidth + alpha + mine;
  CHECK(near_to(two.record.end, c + push + 2 * (pull + c + push - 2 * server)));
  for (const std::string fidelity : {"fluid", "stepwise"}) {
    CAPTURE(fidelity);
    const Result ring = run_on(4, n, 3, {both, "cluster.network.collective={algorithm: ring, fidelity: " + fidelity + "}"});
    CHECK(near_to(ring.record.end, 3 * (c + 6 * (mine + 75'000 / bandwidth + alpha + mine))));
  }
}

TEST_CASE("processor time of a message's bytes, on both sides") {
  const std::uint64_t n = 300'000;
  const double copy = 300'000 / 2e9, move = 300'000 / bandwidth + alpha, fixed = 40e-6;
  const std::vector<std::string> both = {"cluster.network.protocol.per_message=40us", "cluster.network.protocol.copy_rate=2GB/s"};
  const double way = fixed + copy + move + fixed + copy;
  CHECK(near_to(run_on(1, n, 5, {by_server, both[0], both[1]}).record.end, 5 * (c + way) + 4 * way));
  CHECK(near_to(run_on(1, n, 5, {by_server, both[1]}).record.end, 5 * (c + move + 2 * copy) + 4 * (move + 2 * copy)));
  for (const std::string fidelity : {"fluid", "stepwise"}) {
    CAPTURE(fidelity);
    const std::string ring = "cluster.network.collective={algorithm: ring, fidelity: " + fidelity + "}";
    const double step = 2 * (fixed + copy / 4) + 75'000 / bandwidth + alpha;  // a quarter of the message in each of 6 steps
    CHECK(near_to(run_on(4, n, 3, {both[0], both[1], ring}).record.end, 3 * (c + 6 * step)));
  }
}

TEST_CASE("other models of sharing, through a run") {
  const std::uint64_t n = 300'000;
  for (const int p : {1, 5}) {
    // none: nobody is in anybody's way.
    const double alone = 300'000 / bandwidth + alpha;
    CHECK(near_to(run_on(p, n, 5, {by_server, "cluster.network.sharing=none"}).record.end, 5 * (c + alone) + 4 * alone));
  }
  // lv08: latency 13.01 times, 97 % of the bandwidth, the way back carries acknowledgements that nobody minds.
  const double way = 300'000 / (0.97 * bandwidth) + 13.01 * alpha;
  CHECK(near_to(run_on(1, n, 5, {by_server, "cluster.network.sharing=lv08"}).record.end, 5 * (c + way) + 4 * way));
  const double half = 300'000 / (0.97 * bandwidth / 1.05) + 13.01 * alpha;  // one link for both: they take 5 %
  CHECK(near_to(run_on(1, n, 5, {by_server, "cluster.network.sharing=lv08", "cluster.network.link.duplex=half"}).record.end,
                5 * (c + half) + 4 * half));
}

TEST_CASE("background traffic takes its share of a link while it is on") {
  const std::uint64_t n = 300'000;
  const double move = 300'000 / bandwidth;
  const auto end = [&](const std::string& traffic, int updates = 1) {
    const Result result = run_on(1, n, updates, {by_server, "cluster.network.background=[" + traffic + "]"});
    check_books(result, true, false);
    return result.record.end;
  };
  CHECK(near_to(end("{from: worker/0, to: server/0, on: 1h}"), c + 2 * move + alpha));
  CHECK(near_to(end("{from: worker/0, to: server/0, on: 1h}, {from: worker/0, to: server/0, on: 1h}"), c + 3 * move + alpha));
  CHECK(near_to(end("{from: server/0, to: worker/0, on: 1h}"), c + move + alpha));  // the other direction
  CHECK(near_to(end("{from: server/0, to: worker/0, on: 1h}", 2), 2 * (c + move + alpha) + 2 * move + alpha));
  CHECK(near_to(end("{from: worker/0, to: server/0, on: 1ms, off: 10s, start: 101ms}"), c + move + 0.0005 + alpha));
  CHECK(near_to(end("{from: worker/0, to: server/0, on: 1ms, off: 10s, start: 101ms, rate: 25MB/s}"), c + move + 0.0002 + alpha));
  // On for 0.2 ms of each 0.4: in 0.4 ms it loses 0.1 ms. 2.4 ms of work take 8 such turns of 0.3 ms.
  CHECK(near_to(end("{from: worker/0, to: server/0, on: 200us, off: 200us}"), c + 8 * 0.0004 + alpha));
  const std::string random = "{from: worker/0, to: server/0, on: 300us, off: 300us, random: true}";
  CHECK(end(random, 20) == end(random, 20));
  CHECK(end(random, 20).seconds() > 20 * (c + 2 * move + 2 * alpha) - move - alpha);
}

TEST_CASE("background traffic hides neither a stall nor the end") {
  const std::string on =
      "cluster.network.background=[{from: worker/0, to: worker/1, on: 30ms, off: 20ms}, {from: worker/1, to: worker/0, on: 1s, random: "
      "true}]";
  for (const std::string evaluate : {"{}", "{every: {simulated_time: 70ms}}"}) {
    const Result result =
        run_timing(cluster(2), {on, "training.evaluate=" + evaluate, "cluster.faults=[{kind: crash, worker: 1, at: 50ms}]"});
    CHECK(result.record.outcome == Outcome::stalled);
    CHECK(result.record.end < ticks_of(20));
    check_books(result, true, false);
    const Result alone = run_timing(
        cluster(2),
        {on, "training.evaluate=" + evaluate, "cluster.faults=[{kind: crash, worker: 1, at: 50ms}, {kind: crash, worker: 0, at: 60ms}]"});
    CHECK(alone.record.outcome == Outcome::all_workers_down);
    CHECK(alone.record.end == ticks_of(0.06));
  }
}

}  // namespace exchange_test
