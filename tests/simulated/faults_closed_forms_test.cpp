// What one fault costs, exactly.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "scenarios/schema/writer.hpp"
#include "tests/simulated/books.hpp"
#include "tests/support/folder.hpp"

namespace faults_closed_forms_test {

using namespace straggler;
using namespace straggler::test;

namespace {

constexpr double c = 0.1;                            // a batch: 100 samples of 1 ms
constexpr double bandwidth = 125e6, alpha = 100e-6;  // 1 Gbit/s; two links of 50 us
constexpr std::uint64_t n = 300'000;
constexpr double move = static_cast<double>(n) / bandwidth;

/// 20 ticks: each of a run's flows is rounded up to the next.
bool same_time(Time time, double seconds) { return std::abs(time.ticks() - Time::from_seconds(seconds).ticks()) <= 20; }

double ring(int p) { return 2 * (p - 1) * (alpha + move / p); }

std::vector<std::string> sets_with(const std::string& faults, const std::vector<std::string>& more = {}) {
  std::vector<std::string> sets = {"cluster.network.link={bandwidth: 1Gbps, latency: 50us}",
                                   "workload.cost={bytes: " + std::to_string(n) + "B}", "cluster.network.collective.algorithm=ring",
                                   "training.stop={updates: 6}", "cluster.faults=[" + faults + "]"};
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

std::string us(double seconds) { return std::to_string(std::llround(seconds * 1e6)) + "us"; }
std::string crash(int worker, double at, double restart_after = 0) {
  return "{kind: crash, worker: " + std::to_string(worker) + ", at: " + us(at) +
         (restart_after > 0 ? ", restart_after: " + us(restart_after) : "") + "}";
}

}  // namespace

TEST_CASE("wait: a crash while computing costs the computation so far, the down time and the transfer of the state") {
  const double r = ring(3), x = 0.04, down = 0.5, at = 2 * (c + r) + x;
  for (const std::string fidelity : {"fluid", "stepwise"}) {
    for (const double momentum : {0.0, 0.9}) {
      for (const int who : {0, 1, 2}) {
        CAPTURE(fidelity);
        CAPTURE(momentum);
        CAPTURE(who);
        const double struck = std::floor(at * 1e6) / 1e6, lost = struck - 2 * (c + r);  // whole microseconds
        const Result result =
            run_timing(cluster(3), sets_with(crash(who, struck, down), {"cluster.network.collective.fidelity=" + fidelity,
                                                                        "training.optimizer.momentum=" + std::to_string(momentum)}));
        // The optimizer's state goes with the weights, since no server has it.
        const double state = (momentum > 0 ? 2 : 1) * move + alpha;
        CHECK(same_time(result.record.end, 6 * (c + r) + lost + down + state));
        CHECK(result.record.bytes_sent == 6 * 4 * n + (momentum > 0 ? 2 : 1) * n);
        CHECK(result.record.bytes_lost == 0);
        CHECK(result.record.samples == 1800);
        CHECK(result.record.samples_drawn == 1900);  // what the failed one had begun
        const WorkerRecord& failed = result.record.workers[static_cast<std::size_t>(who)];
        CHECK(failed.split[Phase::down] == Time::from_seconds(down));
        CHECK(same_time(failed.split[Phase::wasted], lost));
        CHECK(same_time(failed.split[Phase::compute], 6 * c));
        CHECK(same_time(failed.split[Phase::communication], 6 * r + state));
        CHECK(failed.split[Phase::idle] <= Time::from_ticks(20));
        const WorkerRecord& sender = result.record.workers[who == 0 ? 1 : 0];
        CHECK(same_time(sender.split[Phase::idle] + sender.split[Phase::communication], 6 * r + lost + down + state));
        CHECK(sender.split[Phase::wasted] == Time());
        check_books(result, true);
      }
    }
  }
}

TEST_CASE("wait: a crash during an all-reduce costs the reduction so far, and the computation again") {
  const double r = ring(3), down = 0.25;
  for (const std::string fidelity : {"fluid", "stepwise"}) {
    for (const double share : {0.001, 0.4, 0.999}) {
      CAPTURE(fidelity);
      CAPTURE(share);
      const double struck = std::round((2 * (c + r) + c + share * r) * 1e6) / 1e6, y = struck - 2 * (c + r) - c;
      const Result result = run_timing(cluster(3), sets_with(crash(1, struck, down), {"cluster.network.collective.fidelity=" + fidelity}));
      CHECK(same_time(result.record.end, 6 * (c + r) + y + down + move + alpha + c));
      CHECK(result.record.bytes_sent == 7 * 4 * n + n);
      CHECK(result.record.bytes_lost == 4 * n);  // of the one that broke off, nobody had all
      CHECK(result.record.samples == 1800);
      CHECK(same_time(result.record.workers[1].split[Phase::compute], 7 * c));  // was computed to the end, and lost afterwards
      CHECK(same_time(result.record.workers[0].split[Phase::compute], 6 * c));  // keeps its gradient
      check_books(result, true);
    }
  }
}

TEST_CASE("drop: the others continue, and average over fewer") {
  const double r3 = ring(3), r2 = ring(2);
  for (const std::string fidelity : {"fluid", "stepwise"}) {
    for (const std::string fault : {"crash", "leave"}) {
      for (const bool reducing : {false, true}) {
        CAPTURE(fidelity);
        CAPTURE(fault);
        CAPTURE(reducing);
        const double struck = std::round((2 * (c + r3) + (reducing ? c + r3 / 2 : c / 2)) * 1e6) / 1e6;
        const Result result = run_timing(
            cluster(3), sets_with("{kind: " + fault + ", worker: 1, at: " + us(struck) + "}",
                                  {"cluster.network.collective.fidelity=" + fidelity, "training.scheme={kind: ssgd, on_failure: drop}"}));
        const double third = reducing ? struck : 2 * (c + r3) + c;
        CHECK(same_time(result.record.end, third + r2 + 3 * (c + r2)));
        CHECK(result.record.outcome == Outcome::completed);
        CHECK(result.record.samples == 2 * 300 + 4 * 200);
        CHECK(result.record.bytes_sent == 2 * 4 * n + 4 * 2 * n + (reducing ? 4 * n : 0));
        CHECK(result.record.bytes_lost == (reducing ? 4 * n : 0));
        check_books(result, true);
      }
    }
  }
}

TEST_CASE("drop: the last worker continues alone, without communication") {
  const Result result =
      run_timing(cluster(3), sets_with(crash(0, 0.05) + ", " + crash(2, 0.05), {"training.scheme={kind: ssgd, on_failure: drop}"}));
  CHECK(same_time(result.record.end, 6 * c));
  CHECK(result.record.bytes_sent == 0);
  CHECK(result.record.samples == 600);
  for (const OrderRow& row : result.sink.order) CHECK(row.worker == 1);
  check_books(result, true);
}

TEST_CASE("by server, wait: the one that was down pushes alone") {
  // Round: both push (2 n / B), both pull. Later: the state comes down, and one gradient goes up alone.
  const double way = 2 * move + alpha, start = c + 2 * way, struck = std::round((start + 0.03) * 1e6) / 1e6, x = struck - start, down = 0.2;
  const Result result =
      run_timing(cluster(2), sets_with(crash(1, struck, down), {"training.scheme={kind: ssgd, via: server}", "training.stop.updates=4"}));
  CHECK(same_time(result.record.end, 4 * (c + way) + 3 * way + x + down + (move + alpha) - move));
  CHECK(result.record.bytes_sent == 4 * 2 * n + 3 * 2 * n + n);
  CHECK(result.record.bytes_lost == 0);
  check_books(result, true);
}

TEST_CASE("a message in flight is lost with its sender, and with its receiver; one that has left arrives") {
  const std::vector<std::string> asgd = {"training.scheme={kind: asgd}", "training.stop={simulated_time: 105ms}",
                                         "cluster.workers=[{count: 1, device: node, slowdown: 10}, {count: 1, device: node}]"};
  // Push from 0.1 to 0.1 + move, then latency; the reply takes as long.
  const double pushed = c + move, arrived = pushed + alpha, replied = arrived + move;
  struct Case {
    double at;
    std::uint64_t sent, lost, updates;
  };
  for (const Case& each : {Case{c + move / 2, n, n, 0}, Case{pushed + alpha / 2, n, 0, 1}, Case{arrived + move / 2, 2 * n, n, 1},
                           Case{replied + alpha / 2, 2 * n, n, 1}, Case{replied + 2 * alpha, 2 * n, 0, 1}}) {
    CAPTURE(each.at);
    const Result result = run_timing(cluster(2), sets_with(crash(1, each.at), asgd));
    CHECK(result.record.bytes_sent == each.sent);
    CHECK(result.record.bytes_lost == each.lost);
    CHECK(result.record.updates == each.updates);
    check_books(result, false);
  }
  // One that leaves in good order finishes its message.
  const Result left = run_timing(cluster(2), sets_with("{kind: leave, worker: 1, at: " + us(c + move / 2) + "}", asgd));
  CHECK(left.record.bytes_sent == n);
  CHECK(left.record.bytes_lost == 0);
  CHECK(left.record.updates == 1);
  check_books(left, false);
}

TEST_CASE("asynchronous: the others do not notice; the one that is back reads the latest weights") {
  const Result result = run_timing(cluster(2), {"training.scheme={kind: asgd}", "training.stop={simulated_time: 1020ms}",
                                                "cluster.faults=[" + crash(1, 0.25, 0.3) + "]"});
  CHECK(result.record.workers[0].updates == 10);
  CHECK(result.record.workers[1].updates == 2 + 4);  // from 0.55 s on
  CHECK(result.record.workers[1].split[Phase::down] == ticks_of(0.3));
  CHECK(std::abs(result.record.workers[1].split[Phase::wasted].seconds() - 0.05) < 1e-7);
  for (const OrderRow& row : result.sink.order)
    if (row.worker == 1 && row.time > ticks_of(0.6)) CHECK(row.read_version + 2 >= row.update - 1);
  check_books(result, false);
}

TEST_CASE("a late joiner is sent the weights and takes part from the next update on") {
  const double r2 = ring(2), r3 = ring(3), at = std::round((2 * (c + r2) + 0.02) * 1e6) / 1e6;
  const Result result = run_timing(cluster(3), sets_with("{kind: join, worker: 2, at: " + us(at) + "}"));
  // It computes from then on; the others wait for it.
  CHECK(same_time(result.record.end, at + move + alpha + c + r3 + 3 * (c + r3)));
  CHECK(result.record.workers[2].split[Phase::down] == ticks_of(at));
  CHECK(result.record.samples == 2 * 200 + 4 * 300);
  CHECK(result.record.bytes_sent == 2 * 2 * n + n + 4 * 4 * n);
  check_books(result, true);

  // While the others reduce, it waits for the next version.
  const double during = std::round((2 * (c + r2) + c + r2 / 2) * 1e6) / 1e6;
  const Result later = run_timing(cluster(3), sets_with("{kind: join, worker: 2, at: " + us(during) + "}"));
  CHECK(later.record.samples == 3 * 200 + 3 * 300);
  check_books(later, true);
}

TEST_CASE("a slow spell stretches the part of the computation that it meets; spells that overlap multiply") {
  const auto end = [](const std::string& faults) {
    return run_timing(cluster(1), {"training.scheme=sequential", "training.stop={updates: 1}", "cluster.faults=[" + faults + "]"})
        .record.end;
  };
  const std::string first = "{kind: slow, worker: 0, from: 30ms, to: 50ms, times_slower: 4}";
  CHECK(end(first) == ticks_of(0.1 + 0.020 - 0.005));
  // 30..40: 4 times, 40..50: 12 times, 50..60: 3 times.
  CHECK(std::abs(end(first + ", {kind: slow, worker: 0, from: 40ms, to: 60ms, times_slower: 3}").seconds() -
                 (0.1 + 0.030 - 0.010 / 4 - 0.010 / 12 - 0.010 / 3)) < 2e-12);
  CHECK(end("{kind: slow, worker: 0, from: 1s, to: 2s, times_slower: 3}") == ticks_of(0.1));
  CHECK(end("{kind: slow, worker: 0, from: 0s, to: 10s, times_slower: 3}") == ticks_of(0.3));
}

TEST_CASE("a link that is down, or slow, delays its messages by exactly that time") {
  const std::vector<std::string> asgd = {"training.scheme={kind: asgd}", "training.stop={updates: 1}"};
  const auto end = [&](const std::string& where, double factor, double from, double to) {
    const Result result = run_timing(cluster(1), sets_with("{kind: link, " + where + ", from: " + us(from) + ", to: " + us(to) +
                                                               ", bandwidth_factor: " + std::to_string(factor) + "}",
                                                           asgd));
    CHECK(result.record.bytes_lost == 0);
    check_books(result, false);
    return result.record.end.seconds();
  };
  const double whole = c + move + alpha;
  for (const std::string where : {"worker: 0", "server: 0", "link: 'worker/0:up'", "link: 'server/0:down'"}) {
    CAPTURE(where);
    CHECK(std::abs(end(where, 0, 0.101, 0.151) - (whole + 0.05)) < 3e-12);
    CHECK(std::abs(end(where, 0.25, 0.101, 0.102) - (whole + 0.00075)) < 3e-12);
    CHECK(std::abs(end(where, 0.25, 0.05, 0.06) - whole) < 3e-12);
  }
  CHECK(std::abs(end("link: 'worker/0:down'", 0, 0.101, 0.151) - whole) < 3e-12);
  // Half duplex: one link, which is halved once.
  const Result half =
      run_timing(cluster(1), sets_with("{kind: link, worker: 0, from: 0s, to: 10s, bandwidth_factor: 0.5}",
                                       {"training.scheme={kind: asgd}", "training.stop={updates: 1}", "cluster.network.link.duplex=half"}));
  CHECK(std::abs(half.record.end.seconds() - (c + 2 * move + alpha)) < 3e-12);
}

TEST_CASE("outcomes, and when") {
  const double r = ring(2);
  const Result stalled = run_timing(cluster(2), sets_with(crash(1, 0.05)));
  CHECK(stalled.record.outcome == Outcome::stalled);
  CHECK(stalled.record.end == ticks_of(c));  // the other has computed, and nothing more happens
  CHECK(stalled.record.updates == 0);
  REQUIRE(stalled.record.warnings.size() == 1);
  CHECK(stalled.record.warnings[0].find("worker 0 waits in an all-reduce") != std::string::npos);
  check_books(stalled, true);

  const Result aborted = run_timing(cluster(2), sets_with(crash(1, 0.35), {"training.scheme={kind: ssgd, on_failure: abort}"}));
  CHECK(aborted.record.outcome == Outcome::aborted);
  CHECK(aborted.record.end == ticks_of(0.35));
  CHECK(aborted.record.updates == static_cast<std::uint64_t>(0.35 / (c + r)));

  const Result nobody = run_timing(cluster(2), sets_with(crash(1, 0.15) + ", " + crash(0, 0.25), {"training.scheme={kind: asgd}"}));
  CHECK(nobody.record.outcome == Outcome::all_workers_down);
  CHECK(nobody.record.end == ticks_of(0.25));

  const Result at_once = run_timing(cluster(2), sets_with(crash(0, 0) + ", " + crash(1, 0), {"training.scheme={kind: asgd}"}));
  CHECK(at_once.record.outcome == Outcome::all_workers_down);
  CHECK(at_once.record.end == Time());

  // Gone for good while it was to come back: nobody will.
  for (const std::string scheme : {"asgd", "ssgd", "{kind: ssgd, via: server}"}) {
    CAPTURE(scheme);
    const Result gone =
        run_timing(cluster(1), sets_with(crash(0, 0.15, 0.5) + ", {kind: leave, worker: 0, at: 250ms}", {"training.scheme=" + scheme}));
    CHECK(gone.record.outcome == Outcome::all_workers_down);
    CHECK(gone.record.end == ticks_of(0.25));
  }
}

TEST_CASE("a single worker that comes back continues, under every scheme") {
  for (const std::string scheme : {"sequential", "ssgd", "{kind: ssgd, via: server}", "asgd", "nonblocking", "{kind: local_sgd, steps: 2}",
                                   "{kind: local_sgd, steps: 2, via: server}", "fedavg"}) {
    for (const double at : {0.05, 0.25, 0.302, 0.402, 0.55}) {
      CAPTURE(scheme);
      CAPTURE(at);
      const Result result = run_timing(cluster(1), sets_with(crash(0, at, 0.1), {"training.scheme=" + scheme, "devices.node.update=50MB/s",
                                                                                 "workload.data.samples=400"}));
      CHECK(result.record.outcome == Outcome::completed);
      CHECK(result.record.updates == 6);
      CHECK(result.record.workers[0].split[Phase::down] == ticks_of(0.1));
      check_books(result, true);
    }
  }
}

TEST_CASE("faults at the stop, and after it") {
  const std::vector<std::string> stop = {"training.stop={simulated_time: 250ms}"};
  for (const std::string& fault : {crash(1, 0.3), crash(1, 0.24, 0.2), std::string("{kind: join, worker: 1, at: 250ms}"),
                                   std::string("{kind: leave, worker: 1, at: 250ms}"),
                                   std::string("{kind: join, worker: 0, at: 260ms}, {kind: join, worker: 1, at: 255ms}")}) {
    for (const std::string scheme : {"ssgd", "asgd", "{kind: ssgd, via: server}"}) {
      CAPTURE(fault);
      CAPTURE(scheme);
      std::vector<std::string> sets = stop;
      sets.push_back("training.scheme=" + scheme);
      const Result result = run_timing(cluster(2), sets_with(fault, sets));
      CHECK(result.record.end == ticks_of(0.25));
      CHECK(result.record.outcome == Outcome::completed);
      check_books(result, scheme != "asgd");
    }
  }
}

TEST_CASE("a worker that never joins might as well not be there") {
  // Drawing from one pool, the only worker that is in draws what it would draw alone: the mean is over one.
  const std::vector<std::string> pool = {"workload.data.partition={kind: shared}", "training.stop={updates: 12}",
                                         "training.optimizer.momentum=0.9"};
  std::vector<std::string> with = pool;
  with.push_back("cluster.faults=[{kind: join, worker: 1, at: 100s}]");
  for (const std::string scheme : {"ssgd", "{kind: ssgd, via: server}", "asgd"}) {
    CAPTURE(scheme);
    std::vector<std::string> alone = pool, joined = with;
    alone.push_back("training.scheme=" + scheme);
    joined.push_back("training.scheme=" + scheme);
    CHECK(run(cluster(1), alone).weights == run(cluster(2), joined).weights);
  }
}

TEST_CASE("training continues after a fault, and a replay of its choices has the same weights") {
  const test::TemporaryFolder folder;
  for (const std::string scheme :
       {"ssgd", "{kind: ssgd, on_failure: drop}", "{kind: ssgd, via: server}", "{kind: ssgd, via: server, on_failure: drop}", "asgd",
        "nonblocking", "{kind: local_sgd, steps: 2}", "{kind: fedavg, on_failure: wait}", "fedavg"}) {
    CAPTURE(scheme);
    std::vector<std::string> sets = sets_with(crash(1, 0.25, 0.3) + ", " + crash(0, 1.4, 0.1) + ", {kind: join, worker: 2, at: 500ms}",
                                              {"training.scheme=" + scheme, "training.stop={updates: 40, simulated_time: 60s}",
                                               "training.optimizer.momentum=0.9", "workload.data.samples=900"});
    const Result first = run(cluster(3), sets);
    CHECK(first.record.outcome == Outcome::completed);
    CHECK(*first.record.final_train_loss < 1.35);  // four classes: chance is ln 4 = 1.386
    CHECK(run_timing(cluster(3), sets).sink.order == first.sink.order);
    std::ofstream choices(folder / "choices.csv");
    choices << "process,choice\n";
    for (const auto& choice : first.sink.choices) choices << choice.first << ',' << choice.second << '\n';
    choices.close();
    std::ofstream(folder / "scenario.yaml") << write_scenario(read_scenario_text(cluster(3), "test.yaml", sets));
    RunOptions options;
    options.replay = folder.path();
    const Result again = run(cluster(3), sets, options);
    CHECK(again.weights == first.weights);
    CHECK(again.sink.order == first.sink.order);
  }
}

TEST_CASE("a link fails under every model of sharing, and is itself again afterwards") {
  // Down for 50 ms in the middle of the first push; the second update, and its pull, are as ever.
  struct Model {
    std::string sharing;
    double latency_factor, bandwidth_factor;
  };
  for (const Model& model : {Model{"max_min", 1, 1}, Model{"none", 1, 1}, Model{"lv08", 13.01, 0.97}}) {
    CAPTURE(model.sharing);
    const double way = move / model.bandwidth_factor + model.latency_factor * alpha;
    for (const double factor : {0.0, 0.5}) {
      CAPTURE(factor);
      const double from = 0.1015, to = factor == 0 ? 0.1515 : 0.1020;
      const Result result = run_timing(
          cluster(1),
          sets_with("{kind: link, worker: 0, from: " + us(from) + ", to: " + us(to) + ", bandwidth_factor: " + std::to_string(factor) + "}",
                    {"training.scheme={kind: asgd}", "training.stop={updates: 2}", "cluster.network.sharing=" + model.sharing}));
      CHECK(std::abs(result.record.end.seconds() - (2 * (c + way) + way + (1 - factor) * (to - from))) < 5e-12);
    }
  }
}

TEST_CASE("after a crash bytes add up with bursts, segments and shards as with plain messages") {
  for (const std::string extra : {"cluster.network.link.burst=100kB",
                                  "cluster.network.protocol={per_message: 300us, segments: [{bandwidth_factor: 0.5, latency_factor: 3}]}",
                                  "cluster.servers={count: 3, per_message: 200us}", "cluster.network.sharing=lv08",
                                  "cluster.network.sharing=none", "cluster.network.link.duplex=half"}) {
    for (const std::string scheme :
         {"asgd", "{kind: ssgd, via: server, on_failure: drop}", "{kind: ssgd, via: server}", "ssgd", "nonblocking"}) {
      for (int at = 95; at < 125; at += 1) {
        CAPTURE(extra);
        CAPTURE(scheme);
        CAPTURE(at);
        const Result result = run_timing(cluster(3), sets_with(crash(1, at * 1e-3, 0.0123) + ", " + crash(0, at * 1e-3 + 0.0005, 0.002),
                                                               {extra, "training.scheme=" + scheme, "training.stop={updates: 5}"}));
        CHECK(result.record.outcome == Outcome::completed);
        CHECK(result.record.updates == 5);
        check_books(result, scheme != "asgd", false, extra.find("burst") == std::string::npos && extra.find("none") == std::string::npos);
      }
    }
  }
}

}  // namespace faults_closed_forms_test
