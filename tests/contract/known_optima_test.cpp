// Known optima: whole runs on the quadratic model, of which theory says where they end. All samples of a worker lie at one point, so that
// gradients have no noise (tests/support/point_data.hpp).
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "sim/training/scheme.hpp"
#include "tests/support/point_data.hpp"
#include "tests/support/run.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/schemes.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

/// w_j = Σ share_kj x_kj / Σ share_kj.
template <class Share>
std::vector<double> weighted_optimum(const std::vector<Client>& clients, Share share) {
  std::vector<double> found;
  for (std::size_t j = 0; j < point_dimensions; ++j) {
    double sum = 0, all = 0;
    for (const Client& client : clients) {
      sum += share(client, j) * client.point[j];
      all += share(client, j);
    }
    found.push_back(sum / all);
  }
  return found;
}

}  // namespace

TEST_CASE("delayed SGD is stable up to lr = 2 sin(π / (2 (2 τ + 1))) / a: found by bisection within 2 %" * long_case) {
  // p equal workers that come one after another have τ = p - 1, and w_{t+1} = w_t - lr a w_{t-τ}: its roots leave the unit circle at that
  // rate, where the largest is e^{iθ}, θ = π / (2 τ + 1). 2 % beyond, a step grows it by 0.02 θ² (τ + 1) / (1 + θ² (τ + 1)²) > 0.0015 of
  // itself, e^6 in 4000 steps, and as little below it shrinks it. The largest curvature is 1.
  const PointData origin({{40, {0, 0, 0}}});
  for (const int delay : {0, 1, 3, 7}) {
    CAPTURE(delay);
    const double theory = 2 * std::sin(std::numbers::pi / (2 * (2 * delay + 1)));
    double stable = theory / 2, unstable = 1.5 * theory;
    while (unstable - stable > theory / 500) {
      const double rate = (stable + unstable) / 2;
      const Result result = run(equal_bowl(delay + 1, "asgd", origin.data(false), rate, 4000));
      REQUIRE(result.record.staleness.back().first == static_cast<std::uint64_t>(delay));
      (farthest_from(result.weights, {0, 0, 0}) < 10 ? stable : unstable) = rate;
    }
    CHECK(stable == doctest::Approx(theory).epsilon(0.02));
    CHECK(stable > 0.51 * theory);  // both ends have been tried
    CHECK(unstable < 1.49 * theory);
  }
}

TEST_CASE("FedAvg stands still at Σ p_k s_kj x_kj / Σ p_k s_kj; FedNova, which divides by K_k, removes its first order only") {
  // K_k steps on a client's own loss leave (1 - lr a_j)^K_k of its distance: it goes s_kj = 1 - (1 - lr a_j)^K_k of the way to x_kj. FedAvg
  // weighs that by p_k, FedNova by p_k / K_k. As lr → 0 s_kj → K_k lr a_j: FedAvg's optimum is Σ p_k K_k x_k / Σ p_k K_k, which is not that
  // of the whole set, and FedNova's is Σ p_k x_k; what it is off is of first order in lr.
  const std::vector<Client> clients = {{48, {1, -2, 3}}, {8, {-4, 5, 0}}, {24, {2, 2, -6}}};
  const PointData points(clients);
  const auto share = [](const Client& client) { return client.samples / 80.0; };
  const std::vector<double> optimum = weighted_optimum(clients, [&](const Client& client, std::size_t) { return share(client); });
  std::vector<double> off_avg, off_nova;
  for (const double rate : {0.2, 0.1, 0.05}) {
    CAPTURE(rate);
    const auto steps = [](const Client& client) { return client.samples / 8.0; };  // K_k: an epoch in batches of 8
    const auto way = [&](const Client& client, std::size_t j) { return 1 - std::pow(1 - rate * curvature(j), steps(client)); };
    const auto ended = [&](const std::string& scheme) { return run(equal_bowl(3, scheme, points.data(true), rate, 600)).weights; };
    const std::vector<float> avg = ended("fedavg"), nova = ended("fednova");
    // A round takes fewer than 12 roundings of numbers up to 10 and shrinks what was off by more than 1 - 0.05/4: below 1000 in all.
    const double rounding = 1000 * 10 * std::ldexp(1.0, -24);
    CHECK(farthest_from(avg, weighted_optimum(clients, [&](const Client& c, std::size_t j) { return share(c) * way(c, j); })) < rounding);
    CHECK(farthest_from(nova, weighted_optimum(clients, [&](const Client& c, std::size_t j) { return share(c) * way(c, j) / steps(c); })) <
          rounding);
    off_avg.push_back(farthest_from(avg, optimum));
    off_nova.push_back(farthest_from(nova, optimum));
  }
  // Half the rate: half as far off, and nearer to it the smaller the rate; FedAvg stays where it is.
  for (std::size_t i = 1; i < off_nova.size(); ++i) {
    CHECK(off_nova[i] / off_nova[i - 1] < 0.6);
    CHECK(off_avg[i] / off_avg[i - 1] > 0.8);
  }
  CHECK(off_nova[1] / off_nova[0] > off_nova[2] / off_nova[1] - 0.1);
  CHECK(off_avg.back() > 5 * off_nova.back());
}

