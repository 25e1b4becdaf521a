// What messages cost through a whole run: servers, processor time, what links do, sharing and background traffic.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/simulated/exchange.hpp"

namespace exchange_test {

using namespace straggler;
using namespace straggler::test;
using namespace straggler::test::exchange;

namespace {

const std::string by_server = "training.scheme={kind: ssgd, via: server}";

}  // namespace

TEST_CASE("sharded servers: a push and a pull take max(n b, p n b / S) + alpha each, the servers update at the same time") {
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
      const std::uint64_t chunk = n / static_cast<std::uint64_t>(p);
      CHECK(near_to(result.record.end, 3 * (c + 2 * (p - 1) * (alpha + 2 * static_cast<double>(chunk) / bandwidth))));
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

TEST_CASE("processor time of a message, on both sides; a server's is added") {
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

TEST_CASE("other sharing models in a whole run") {
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
  // packets, without a slow start: the first one passes the worker's link alone, then the server's link has all of them. The answer waits
  // for the acknowledgement of the last one.
  const double pieces = (64 * 1024 + 300'000) / bandwidth + alpha, acknowledgement = 66 / bandwidth;
  CHECK(near_to(run_on(1, n, 5, {by_server, "cluster.network.sharing={kind: packets, initial: 4MiB}"}).record.end,
                5 * (c + pieces) + 4 * (acknowledgement + pieces)));
}

TEST_CASE("packets: one flow cannot stand for a whole all-reduce") {
  const std::string ring = "training.scheme={kind: ssgd, via: all_reduce}",
                    packets = "cluster.network.sharing={kind: packets, packet: 1KiB, initial: 4MiB}";
  CHECK_THROWS_WITH(run_on(4, 80'000, 1, {ring, packets}),
                    doctest::Contains("cluster.network.sharing: packets applies to single messages"));
  // Six steps of a quarter, in packets of 1 KiB: each passes the second link a packet later.
  const Result result = run_on(4, 80'000, 1, {ring, packets, "cluster.network.collective={algorithm: ring, fidelity: stepwise}"});
  // An acknowledgement is a packet too. Those of a step's last packets delay the next step, on both links.
  const double least = c + 6 * ((20'000 + 1024) / bandwidth + alpha), most = least + 6 * 2 * 20 * 66 / bandwidth;
  CHECK(result.record.end.seconds() >= least);
  CHECK(result.record.end.seconds() <= most);
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

TEST_CASE("packets: what background traffic leaves in queues is bounded by its windows, however often it is switched on") {
  // The server's link carries four connections with bytes to send, in packets of 16 KiB of which each has at most eight under way. A push
  // shares it with three others, and its last packet waits for at most their windows; so does each acknowledgement of an answer.
  const double move = 300'000 / bandwidth, window = 8 * 16 * 1024 / bandwidth;
  const Result result = run_on(2, 300'000, 5,
                               {by_server, "cluster.network.sharing={kind: packets, packet: 16KiB, window: 128KiB, initial: 128KiB}",
                                "cluster.network.background=[{from: worker/0, to: server/0, on: 1ms},"
                                " {from: worker/1, to: server/0, on: 1ms}]"});
  check_books(result, true, false);
  CHECK(result.record.end.seconds() >= 5 * (c + 2 * move));
  const double push = 4 * move + 3 * window, pull = 2 * (2 * move + 300'000 / (128 * 1024.0) * 3 * window);
  CHECK(result.record.end.seconds() <= 5 * (c + push + pull + 2 * alpha));
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
