// What varies, and what limits one of many: links whose bandwidth changes, connections, neighbours on a host. Closed forms.
#include <doctest/doctest.h>

#include <cmath>

#include "sim/base/random.hpp"
#include "sim/base/registry.hpp"
#include "sim/cluster/compute.hpp"
#include "tests/simulated/books.hpp"

namespace varying_test {

using namespace straggler;
using namespace straggler::test;

namespace {

constexpr double c = 0.1, bandwidth = 125e6, alpha = 100e-6;  // a batch; 1 Gbit/s; two links of 50 us

bool near_to(Time time, double seconds, double tolerance = 1e-9) { return std::abs(time.seconds() - seconds) < tolerance; }

Result run_on(int workers, std::uint64_t bytes, int updates, std::vector<std::string> more) {
  std::vector<std::string> sets = {"cluster.network.link={bandwidth: 1Gbps, latency: 50us}",
                                   "workload.cost={bytes: " + std::to_string(bytes) + "B}",
                                   "training.stop={updates: " + std::to_string(updates) + "}"};
  sets.insert(sets.end(), more.begin(), more.end());
  return run_timing(cluster(workers), sets);
}

const std::string by_server = "training.scheme={kind: ssgd, via: server}";

/// Bytes [0, n) over a link whose time per byte in span k is that of the link times factor(k), from `start` on.
template <class Factor>
double end_of(double n, double start, double span, const Factor& factor) {
  for (auto k = static_cast<std::uint64_t>(start / span);; ++k) {
    const double rate = bandwidth / factor(k), room = static_cast<double>(k + 1) * span - start;
    if (n <= room * rate) return start + n / rate;
    n -= room * rate;
    start += room;
  }
}

}  // namespace

TEST_CASE("a connection: a message between two hosts has at most its rate, and several share the link as before") {
  const std::uint64_t n = 5'000'000;
  const double bytes = static_cast<double>(n);
  const auto end = [&](int workers, const std::string& rate) {
    const Result result = run_on(workers, n, 2, {by_server, "cluster.network.protocol={connection: " + rate + "}"});
    check_books(result, true, false);
    return result.record.end;
  };
  for (const int p : {1, 2, 3, 8}) {
    CAPTURE(p);
    // All push at once, and are answered at once: each at the least of the connection's rate and its share of the server's link.
    for (const double gigabits : {0.4, 0.25, 3.0}) {
      const double rate = std::min(gigabits * 125e6, bandwidth / p);
      CHECK(near_to(end(p, std::to_string(gigabits) + "Gbps"), 2 * (c + alpha + bytes / rate) + 1 * (alpha + bytes / rate), 1e-8));
    }
  }
}

TEST_CASE("a connection limits each step of a ring, in both fidelities, and no message inside a host") {
  const std::uint64_t n = 8'000'000;
  const double bytes = static_cast<double>(n), rate = 25e6;
  const auto end = [&](const std::string& workers, const std::string& fidelity) {
    return run_on(4, n, 2,
                  {workers, "cluster.network.intra={bandwidth: 1GB/s, latency: 0s}", "training.scheme={kind: ssgd, via: all_reduce}",
                   "cluster.network.protocol={connection: 200Mbps}",
                   "cluster.network.collective={algorithm: ring, fidelity: " + fidelity + "}"})
        .record.end;
  };
  for (const std::string fidelity : {"stepwise", "fluid"}) {
    CAPTURE(fidelity);
    CHECK(near_to(end("cluster.workers=[{count: 4, device: node}]", fidelity), 2 * (c + 6 * alpha + 1.5 * bytes / rate), 1e-6));
    CHECK(near_to(end("cluster.workers=[{count: 4, device: node, per_host: 4}]", fidelity), 2 * (c + 1.5 * bytes / 1e9), 1e-6));
  }
}

TEST_CASE("links that vary: bytes flow at the bandwidth over each span's factor") {
  const std::uint64_t n = 6'000'000;  // 48 ms at 1 Gbit/s
  const double span = 0.01;
  for (const std::string kind : {"lognormal, sigma: 0.8", "uniform, low: 0.4, high: 1.6"}) {
    CAPTURE(kind);
    const Result result = run_on(
        1, n, 3,
        {by_server, "cluster.network.jitter={kind: " + kind + ", every: 10ms}", "cluster.network.link={bandwidth: 1Gbps, latency: 50us}"});
    const JitterEntry& entry = Registry<JitterEntry>::instance().at(kind.substr(0, kind.find(',')));
    Parameters given;
    if (kind.starts_with("log")) given.set("sigma", 0.8);
    if (kind.starts_with("uni")) given = {{"low", 0.4}, {"high", 1.6}};
    const auto jitter = entry.make_of(complete(entry.parameters, given), {0, 1});
    // A message crosses the sender's link up and the receiver's down: the slower of the two rates.
    const auto factor_of = [&](const std::string& name, std::uint64_t k) {
      return jitter->factor(RandomStream::stream_key(1, "link/" + name + "/bandwidth"), k);
    };
    const auto there = [&](std::uint64_t k) { return std::max(factor_of("worker/0:up", k), factor_of("server/0:down", k)); };
    const auto back = [&](std::uint64_t k) { return std::max(factor_of("server/0:up", k), factor_of("worker/0:down", k)); };
    double at = 0;
    for (int update = 0; update < 3; ++update) {
      at = end_of(static_cast<double>(n), at + c, span, there) + alpha;
      if (update < 2) at = end_of(static_cast<double>(n), at, span, back) + alpha;
    }
    CHECK(near_to(result.record.end, at, 1e-7));
    check_time(result);
    check_bytes(result, true, false);  // faster than its bandwidth in spans whose factor is below 1
  }
}

TEST_CASE("links that vary hide neither a stall nor the end, and a mean factor of 1 changes the time by little") {
  const std::string jitter = "cluster.network.jitter={kind: lognormal, sigma: 0.3, every: 1ms}";
  const Result stalled = run_timing(cluster(2), {jitter, "cluster.faults=[{kind: crash, worker: 1, at: 50ms}]"});
  CHECK(stalled.record.outcome == Outcome::stalled);
  CHECK(stalled.record.end < ticks_of(1));
  const std::uint64_t n = 50'000'000;
  const double plain = run_on(1, n, 5, {by_server}).record.end.seconds(),
               varied = run_on(1, n, 5, {by_server, jitter}).record.end.seconds();
  CHECK(varied > plain);  // the slower of two links, in each span
  CHECK(varied < 1.4 * plain);
}

TEST_CASE("neighbours: with n active workers on a host each takes 1 + s (n - 1) times as long") {
  for (const double share : {0.1, 0.5}) {
    for (const int each : {1, 2, 4}) {
      CAPTURE(share);
      CAPTURE(each);
      const Result result = run_timing(
          cluster(4),
          {"cluster.workers=[{count: 4, device: node, per_host: " + std::to_string(each) + ", neighbours: " + std::to_string(share) + "}]",
           "cluster.network.intra={bandwidth: 1000GB/s, latency: 0s}", "training.stop={updates: 3}"});
      CHECK(near_to(result.record.end, 3 * c * (1 + share * (each - 1)), 1e-6));
      check_books(result, true, false);
    }
  }
  // On two cores besides: four workers have half a core each, and slow each other on top.
  const Result both = run_timing(cluster(4), {"cluster.workers=[{count: 4, device: node, per_host: 4, cores_per_host: 2, neighbours: 0.5}]",
                                              "cluster.network.intra={bandwidth: 1000GB/s, latency: 0s}", "training.stop={updates: 1}"});
  CHECK(near_to(both.record.end, c * 2 * (1 + 0.5 * 3), 1e-6));
}

TEST_CASE("neighbours: a waiting worker slows no other") {
  // The second worker has three times the work. Together each runs at 1/1.5 of its speed: the first is done at 0.15, when the second has
  // 0.2 of 0.3 left, which it does alone.
  const Result result = run_timing(
      cluster(2),
      {"cluster.workers=[{count: 1, device: node, per_host: 2, neighbours: 0.5}, {count: 1, device: node, slowdown: 3, same_host: true}]",
       "cluster.network.intra={bandwidth: 1000GB/s, latency: 0s}", "training.stop={updates: 1}"});
  CHECK(near_to(result.record.end, 0.15 + 0.2, 1e-6));
}

TEST_CASE("a link's fault and a link that varies are refused together") {
  CHECK_THROWS(run_timing(cluster(2), {"cluster.network.jitter={kind: lognormal}",
                                       "cluster.faults=[{kind: link, worker: 0, from: 1s, to: 2s, bandwidth_factor: 50%}]"}));
}

}  // namespace varying_test
