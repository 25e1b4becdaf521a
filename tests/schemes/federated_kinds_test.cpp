// Federated schemes beyond averaging, and what follows local SGD: the schemes that they are at their ends, and their rules by hand.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/support/folder.hpp"
#include "tests/support/run.hpp"

namespace federated_kinds_test {

using namespace straggler;
using namespace straggler::test;

namespace {

constexpr double one_eps = 0x1p-23;

Result trained(int workers, const std::string& scheme, std::vector<std::string> sets = {}) {
  sets.push_back("training.scheme=" + scheme);
  return run(cluster(workers), sets);
}

std::vector<std::string> updates(int count, std::vector<std::string> more = {}) {
  more.push_back("training.stop.updates=" + std::to_string(count));
  return more;
}

/// The weights that every run of the cluster starts from: after a step of no length.
std::vector<float> start(int workers) {
  return trained(workers, "{kind: ssgd}", updates(1, {"training.optimizer.learning_rate=1e-30"})).weights;
}

/// Largest difference, in units of the largest weight.
double distance(const std::vector<float>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0, scale = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a[i] - b[i]));
    scale = std::max(scale, std::abs(b[i]));
  }
  return largest / scale;
}

double distance(const std::vector<float>& a, const std::vector<float>& b) { return distance(a, std::vector<double>(b.begin(), b.end())); }

/// f(i) for every weight.
template <class F>
std::vector<double> each(const std::vector<float>& like, F f) {
  std::vector<double> all;
  for (std::size_t i = 0; i < like.size(); ++i) all.push_back(f(i));
  return all;
}

}  // namespace

TEST_CASE("FedProx without a pull is federated averaging, bit for bit") {
  const Result prox = trained(4, "{kind: fedprox, mu: 0, fraction: 0.5}"), avg = trained(4, "{kind: fedavg, fraction: 0.5}");
  CHECK(prox.record.weights_key == avg.record.weights_key);
  CHECK(prox.record.end == avg.record.end);
  CHECK(prox.record.bytes_sent == avg.record.bytes_sent);
  CHECK(prox.sink.order == avg.sink.order);
}

TEST_CASE("FedProx pulls each local step towards the weights of the round") {
  // Of two steps of one client the first is plain, and the second is lr μ (y₁ - x) shorter than FedAvg's.
  const std::vector<float> x = start(1), y1 = trained(1, "{kind: fedavg, local_steps: 1}", updates(1)).weights;
  const std::vector<float> y2 = trained(1, "{kind: fedavg, local_steps: 2}", updates(1)).weights;
  const Result prox = trained(1, "{kind: fedprox, local_steps: 2, mu: 2}", updates(1));
  CHECK(distance(prox.weights, each(x, [&](std::size_t i) { return y2[i] - 0.1 * 2 * (double{y1[i]} - x[i]); })) <= 4 * one_eps);
  CHECK(distance(prox.weights, y2) > 1000 * one_eps);
}

TEST_CASE("FedNova with equal numbers of steps is federated averaging up to rounding") {
  const Result nova = trained(4, "{kind: fednova, local_steps: 3}"), avg = trained(4, "{kind: fedavg, local_steps: 3}");
  CHECK(distance(nova.weights, avg.weights) <= 10 * 8 * one_eps);
  CHECK(nova.record.end == avg.record.end);
}

TEST_CASE("FedNova takes the mean change of a step of each client, and as many steps as clients took on average") {
  // 300 and 100 samples in batches of 100: τ = 3 and 1, p = 3/4 and 1/4, so that the server takes 5/2 mean steps.
  const TemporaryFolder folder;
  folder.write("parts.csv", "worker,first,count\n0,0,300\n1,300,100\n");
  const std::vector<std::string> parts = {"workload.data={kind: coordinates, samples: 400}",
                                          "workload.data.partition={kind: by_file, path: " + (folder.path() / "parts.csv").string() + "}"};
  const auto alone = [&](int leaves) {
    std::vector<std::string> sets = parts;
    sets.push_back("cluster.faults=[{kind: leave, worker: " + std::to_string(leaves) + ", at: 1ms}]");
    return trained(2, "{kind: fedavg}", updates(1, sets)).weights;
  };
  const std::vector<float> y0 = alone(1), y1 = alone(0);
  const std::vector<float> x =
      trained(2, "{kind: fedavg}", updates(1, {parts[0], parts[1], "training.optimizer.learning_rate=1e-30"})).weights;
  const Result nova = trained(2, "{kind: fednova}", updates(1, parts));
  const auto expected = each(x, [&](std::size_t i) {
    const double d0 = (double{y0[i]} - x[i]) / 3, d1 = (double{y1[i]} - x[i]) / 1;
    return x[i] + 2.5 * (0.75 * d0 + 0.25 * d1);
  });
  CHECK(distance(nova.weights, expected) <= 8 * one_eps);
  CHECK(distance(trained(2, "{kind: fedavg}", updates(1, parts)).weights, expected) > 1000 * one_eps);
}

