// What all-reduces cost through a whole run: buckets and overlap, the inside of hosts, every collective, and what libraries choose.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "sim/collectives/collective.hpp"
#include "tests/simulated/exchange.hpp"

namespace all_reduce_times_test {

using namespace straggler;
using namespace straggler::test;
using namespace straggler::test::exchange;

namespace {

/// ResNet-18's buckets as DistributedDataParallel makes them, and the share of backward after which each is there, from the files of
/// measured and derived facts.
struct MeasuredBucket {
  double bytes = 0, ready = 0;
};

std::vector<std::vector<std::string>> rows_of(const std::string& file) {
  std::ifstream in(STRAGGLER_SOURCE_DIR "/tests/tables/" + file);
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

TEST_CASE("a trace has the backward passes of batches whose gradient leaves in buckets: the last two thirds of each micro-batch") {
  const auto of = [](const std::string& collective, const std::string& batch) {
    return run_timing(cluster(2), {"workload.cost={model: resnet18}", "training.stop={updates: 3}", "training.batch=" + batch,
                                   "cluster.network.collective={algorithm: ring" + collective + "}"});
  };
  for (const int micro : {1, 4}) {
    CAPTURE(micro);
    const Result result = of(", bucket: 25MiB, overlap: true", fmt::format("{{per_worker: 100, accumulate: {}}}", micro));
    std::size_t next = 0;
    for (const Span& span : result.sink.spans) {
      if (span.phase != Phase::compute) continue;
      const double each = (span.end - span.start).seconds() / micro;
      for (int m = 0; m < micro; ++m, ++next) {
        REQUIRE(next < result.sink.backward.size());
        const Span& pass = result.sink.backward[next];
        CHECK(pass.worker == span.worker);
        CHECK(pass.start.seconds() == doctest::Approx(span.start.seconds() + (m + 1.0 / 3) * each).epsilon(1e-9));
        CHECK(pass.end.seconds() == doctest::Approx(span.start.seconds() + (m + 1) * each).epsilon(1e-9));
      }
    }
    CHECK(next == result.sink.backward.size());
    CHECK(next == static_cast<std::size_t>(2 * 3 * micro));
  }
  CHECK(of("", "{per_worker: 100}").sink.backward.empty());  // it leaves in one piece, when all is done
}

TEST_CASE("ResNet-18's buckets, overlapped with backward: each leaves when it is ready and the previous one is done") {
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

TEST_CASE("ways inside a host, of workers and of levels, have a share of their bandwidth while their workers compute") {
  const std::vector<MeasuredBucket> buckets = resnet18_buckets();
  for (const std::string level : {"", "switch", "socket"}) {
    CAPTURE(level);
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
                cluster(p), {fmt::format("cluster.workers=[{{count: {0}, device: node, per_host: {0}}}]", workers),
                             "cluster.network.topology={kind: hosts}",
                             // A ring crosses each group's way once: the level limits it as a worker's own way does.
                             "cluster.network.intra={latency: 0s, while_computing: " + std::to_string(share) + ", bandwidth: " +
                                 (level.empty() ? bandwidth + "MB/s}"
                                                : "1000GB/s, " + level + ": {workers: " + std::to_string(p / 2) +
                                                      ", latency: 0s, bandwidth: " + bandwidth + "MB/s}}"),
                             "workload.cost={model: resnet18}", "training.stop={updates: 3}",
                             "cluster.network.collective={algorithm: ring, bucket: 25MiB, first_bucket: 1MiB, overlap: true, fidelity: " +
                                 fidelity + "}"});
            CHECK(near_to(result.record.end, 3 * through, 1e-6));
            check_bytes(result, false);
            check_time(result);
          }
        }
      }
    }
  }
}

TEST_CASE("servers on every worker's host: messages within a host cross no link") {
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

}  // namespace all_reduce_times_test
