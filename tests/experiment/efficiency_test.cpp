// scaling_efficiency and the other figures of a step, against closed forms.
#include <doctest/doctest.h>

#include "scenarios/results/figures.hpp"
#include "tests/support/run.hpp"
#include "tests/support/scenarios.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

std::string steps(const std::string& workers, const std::string& batch, const std::string& node, const std::string& network) {
  return scenario_text({.node = node,
                        .workers = workers,
                        .servers = "",
                        .network = network,
                        .model = "",
                        .data = "{kind: none, samples: 100000}",
                        .cost = "{bytes: 4MB}",
                        .batch = batch,
                        .stop = "{updates: 20}"});
}

double figure(const RunRecord& record, const char* key) { return value_of(*find_figure(key), record).number().value(); }

constexpr const char* plain_node = "{compute: {affine: {overhead: 10ms, per_sample: 1ms}}}";
constexpr const char* no_network = "{link: {bandwidth: 1000GB/s, latency: 0s}}";

}  // namespace

TEST_CASE("figures of a step: a ring of four at 1 GB/s after 110 ms of computing") {
  const RunRecord record = run_timing(steps(equal_workers(4), "{per_worker: 100}", plain_node,
                                            "{link: {bandwidth: 1GB/s, latency: 0s}, collective: {algorithm: ring}}"))
                               .record;
  const double ring = 2 * 3 / 4.0 * 4e6 / 1e9, step = 0.110 + ring;
  CHECK(figure(record, "step_s") == doctest::Approx(step));
  CHECK(figure(record, "exposed_communication_s") == doctest::Approx(ring));
  CHECK(figure(record, "samples_per_second") == doctest::Approx(400 / step));
  CHECK(figure(record, "samples_per_second_per_worker") == doctest::Approx(100 / step));
  CHECK(figure(record, "scaling_efficiency") == doctest::Approx(0.110 / step));
  CHECK_FALSE(record.alone.strong);
}

TEST_CASE("waiting for a late worker is no exposed communication, and lowers the efficiency") {
  const std::string workers = "[{count: 1, device: node}, {count: 1, device: node, slowdown: 3}]";
  const RunRecord record = run_timing(steps(workers, "{per_worker: 90}", plain_node, no_network)).record;
  CHECK(figure(record, "exposed_communication_s") < 1e-4);
  // Alone 90 / 0.1 and 90 / 0.3 a second; together 180 / 0.3.
  CHECK(figure(record, "scaling_efficiency") == doctest::Approx((180 / 0.3) / (90 / 0.1 + 90 / 0.3)).epsilon(1e-4));
}

TEST_CASE("strong scaling is measured against one worker with the global batch: its overhead is paid once") {
  const RunRecord record = run_timing(steps(equal_workers(4), "{global: 400}", plain_node, no_network)).record;
  CHECK(record.alone.strong);
  CHECK(figure(record, "scaling_efficiency") == doctest::Approx(0.410 / (4 * 0.110)).epsilon(1e-4));  // T(1) / (4 T(4))
}

TEST_CASE("the mean of the jitter, the loader and the step count in what a worker does alone") {
  const auto alone = [](const std::string& node) {
    return run_timing(steps(equal_workers(1), "{per_worker: 100}", node, no_network)).record;
  };
  // 4 MB at 1 GB/s are 4 ms; the one loader needs 150 ms a batch.
  const std::string step = ", update: 1GB/s";
  const std::string compute = "{compute: {affine: {overhead: 10ms, per_sample: 1ms}}";
  CHECK(alone(compute + step + "}").alone.samples_per_second.value() == doctest::Approx(100 / 0.114));
  CHECK(alone(compute + ", loader: {per_sample: 1.5ms, workers: 1}}").alone.samples_per_second.value() == doctest::Approx(100 / 0.150));
  CHECK(alone(compute + ", loader: {per_sample: 1.5ms, workers: 0}}").alone.samples_per_second.value() == doctest::Approx(100 / 0.260));
  // One worker alone is as fast as itself, but for the first batch, which the loader has not prepared.
  CHECK(figure(alone(compute + step + "}"), "scaling_efficiency") == doctest::Approx(1));
}