TEST_CASE("FedDyn's first round with one local step of all clients goes twice as far as synchronous SGD") {
  // y_i = x - lr g_i; mean y = x - lr ḡ; h/α = lr ḡ: x ← x - 2 lr ḡ.
  const Result dyn = trained(4, "{kind: feddyn, local_steps: 1}", updates(1));
  const Result twice = trained(4, "{kind: ssgd, via: server}", updates(1, {"training.optimizer.learning_rate=0.2"}));
  CHECK(distance(dyn.weights, twice.weights) <= 8 * one_eps);
}

TEST_CASE("FedDyn's second round follows the states that clients and server kept") {
  // With h_i = α lr g_i(x₀) and one step: y_i = x₁ - lr (g_i(x₁) - h_i), so that mean y = x₁ - lr ḡ(x₁) + α lr² ḡ(x₀), and -h/α has grown
  // to -lr ḡ(x₀) - lr ḡ(x₁) + α lr² ḡ(x₀).
  const double lr = 0.1, alpha = 0.5;
  const auto rate = [](double value) { return "training.optimizer.learning_rate=" + std::to_string(value); };
  const std::string steps = "{kind: feddyn, local_steps: 1, alpha: 0.5}";
  const std::vector<float> x0 = start(4), x1 = trained(4, steps, updates(1)).weights, x2 = trained(4, steps, updates(2)).weights;
  // ssgd's second step of rate 2 lr from the same x₁ and batches: x₁ - 2 lr ḡ(x₁).
  const std::vector<float> s2 = trained(4, "{kind: ssgd, via: server}", updates(2, {rate(2 * lr)})).weights;
  const auto expected = each(x0, [&](std::size_t i) {
    const double g0 = (double{x0[i]} - x1[i]) / (2 * lr);
    return s2[i] + 2 * alpha * lr * lr * g0 - lr * g0;
  });
  CHECK(distance(x2, expected) <= 64 * one_eps);
}

TEST_CASE("FedOpt with SGD at rate 1 is federated averaging up to rounding") {
  const Result opt = trained(4, "{kind: fedopt, server: sgd, server_rate: 1, fraction: 0.5}"),
               avg = trained(4, "{kind: fedavg, fraction: 0.5}");
  CHECK(distance(opt.weights, avg.weights) <= 10 * 8 * one_eps);
  CHECK(opt.record.bytes_sent == avg.record.bytes_sent);
}

TEST_CASE("FedOpt's first step of each server is the paper's") {
  const std::vector<float> x = start(4), mean = trained(4, "{kind: fedavg, local_steps: 2}", updates(1)).weights;
  const double rate = 0.05, beta1 = 0.8, beta2 = 0.9, tau = 0.02;
  const auto stepped = [&](const std::string& server) {
    return trained(4, "{kind: fedopt, local_steps: 2, server_rate: 0.05, beta1: 0.8, beta2: 0.9, tau: 0.02, server: " + server + "}",
                   updates(1))
        .weights;
  };
  const auto delta = [&](std::size_t i) { return double{mean[i]} - x[i]; };
  const auto adaptive = [&](auto squares) {
    return each(x, [&](std::size_t i) { return x[i] + rate * (1 - beta1) * delta(i) / (std::sqrt(squares(delta(i) * delta(i))) + tau); });
  };
  CHECK(distance(stepped("momentum"), each(x, [&](std::size_t i) { return x[i] + rate * delta(i); })) <= 8 * one_eps);
  CHECK(distance(stepped("adagrad"), adaptive([&](double d) { return tau * tau + d; })) <= 64 * one_eps);
  CHECK(distance(stepped("adam"), adaptive([&](double d) { return beta2 * tau * tau + (1 - beta2) * d; })) <= 64 * one_eps);
  const auto yogi = [&](double d) { return tau * tau - (1 - beta2) * d * (tau * tau > d ? 1 : -1); };
  CHECK(distance(stepped("yogi"), adaptive(yogi)) <= 64 * one_eps);
}

TEST_CASE("FedAsync mixes weights in by their age") {
  // Two equal clients, no time on the network: both begin at version 0, so that the first one comes fresh and the second one is 1 old.
  const std::vector<float> x = start(2);
  const auto after = [&](int count, const std::string& more) {
    return trained(2, "{kind: fedasync, local_steps: 1" + more + "}", updates(count)).weights;
  };
  const std::vector<float> y0 = after(1, ", alpha: 1"), y1 = after(2, ", alpha: 1");
  const auto mixed = [&](double first, double second) {
    return each(x, [&](std::size_t i) {
      const double w = (1 - first) * x[i] + first * y0[i];
      return (1 - second) * w + second * y1[i];
    });
  };
  CHECK(distance(after(2, ", alpha: 0.5"), mixed(0.5, 0.5)) <= 8 * one_eps);
  CHECK(distance(after(2, ", alpha: 0.5, staleness: polynomial"), mixed(0.5, 0.5 / std::sqrt(2))) <= 8 * one_eps);
  CHECK(distance(after(2, ", alpha: 0.5, staleness: polynomial, a: 2"), mixed(0.5, 0.5 / 4)) <= 8 * one_eps);
  CHECK(distance(after(2, ", alpha: 0.5, staleness: hinge, b: 1"), mixed(0.5, 0.5)) <= 8 * one_eps);
  CHECK(distance(after(2, ", alpha: 0.5, staleness: hinge, a: 3, b: 0"), mixed(0.5, 0.5 / 4)) <= 8 * one_eps);
}

