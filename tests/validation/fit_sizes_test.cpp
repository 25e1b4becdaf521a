// Claims whose fitted values are sizes: the window of a connection, which acts by packets, and the size of buckets, which act by tensors.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "tests/support/scenarios.hpp"
#include "tests/validation/claim_support.hpp"
#include "validation/compare/claim_results.hpp"

namespace fit_sizes_test {

using namespace straggler;
using test::equal_workers;
using test::Files;
using test::scenario_text;

namespace {

/// One worker and a server, 2 ms apart each way, whose connections send packets of 1000 B from a full window on.
const std::string windows = scenario_text(
    {.name = "windows",
     .node = "{compute: {affine: {overhead: 0s, per_sample: 1us}}}",
     .workers = equal_workers(1),
     .network =
         "{link: {bandwidth: 1Gbps, latency: 1ms}, sharing: {kind: packets, packet: 1000B, acknowledgement: 0B, initial: 10MB, idle: 1h}}",
     .scheme = "{kind: asgd}",
     .batch = "{per_worker: 10}",
     .stop = "{updates: 4}"});

/// Two workers and ResNet-18's layers in buckets, without overlap: each bucket's all-reduce has a latency of its own.
const std::string buckets =
    scenario_text({.name = "buckets",
                   .node = "{compute: {affine: {overhead: 0s, per_sample: 1ms}}}",
                   .workers = equal_workers(2),
                   .servers = "",
                   .network = "{link: {bandwidth: 10Gbps, latency: 1ms}, collective: {algorithm: ring, bucket: 25MiB}}",
                   .cost = "{model: resnet18}",
                   .batch = "{per_worker: 10}",
                   .stop = "{updates: 3}"});

}  // namespace

TEST_CASE("a fit finds the window, in whole bytes, that the times of messages show") {
  const Files files;
  files.write("scenario.yaml", windows);
  // A window of W bytes leaves in W / bandwidth, and its acknowledgements are there a round trip later: n bytes take n / W rounds.
  const double window = 100'000, packet = 1000, rate = 125e6, there = 2e-3;
  std::string rows = "bytes,seconds\n";
  for (const double bytes : {400'000.0, 1'000'000.0, 2'500'000.0, 5'000'000.0}) {
    const double round = 2 * there + 2 * packet / rate, message = (bytes / window - 1) * round + there + (window + packet) / rate;
    rows += test::digits(bytes) + "," + test::digits(4 * 10e-6 + 7 * message) + "\n";  // 4 gradients there, weights back between them
  }
  files.write("measured.csv", rows);
  const ClaimResult result = test::validate(files.write("claim.yaml", R"(claim: 1
title: t
scenario: scenario.yaml
measured: measured.csv
bind: {bytes: {path: workload.cost.bytes, unit: B}}
compare: {column: seconds, metric: simulated_seconds}
fit:
  parameters: [{path: cluster.network.sharing.window, from: 8KiB, to: 1MiB}]
  rows: [{bytes: [400000, 2500000]}]
bound: {max: 2%}
)"));
  REQUIRE(result.fitted_values.size() == 1);
  const FittedValue& value = result.fitted_values[0];
  CHECK(value.value == std::round(value.value));
  CHECK(value.value == doctest::Approx(window).epsilon(0.03));  // as many packets as fit into it
  CHECK_FALSE(value.no_effect);
  CHECK_FALSE(value.at_bound);
  const std::string text = fitted_text(value);
  CAPTURE(text);
  CHECK(text.starts_with("cluster.network.sharing.window = "));
  CHECK(text.find(" kB") != std::string::npos);
  for (const auto& row : result.rows) CHECK(std::abs(row.error) < 0.02);
  CHECK(result.holds());
}

TEST_CASE("a fit of a size that acts in steps: found, and not said to change nothing") {
  const Files files;
  files.write("scenario.yaml", buckets);
  const std::string path = "cluster.network.collective.bucket";
  std::string rows = "batch,seconds\n";
  for (const int batch : {10, 20, 40})
    rows += std::to_string(batch) + "," +
            test::digits(test::simulated_seconds(buckets, {path + "=6MB", "training.batch.per_worker=" + std::to_string(batch)})) + "\n";
  files.write("measured.csv", rows);
  const auto claim = [&](const std::string& parameter) {
    return test::validate(files.write("claim.yaml",
                                      "claim: 1\ntitle: t\nscenario: scenario.yaml\nmeasured: measured.csv\n"
                                      "bind: {batch: training.batch.per_worker}\n"
                                      "compare: {column: seconds, metric: simulated_seconds}\n"
                                      "fit: {parameters: [" +
                                          parameter + "], rows: [{batch: [10, 20]}]}\nbound: {max: 1%}\n"));
  };
  const ClaimResult found = claim("{path: " + path + ", from: 1MB, to: 50MB}");
  CHECK(found.holds());
  for (const auto& row : found.rows) CHECK(std::abs(row.error) < 1e-3);
  CHECK_FALSE(found.fitted_values[0].no_effect);
  if (found.fitted_values[0].flat) CHECK(fitted_text(found.fitted_values[0]).ends_with("; values near it fit the rows as well"));
  // Larger than the model: one bucket, whatever its size.
  const ClaimResult without = claim("{path: " + path + ", from: 100MB, to: 500MB}");
  CHECK(without.fitted_values[0].no_effect);
  CHECK(fitted_text(without.fitted_values[0]).find("it changes no fitted row") != std::string::npos);
}

}  // namespace fit_sizes_test
