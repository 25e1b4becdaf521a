// Ranks of a ring in slices may be a message ahead of their neighbours: where all start together, that was an internal error.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/run.hpp"
#include "tests/support/sanitized.hpp"

namespace slices_together_test {

using namespace straggler;
using namespace straggler::test;

namespace {

std::string on_hosts(int hosts, int per_host, const std::string& how) {
  return scenario_text(
      {.workers = "[{count: " + std::to_string(hosts * per_host) + ", device: node, per_host: " + std::to_string(per_host) + "}]",
       .network = "{link: {bandwidth: 10Gbps, latency: 50us}, topology: {kind: hosts}, intra: {machine: dgx_a100}, "
                  "collective: {fidelity: stepwise, " +
                  how + "}}",
       .cost = "{bytes: 3000001B}",
       .stop = "{updates: 2}"});
}

}  // namespace

TEST_CASE("a ring in slices moves the bytes of a whole one, on any hosts and however its ranks start") {
  const std::vector<std::string> starts = {"start: together", "start: as_they_come", "start: as_they_come, eager_up_to: 0B",
                                           "start: as_they_come, eager_up_to: 100kB"};
  for (const std::string& start : tried(starts))
    for (const int hosts : {1, 2, 3})
      for (const int per_host : tried(std::vector<int>{1, 2, 3, 5, 8}, 2)) {
        const auto bytes = [&](const std::string& ring) {
          const RunRecord record = run_timing(on_hosts(hosts, per_host, start + ", algorithm: {kind: ring" + ring + "}")).record;
          CHECK(record.outcome == Outcome::completed);
          return record.bytes_sent;
        };
        CAPTURE(start);
        CAPTURE(hosts);
        CAPTURE(per_host);
        const std::uint64_t whole = bytes("");
        for (const char* slices : {", slices: 2", ", slices: 3", ", slices: 64", ", slices: 2, chunk: 100kB"})
          CHECK(bytes(slices) == whole);
      }
}

TEST_CASE("slices that hide no latency are warned of") {
  const auto warned = [](const std::string& how) {
    RunOptions options;
    options.timing_only = true;
    const auto warnings = Experiment(scenario_of(on_hosts(2, 2, how), {}), options).explain().warnings;
    return std::ranges::any_of(warnings, [](const std::string& each) {
      return each.find("slices is 2, and each slice pays a latency that nothing hides") != std::string::npos;
    });
  };
  CHECK(warned("algorithm: {kind: ring, slices: 2}"));
  CHECK_FALSE(warned("algorithm: {kind: ring, slices: 1}"));
  CHECK_FALSE(warned("algorithm: {kind: ring, slices: 2}, start: as_they_come"));
}

// 2(p - 1) steps of k slices, each of which arrives before the next one leaves.
TEST_CASE("slices of ranks that start together pay a latency each") {
  constexpr int p = 4;
  for (const int slices : {1, 2, 5}) {
    const Result result = run_timing(scenario_text({.node = "{compute: {affine: {per_sample: 1us}}}",
                                                    .network = "{link: {bandwidth: 1GB/s, latency: 50us}, collective: {fidelity: stepwise, "
                                                               "algorithm: {kind: ring, slices: " +
                                                               std::to_string(slices) + "}}}",
                                                    .cost = "{bytes: 4MB}",
                                                    .stop = "{updates: 1}"}));
    CHECK(result.record.end.seconds() == doctest::Approx(100e-6 + 2 * (p - 1) * (slices * 100e-6 + 1e-3)).epsilon(1e-9));
  }
}

}  // namespace slices_together_test
