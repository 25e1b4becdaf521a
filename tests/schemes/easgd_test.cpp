// Elastic averaging SGD in numbers: the paper's rule followed by hand, its ends, what it costs and what a crash leaves of it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/schemes/bowl.hpp"
#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

std::string elastic(int workers, const std::string& parameters, int updates) {
  return bowl_scenario(workers, "{kind: easgd, " + parameters + "}", updates, true);
}

const std::string two_speeds = "cluster.workers=[{count: 1, device: node}, {count: 1, device: node, slowdown: 1.7}]";

/// Where a worker's own gradient is zero: the end of a long run in which the others crash at once.
std::vector<float> optimum_of(int worker) {
  return run(elastic(2, "period: 1, alpha: 0.5", 300),
             {"cluster.faults=[{kind: crash, worker: " + std::to_string(1 - worker) + ", at: 0s}]"})
      .weights;
}

/// Algorithms 1 and 2 of the paper for one weight of two workers, worker 1 being 1.7 times as slow; momentum as torch has it.
struct ByHand {
  double alpha = 0, momentum = 0;
  int period = 1;
  double optimum[2] = {};
  double crash = 1e300, restart = 1e300;  // of worker 1

  /// The centre after that many exchanges.
  double centre_after(int exchanges) const {
    struct Worker {
      double x = bowl_start, velocity = 0, ready;
      int steps = 0;
    } workers[2] = {{.ready = 1}, {.ready = 1.7}};
    const double spans[] = {1, 1.7};
    double centre = bowl_start, taken_at[2] = {bowl_start, bowl_start};
    bool restarted = false;
    for (int done = 0; done < exchanges;) {
      if (!restarted && workers[1].ready > crash) {  // what it was at is lost, and so are its steps since the last exchange
        workers[1].ready = restart;
        if (workers[0].ready > restart) {
          workers[1] = {.x = centre, .ready = restart + 1.7};
          taken_at[1] = centre;
          restarted = true;
        }
      }
      const int who = workers[0].ready < workers[1].ready ? 0 : 1;
      Worker& worker = workers[who];
      worker.velocity = momentum * worker.velocity + (taken_at[who] - optimum[who]);
      worker.x -= step_rate * worker.velocity;
      ++worker.steps;
      taken_at[who] = worker.x;
      if (worker.steps % period == 0) {
        const double force = alpha * (worker.x - centre);
        worker.x -= force;
        centre += force;
        ++done;
      }
      worker.ready += spans[who];
    }
    return centre;
  }
};

/// The centre after each of `last` exchanges of two workers, against the rule by hand.
void check_by_hand(ByHand rule, const std::string& parameters, int last, std::vector<std::string> sets) {
  const std::vector<float> c0 = optimum_of(0), c1 = optimum_of(1);
  sets.push_back(two_speeds);
  for (int exchanges = 1; exchanges <= last; ++exchanges) {
    CAPTURE(exchanges);
    const std::vector<float> found = run(elastic(2, parameters, exchanges), sets).weights;
    REQUIRE(found.size() == c0.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      rule.optimum[0] = static_cast<double>(c0[i]);
      rule.optimum[1] = static_cast<double>(c1[i]);
      // Steps and exchanges take nine roundings or fewer; the optima are those of runs of 300 steps.
      CHECK(std::abs(static_cast<double>(found[i]) - rule.centre_after(exchanges)) < rounding_of(9 * (rule.period * last + 300)));
    }
  }
}

}  // namespace

TEST_CASE("EASGD: two workers, against the rule followed by hand") {
  for (const int period : {1, 2, 3}) {
    CAPTURE(period);
    const std::string periods = "period: " + std::to_string(period);
    check_by_hand({.alpha = 0.2, .period = period}, periods + ", alpha: 0.2", 12, {});
    check_by_hand({.alpha = 0.45, .period = period}, periods, 12, {});
    check_by_hand({.alpha = 1, .period = period}, periods + ", alpha: 1", 12, {});
  }
}

TEST_CASE("EAMSGD is EASGD with momentum in the local steps") {
  check_by_hand({.alpha = 0.2, .momentum = 0.5, .period = 2}, "period: 2, alpha: 0.2", 12, {"training.optimizer.momentum=0.5"});
}

TEST_CASE("EASGD: who crashes loses its steps since the last exchange, and starts again at the centre") {
  // Worker 1 exchanges at 3.4 s and is in its second step after that when it crashes. It is back at 7.3 s.
  for (const std::string failure : {"", ", on_failure: drop"})
    check_by_hand({.alpha = 0.2, .period = 2, .crash = 5.5, .restart = 7.3}, "period: 2, alpha: 0.2" + failure, 12,
                  {"cluster.faults=[{kind: crash, worker: 1, at: 5.5s, restart_after: 1.8s}]"});
  const Result aborted = run_timing(elastic(2, "on_failure: abort", 12), {"cluster.faults=[{kind: crash, worker: 1, at: 5.5s}]"});
  CHECK(aborted.record.outcome == Outcome::aborted);
}

TEST_CASE("EASGD with alpha 0: the centre never moves") {
  const std::vector<float> start = run(elastic(4, "period: 1, alpha: 0", 1)).weights;
  CHECK(run(elastic(4, "period: 1, alpha: 0", 40)).weights == start);
  for (const float weight : start) CHECK(weight == static_cast<float>(bowl_start));
}

TEST_CASE("EASGD with alpha 1: worker and centre change places, so the first exchange shows a worker's local steps, bit for bit") {
  for (const int period : {1, 5})
    CHECK(run(elastic(1, "alpha: 1, period: " + std::to_string(period), 1)).weights ==
          run(elastic(1, "", period), {"training.scheme=sequential"}).weights);
}

TEST_CASE("EASGD: an exchange takes two messages every period steps") {
  const Result result = run_timing(elastic(3, "period: 4", 30));
  const std::uint64_t model_bytes = 4 * 3;
  CHECK(result.record.end.seconds() == doctest::Approx(40).epsilon(1e-6));  // ten exchanges of each of three workers, 4 s apart
  CHECK(result.record.bytes_sent <= 60 * model_bytes);
  CHECK(result.record.bytes_sent >= 58 * model_bytes);  // the last answers are on their way
  for (const OrderRow& row : result.sink.order) {
    CHECK(row.steps <= 4);
    CHECK(row.samples == 5 * row.steps);
  }
  // Every step is counted once.
  CHECK(result.record.samples == 30 * 4 * 5);
}
