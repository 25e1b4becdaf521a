// The sign of a zero was a random bit under `signsgd`, so a weight whose gradient is always zero (behind a dead unit, or of an input that
// is always zero) walked by the learning rate in every update. An infinite gradient stayed in the residual of error feedback for ever.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "models/compression/compressor.hpp"
#include "models/rules/elementwise.hpp"
#include "sim/base/registry.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/run.hpp"
#include "tests/support/scenarios.hpp"

namespace sign_of_zero_test {

using namespace straggler;
using namespace straggler::test;

namespace {

/// The second of three inputs is always zero.
std::string dead_input(const TemporaryFolder& folder) {
  std::string samples = "a,b,c,label\n";
  for (int i = 0; i < 64; ++i)
    samples += std::to_string(i % 7 - 3) + ",0," + std::to_string(i % 5 - 2) + "," + std::to_string(i % 2) + "\n";
  folder.write("samples.csv", samples);
  const std::string path = (folder.path() / "samples.csv").string();
  return scenario_text({.name = "dead",
                        .seed = 3,
                        .network = "{link: {bandwidth: 1Gbps, latency: 10us}}",
                        .model = "{kind: mlp, hidden: [6]}",
                        .data = "{kind: csv, normalize: none, path: " + path + ", test_path: " + path + "}",
                        .scheme = "ssgd",
                        .batch = "{per_worker: 8}",
                        .optimizer = "{kind: sgd, learning_rate: 0.01}",
                        .stop = "{updates: 20}"});
}

}  // namespace

TEST_CASE("what plain gradients never move, signs of gradients never move either: by all-reduce, by vote, with error feedback") {
  const TemporaryFolder folder;
  const std::string yaml = dead_input(folder);
  const auto weights = [&](std::vector<std::string> sets) { return run(yaml, sets).weights; };
  const std::vector<float> start = weights({"training.optimizer.learning_rate=1e-30"}), plain = weights({});
  for (const std::string scheme : {"ssgd", "{kind: ssgd, via: server}"})
    for (const std::string signs : {"signsgd", "{kind: signsgd, error_feedback: true}", "{kind: signsgd, direction: both}"}) {
      CAPTURE(scheme);
      CAPTURE(signs);
      const std::vector<float> moved = weights({"training.scheme=" + scheme, "training.compression=" + signs});
      int dead = 0, lively = 0;
      for (std::size_t i = 0; i < start.size(); ++i) {
        if (plain[i] == start[i]) {
          CHECK(moved[i] == start[i]);
          ++dead;
        } else {
          lively += moved[i] != start[i] ? 1 : 0;
        }
      }
      CHECK(dead >= 6);  // the weights of that input
      CHECK(lively > 10);
    }
}

TEST_CASE("a gradient that is no number leaves nothing behind in what error feedback keeps") {
  const float infinite = std::numeric_limits<float>::infinity(), none = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> v = {infinite, -infinite, none, 3}, q = {2, -2, 0, 2}, e = {1, 1, 1, 1};
  Extent extent;
  extent.n = v.size();
  std::vector<float> left(v.size());
  const ElementwiseEntry& residual = Registry<ElementwiseEntry>::instance().at("residual");
  residual.apply(select_kernels("auto"), extent, {v.data(), q.data()}, {}, left.data());
  CHECK(left == std::vector<float>{0, 0, 0, 1});
  residual.apply(select_kernels("auto"), extent, {v.data(), q.data(), e.data()}, {}, left.data());
  CHECK(left == std::vector<float>{0, 0, 0, 2});
}

}  // namespace sign_of_zero_test