TEST_CASE("clients that go away in a round keep their state, so that SCAFFOLD and FedDyn end at the common optimum") {
  // What both leave out of account is constant forever where server and clients disagree: SCAFFOLD stands still where the mean gradient
  // is mean c_i - c, FedDyn where it is mean h_i - h. A round takes 40 ms; client 1 goes 20 ms into the 21st and the 63rd.
  const std::vector<Client> clients = {{40, {1, -2, 3}}, {40, {-4, 5, 0}}, {40, {2, 2, -6}}};
  const PointData points(clients);
  const TemporaryFolder folder;
  folder.write("clients.csv", "worker,from_s,to_s\n0,0,1000\n2,0,1000\n1,0,0.82\n1,1.7,2.5\n1,4,1000\n");
  const std::vector<std::string> sets = {
      "cluster.workers=[{count: 3, device: node, availability: {kind: trace, path: " + (folder.path() / "clients.csv").string() + "}}]"};
  const std::vector<double> optimum = weighted_optimum(clients, [](const Client&, std::size_t) { return 1; });
  for (const std::string scheme : {"{kind: scaffold, local_steps: 5}", "{kind: feddyn, local_steps: 5, alpha: 0.5}"}) {
    CAPTURE(scheme);
    const Result result = run(equal_bowl(3, scheme, points.data(true), 0.1, 1500), sets);
    CHECK(result.record.clients.lost == 2);
    CHECK(farthest_from(result.weights, optimum) < 1000 * 10 * std::ldexp(1.0, -24));
  }
}

TEST_CASE("every scheme ends at an optimum that all samples share, and else within those of the workers" * long_case) {
  // Plain SGD on these gradients leaves 1 - lr a of the way to a worker's optimum at each gradient, whenever lr a < 1, and all else in a
  // rule is an average. So an end is in each coordinate between the least and the largest of the workers' optima, which are one where all
  // samples are. Of 800 updates each counts one gradient at least, one p-th of it at least: a factor of 1 - 0.1 a_min / p = 1 - 0.0125 in
  // a step, e^-10 in all. What momenta and adaptive servers overshoot has died out by then.
  // Gradients are below 1, so that delay compensation is a correction (λ g² < 1), and rounding is 2^-24 in a step.
  const double near = 1e-3;
  const int updates = 800;
  const std::vector<Client> alike(4, {40, {1, -0.5, 0.7}});
  const std::vector<Client> unlike = {{40, {1, -0.5, 0.7}}, {40, {-0.4, 0.5, 0}}, {40, {0.2, 0.3, -0.6}}, {40, {0.3, -1, -0.1}}};
  for (const std::vector<Client>& clients : {alike, unlike}) {
    const PointData points(clients);
    std::size_t runs = 0;
    for (const SchemeVariant& variant : one_in(2, all_scheme_variants())) {
      const std::string scheme = variant.text();
      CAPTURE(scheme);
      const auto workers = static_cast<int>(variant.entry->only_workers.value_or(4));
      if (!fits(*variant.entry, variant.parameters, static_cast<Rank>(workers))) continue;
      const std::vector<std::string> sets = {"workload.model.start=0", "workload.model.condition=2"};
      const Result result = run(equal_bowl(workers, scheme, points.data(workers == 4), 0.1, updates, variant.one_host()), sets);
      ++runs;
      for (std::size_t j = 0; j < point_dimensions; ++j) {
        double least = 1, most = -1;
        for (const Client& client : clients) {
          least = std::min(least, client.point[j]);
          most = std::max(most, client.point[j]);
        }
        CHECK(static_cast<double>(result.weights[j]) >= least - near);
        CHECK(static_cast<double>(result.weights[j]) <= most + near);
      }
    }
    CHECK(runs > 30);
  }
}
