// Backup workers and stale synchronous parallel: what they wait for, what they drop, and which schemes they are at their ends.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/schemes/course.hpp"
#include "tests/support/sanitized.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]));
  return largest;
}

}  // namespace

TEST_CASE("no backup workers: synchronous SGD by a server, bit for bit") {
  check_same_course(run(cluster(4), with_scheme(uneven_four, "{kind: backup_workers, backups: 0}")),
                    run(cluster(4), with_scheme(uneven_four, "{kind: ssgd, via: server}")));
}

TEST_CASE("backup workers: late gradients are dropped, and their time, samples and bytes are counted as wasted") {
  const Result result = run(cluster(4), with_scheme(uneven_four, "{kind: backup_workers, backups: 1}"));
  const RunRecord& record = result.record;
  CHECK(record.dropped.contributions > 0);
  CHECK(record.dropped.samples == 100 * record.dropped.contributions);
  const std::uint64_t model_bytes = 4 * (2 * 16 + 16 + 16 * 4 + 4);
  CHECK(record.dropped.bytes == model_bytes * record.dropped.contributions);
  CHECK(record.samples == 60 * 3 * 100);
  CHECK(record.samples + record.dropped.samples <= record.samples_drawn);
  // Each update takes three gradients, of distinct workers at its version; the slow worker's are those that come late, nearly always.
  Time wasted;
  for (const WorkerRecord& worker : record.workers) wasted += worker.split[Phase::wasted];
  CHECK(wasted > Time());
  for (const OrderRow& row : result.sink.order) CHECK(row.read_version + 1 == row.update);
}

TEST_CASE("backup workers, 16 with 4 backups and exponential times: 1.637 E[X] an update" * long_case) {
  // Not an order statistic: whoever was late joins the next update late. 1.637 is the contract's figure for the rule.
  const int updates = 20'000;
  const Result result =
      run_timing(cluster(16), {"devices.node.jitter={kind: exponential}", "training.stop.updates=" + std::to_string(updates),
                               "training.scheme={kind: backup_workers, backups: 4}"});
  CHECK(result.record.end.seconds() / updates / 0.1 == doctest::Approx(1.637).epsilon(0.015));
}

TEST_CASE("SSP with a slack that is never reached and the sum of steps is asynchronous SGD, bit for bit") {
  check_same_course(run(cluster(4), with_scheme(uneven_four, "{kind: ssp, slack: 1000000, scale: sum}")),
                    run(cluster(4), with_scheme(uneven_four, "{kind: asgd}")));
}

TEST_CASE("SSP: no clock is ever more than slack + 1 ahead of another") {
  for (const int slack : {0, 1, 3}) {
    std::vector<std::string> sets = with_scheme(uneven_four, "{kind: ssp, slack: " + std::to_string(slack) + "}");
    sets.push_back("training.stop.updates=400");
    const Result result = run_timing(cluster(4), sets);
    std::vector<int> clocks(4);
    int most = 0;
    for (const OrderRow& row : result.sink.order) {
      ++clocks[row.worker];
      const auto [least, largest] = std::minmax_element(clocks.begin(), clocks.end());
      most = std::max(most, *largest - *least);
    }
    CAPTURE(slack);
    CHECK(most == slack + 1);  // one worker is three times as slow: the bound is met
  }
}

TEST_CASE("SSP without slack makes the step of synchronous SGD in each round, up to rounding") {
  // A round of SSP: w - (lr/p) g_1 - … - (lr/p) g_p, p roundings of at most |w| eps / 2 each, plus that of each scaled gradient; SSGD
  // rounds the mean and the step. In r rounds the differences of gradients add up with the smoothness L of the loss: (1 + lr L)^r.
  const int p = 4, rounds = 10;
  std::vector<std::string> ssp = with_scheme(uneven_four, "{kind: ssp, slack: 0}"),
                           ssgd = with_scheme(uneven_four, "{kind: ssgd, via: server}");
  ssp.push_back("training.stop.updates=" + std::to_string(rounds * p));
  ssgd.push_back("training.stop.updates=" + std::to_string(rounds));
  const Result one = run(cluster(p), ssp), other = run(cluster(p), ssgd);
  double scale = 0;
  for (const float w : other.weights) scale = std::max(scale, std::abs(static_cast<double>(w)));
  const double eps = 0x1p-23;
  CHECK(largest_difference(one.weights, other.weights) <= rounds * (p + 2) * eps * scale * 4);
  CHECK(one.record.samples == other.record.samples);
}
