// FedNova divided by the number of local steps under momentum, too, where the paper divides by the weight |a|₁ of their gradients.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/folder.hpp"
#include "tests/support/run.hpp"
#include "tests/support/sanitized.hpp"

namespace fednova_momentum_test {

using namespace straggler;
using namespace straggler::test;

namespace {

/// Client 0 at +1 with 4 samples, one step of a batch of 4; client 1 at -1 with 40 samples, ten steps.
class TwoClients {
 public:
  TwoClients() {
    std::string samples = "f0,label\n", parts = "worker,first,count\n0,0,4\n1,4,40\n";
    for (int i = 0; i < 44; ++i) samples += i < 4 ? "1,0\n" : "-1,1\n";
    folder_.write("samples.csv", samples);
    folder_.write("parts.csv", parts);
  }
  Result run(const std::string& scheme, const std::string& optimizer, int updates) const {
    const std::string path = (folder_.path() / "samples.csv").string();
    return test::run(R"(straggler: 1
name: nova
devices: {d: {compute: {affine: {per_sample: 1ms}}}}
cluster: {workers: [{count: 2, device: d}], servers: {count: 1}, network: {link: {bandwidth: 1Gbps, latency: 10us}}}
workload:
  model: {kind: quadratic, condition: 1}
  data: {kind: csv, normalize: none, path: )" +
                     path + ", test_path: " + path + ", partition: {kind: by_file, path: " + (folder_.path() / "parts.csv").string() +
                     "}}\ntraining:\n  scheme: " + scheme + "\n  batch: {per_worker: 4}\n  optimizer: " + optimizer +
                     "\n  stop: {updates: " + std::to_string(updates) + "}\n");
  }

 private:
  TemporaryFolder folder_;
};

/// Of `steps` steps on ½ (w - x)² from a velocity of 0: the share of the way to x that they go, and the sum of the weights with which their
/// gradients are in it, both step by step.
struct Way {
  double share, norm;
};
Way way(int steps, double rate, double momentum) {
  double left = 1, velocity = 0, weight = 0, norm = 0;
  for (int j = 0; j < steps; ++j) {
    velocity = momentum * velocity + left;
    left -= rate * velocity;
    weight = momentum * weight + 1;  // of the first gradient in the velocity, and of any other as many steps after it
    norm += weight;
  }
  return {1 - left, norm};
}

}  // namespace

TEST_CASE("FedNova with momentum stands still at Σ p_k s_k x_k / |a_k| over Σ p_k s_k / |a_k|") {
  const TwoClients clients;
  const double p0 = 4.0 / 44, p1 = 40.0 / 44;
  for (const double momentum : {0.0, 0.5, 0.9, 0.99})
    for (const double rate : {0.001, 0.02}) {
      CAPTURE(momentum);
      CAPTURE(rate);
      const Way one = way(1, rate, momentum), ten = way(10, rate, momentum);
      const double pull0 = p0 * one.share / one.norm, pull1 = p1 * ten.share / ten.norm;
      // A round leaves 1 - τ_eff (pull0 + pull1) of what is off, so that e^-14 is left after this many.
      const double effective = p0 * one.norm + p1 * ten.norm;
      const int rounds = sanitized ? 5 : static_cast<int>(14 / (effective * (pull0 + pull1))) + 10;
      const std::string optimizer = "{kind: sgd, learning_rate: " + std::to_string(rate) + ", momentum: " + std::to_string(momentum) + "}";
      const Result result = clients.run("fednova", optimizer, rounds);
      REQUIRE(result.weights.size() == 1);
      if (!sanitized) CHECK(result.weights.front() == doctest::Approx((pull0 - pull1) / (pull0 + pull1)).epsilon(1e-4));
    }
  // The figures of the paper's rule and of dividing by the number of steps, 10: |a| of ten steps with 0.9 is 41.4.
  const Way ten = way(10, 0.001, 0.9);
  CHECK((p0 - p1 * ten.share / ten.norm / 0.001) / (p0 + p1 * ten.share / ten.norm / 0.001) == doctest::Approx(-0.8167).epsilon(1e-4));
  CHECK((p0 - p1 * ten.share / 0.01) / (p0 + p1 * ten.share / 0.01) == doctest::Approx(-0.9524).epsilon(1e-4));
}

TEST_CASE("FedNova refuses optimizers whose steps have no such weights, and momentum that is kept over rounds") {
  const TwoClients clients;
  const auto refused = doctest::Contains("training.optimizer: fednova divides a client's change by the weight of its steps");
  for (const char* optimizer :
       {"{kind: sgd, learning_rate: 0.1, momentum: 0.9, nesterov: true}", "{kind: adam, learning_rate: 0.1}",
        "{kind: adamw, learning_rate: 0.1}", "{kind: lars, learning_rate: 0.1}", "{kind: adagrad, learning_rate: 0.1}"})
    CHECK_THROWS_WITH(clients.run("fednova", optimizer, 1), refused);
  const std::string plain = "{kind: sgd, learning_rate: 0.1, momentum: 0.9}";
  CHECK_THROWS_WITH(clients.run("{kind: fednova, momentum_at_sync: keep}", plain, 1), doctest::Contains("keep"));
  CHECK_THROWS_WITH(clients.run("{kind: fednova, momentum_at_sync: average}", plain, 1), doctest::Contains("average"));
  CHECK(clients.run("{kind: fednova, momentum_at_sync: reset}", plain, 1).weights == clients.run("fednova", plain, 1).weights);
}

}  // namespace fednova_momentum_test
