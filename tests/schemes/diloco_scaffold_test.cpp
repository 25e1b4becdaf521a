// DiLoCo and SCAFFOLD: the schemes that they are at their ends, what travels, and what a delay hides.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

const std::string plain_outer = "outer: {learning_rate: 1, momentum: 0, nesterov: false}";
constexpr std::uint64_t vector_bytes = 4 * (2 * 16 + 16 + 16 * 4 + 4);

/// Largest difference of weights, in units of the largest weight.
double relative_difference(const Result& a, const Result& b) {
  REQUIRE(a.weights.size() == b.weights.size());
  double largest = 0, scale = 0;
  for (std::size_t i = 0; i < a.weights.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(a.weights[i]) - b.weights[i]));
    scale = std::max(scale, std::abs(static_cast<double>(b.weights[i])));
  }
  return largest / scale;
}

Result of(int workers, const std::string& scheme, std::vector<std::string> sets = {}) {
  sets.push_back("training.scheme=" + scheme);
  return run(cluster(workers), sets);
}

constexpr double eps = 0x1p-23;

}  // namespace

TEST_CASE("DiLoCo with a plain outer step of rate 1 is local SGD up to rounding") {
  // θ - (θ - w̄) rounds twice a round where the mean rounds as often as local SGD's: a few eps a round, carried on by further steps.
  const Result diloco = of(4, "{kind: diloco, steps: 5, " + plain_outer + "}"), local = of(4, "{kind: local_sgd, steps: 5}");
  CHECK(relative_difference(diloco, local) <= 10 * 8 * eps);
  CHECK(diloco.record.end == local.record.end);
  CHECK(diloco.record.bytes_sent == local.record.bytes_sent);
  CHECK(diloco.record.samples == local.record.samples);
}

TEST_CASE("DiLoCo with one worker and a plain outer step of rate 1 is plain SGD up to rounding") {
  // A fragment holds the weights of the moment at which it left last: of 6 steps a round, after steps 2, 4 and 6.
  const auto plain_after = [](int steps) { return of(1, "{kind: sequential}", {"training.stop.updates=" + std::to_string(steps)}); };
  CHECK(relative_difference(of(1, "{kind: diloco, steps: 6, " + plain_outer + "}", {"training.stop.updates=3"}), plain_after(18)) <=
        60 * eps);
  const Result pieces = of(1, "{kind: diloco, steps: 6, fragments: 3, " + plain_outer + "}", {"training.stop.updates=9"});
  const std::size_t length = pieces.weights.size();
  for (std::size_t fragment = 0; fragment < 3; ++fragment) {
    const Result plain = plain_after(14 + 2 * static_cast<int>(fragment));
    double largest = 0;
    for (std::size_t i = length * fragment / 3; i < length * (fragment + 1) / 3; ++i)
      largest = std::max(largest, std::abs(static_cast<double>(pieces.weights[i]) - plain.weights[i]));
    CAPTURE(fragment);
    CHECK(largest <= 60 * eps);
  }
}

TEST_CASE("DiLoCo's outer optimizer is Nesterov's momentum on the mean change") {
  // After round 1: Δ₁ = θ₀ - w̄, v = Δ₁, θ₁ = θ₀ - lr (Δ₁ + m v) = θ₀ - lr (1 + m) Δ₁; w̄ is local SGD's first version.
  const std::vector<std::string> once = {"training.stop.updates=1"};
  const Result local = of(4, "{kind: local_sgd, steps: 5}", once);
  const Result outer = of(4, "{kind: diloco, steps: 5, outer: {learning_rate: 0.5, momentum: 0.8, nesterov: true}}", once);
  const Result still = of(4, "{kind: diloco, steps: 5, outer: {learning_rate: 1e-30, momentum: 0, nesterov: false}}", once);  // θ₀
  REQUIRE(local.weights.size() == still.weights.size());
  for (std::size_t i = 0; i < local.weights.size(); ++i) {
    const double start = still.weights[i], expected = start - 0.5 * (1 + 0.8) * (start - local.weights[i]);
    CHECK(outer.weights[i] == doctest::Approx(expected).epsilon(1e-5));
  }
}

TEST_CASE("DiLoCo's fragments move the bytes of one model a round, and a delay hides them behind local steps") {
  // 100 samples of 1 ms a step; the ring moves 2 (p - 1)/p of a fragment at 12.5 MB/s, without latency. Of 400 kB whole: 48 ms.
  const std::vector<std::string> slow = {"cluster.network.link={bandwidth: 100Mbps, latency: 0s}", "workload.cost={bytes: 400000B}",
                                         "cluster.network.collective.algorithm=ring", "training.stop.updates=40"};
  const auto timed = [&](const std::string& more) { return of(4, "{kind: diloco, steps: 4" + more + "}", slow).record; };
  const RunRecord whole = timed(""), pieces = timed(", fragments: 4"), hidden = timed(", fragments: 4, delay: 1");
  const double step = 0.1, exchange = 2 * 0.75 * 400'000 / 12.5e6;
  CHECK(whole.end.seconds() == doctest::Approx(40 * (4 * step + exchange)).epsilon(1e-9));
  CHECK(pieces.end.seconds() == doctest::Approx(40 * (step + exchange / 4)).epsilon(1e-9));
  CHECK(hidden.end.seconds() == doctest::Approx(41 * step).epsilon(1e-9));  // one step of delay at the end
  CHECK(4 * pieces.bytes_sent == whole.bytes_sent);
  CHECK(whole.bytes_lost == 0);
}

TEST_CASE("SCAFFOLD with one local step of all clients is synchronous SGD in every round, up to rounding") {
  const Result scaffold = of(4, "{kind: scaffold, local_steps: 1}"), ssgd = of(4, "{kind: ssgd, via: server}");
  // c_i holds (x - y)/lr: the rounding of the weights, divided by lr, comes back times lr: a few eps of the weights a round.
  CHECK(relative_difference(scaffold, ssgd) <= 10 * 16 * eps);
  CHECK(scaffold.record.samples == ssgd.record.samples);
}

TEST_CASE("SCAFFOLD sends twice FedAvg's bytes") {
  const Result scaffold = of(4, "{kind: scaffold, fraction: 0.5}"), fedavg = of(4, "{kind: fedavg, fraction: 0.5}");
  CHECK(scaffold.record.bytes_sent == 2 * fedavg.record.bytes_sent);
  CHECK(fedavg.record.bytes_sent % vector_bytes == 0);
}

TEST_CASE("clients and local_steps define a round as fraction and local_epochs do") {
  const Result by_count = of(4, "{kind: fedavg, clients: 2}"), by_share = of(4, "{kind: fedavg, fraction: 0.5}");
  CHECK(by_count.record.weights_key == by_share.record.weights_key);
  const Result steps = of(4, "{kind: fedavg, local_steps: 3}");
  CHECK(steps.record.samples == 10 * 4 * 3 * 100);
}