TEST_CASE("FedBuff with one change of one client at a time is federated averaging of one client, up to rounding") {
  const Result buff = trained(4, "{kind: fedbuff, buffer: 1, concurrency: 1}"), avg = trained(4, "{kind: fedavg, clients: 1}");
  CHECK(distance(buff.weights, avg.weights) <= 10 * 8 * one_eps);
  CHECK(buff.sink.order == avg.sink.order);  // the same clients
}

TEST_CASE("FedBuff whose buffer takes all clients begins as federated averaging does") {
  const Result buff = trained(4, "{kind: fedbuff, buffer: 4}", updates(1)), avg = trained(4, "{kind: fedavg}", updates(1));
  CHECK(distance(buff.weights, avg.weights) <= 16 * one_eps);
}

TEST_CASE("FedBuff damps a change by its age, and steps by the server's rate") {
  // Two equal clients and a buffer of one: the second change is 1 old.
  const auto after = [&](int count, const std::string& more) {
    return trained(2, "{kind: fedbuff, buffer: 1, local_steps: 1" + more + "}", updates(count)).weights;
  };
  const std::vector<float> x = start(2), w1 = after(1, ""),
                           y1 = trained(2, "{kind: fedasync, local_steps: 1, alpha: 1}", updates(2)).weights;
  const auto expected = [&](double rate) {
    return each(x, [&](std::size_t i) { return x[i] + rate * (double{w1[i]} - x[i]) + rate / std::sqrt(2) * (double{y1[i]} - x[i]); });
  };
  CHECK(distance(after(2, ""), expected(1)) <= 16 * one_eps);
  CHECK(distance(after(2, ", server_rate: 0.5"), expected(0.5)) <= 16 * one_eps);
}

TEST_CASE("asynchronous federated learning keeps the stated number of clients training") {
  // Eight clients of whom three train at any time: every update is answered by one invitation, so that three times an update's samples are
  // in progress.
  const std::vector<std::string> slow = {"devices.node.jitter={kind: gamma, shape: 2}", "training.stop.updates=200"};
  const Result result = trained(8, "{kind: fedasync, clients: 3, local_steps: 1}", slow);
  CHECK(result.record.samples == 200 * 100);
  CHECK(result.record.samples_drawn <= (200 + 3) * 100);
  CHECK(result.record.samples_drawn > 200 * 100);
  std::vector<int> turns(8);
  for (const OrderRow& row : result.sink.order) {
    ++turns[static_cast<std::size_t>(row.worker)];
    CHECK(row.update - row.read_version <= 20);
  }
  for (const int each : turns) CHECK(each > 5);  // 25 on average
}

TEST_CASE("post-local SGD is synchronous SGD until it begins, and local SGD from then on") {
  const Result never = trained(4, "{kind: post_local_sgd, steps: 4, start: {epochs: 1000}}"), ssgd = trained(4, "{kind: ssgd}");
  CHECK(never.record.weights_key == ssgd.record.weights_key);
  CHECK(never.record.end == ssgd.record.end);
  const Result at_once = trained(4, "{kind: post_local_sgd, steps: 4, start: {epochs: 0}}"),
               local = trained(4, "{kind: local_sgd, steps: 4}");
  CHECK(at_once.record.weights_key == local.record.weights_key);
  CHECK(at_once.record.end == local.record.end);
  // 4,000 samples: an update of 400 is a tenth of an epoch, so that two of them begin before 0.15 epochs are done.
  const Result both = trained(4, "{kind: post_local_sgd, steps: 4, start: {epochs: 0.15}}", {"workload.data.samples=4000"});
  CHECK(both.record.samples == 2 * 400 + 8 * 4 * 400);
}

TEST_CASE("slow momentum without momentum is local SGD up to rounding, and its second round adds the first one's change") {
  const Result none = trained(4, "{kind: slow_momentum, steps: 3, beta: 0}"), local = trained(4, "{kind: local_sgd, steps: 3}");
  CHECK(distance(none.weights, local.weights) <= 10 * 8 * one_eps);
  CHECK(none.record.end == local.record.end);
  // With α = 1 the first round is local SGD's, u₁ = (w₀ - w̄₁)/lr, and w₂ = w̄₂ - lr β u₁.
  const std::vector<float> w0 = start(4), w1 = trained(4, "{kind: local_sgd, steps: 3}", updates(1)).weights,
                           w2 = trained(4, "{kind: local_sgd, steps: 3}", updates(2)).weights;
  const Result slow = trained(4, "{kind: slow_momentum, steps: 3, beta: 0.7}", updates(2));
  CHECK(distance(slow.weights, each(w0, [&](std::size_t i) { return w2[i] - 0.7 * (double{w0[i]} - w1[i]); })) <= 32 * one_eps);
}

}  // namespace federated_kinds_test
