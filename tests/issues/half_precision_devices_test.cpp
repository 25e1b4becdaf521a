// workload.precision chooses a roofline's figures for 16 bits, and `check` says where there are none.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>

#include "models/zoo/cost_model.hpp"
#include "scenarios/schema/writer.hpp"
#include "sim/base/registry.hpp"
#include "sim/cluster/device_profile.hpp"
#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

constexpr double batch = 64;

/// What `check` knows of four workers with that device, that train ResNet-18 in batches of 64.
Explanation explained(const std::string& device, const std::string& precision) {
  RunOptions options;
  options.timing_only = true;
  const std::vector<std::string> sets = {"devices={node: " + device + "}", "workload.cost={model: resnet18}",
                                         "training.batch={per_worker: 64}", "workload.precision=" + precision};
  return Experiment(read_scenario_text(cluster(4), "test.yaml", sets), options).explain();
}

double seconds(const std::string& device, const std::string& precision) { return explained(device, precision).groups.at(0).batch_seconds; }

CostTable table_of_resnet18() { return cost_table(Registry<ModelEntry>::instance().at("resnet18")); }
TrainingCost resnet18() { return training_cost(table_of_resnet18()); }

std::vector<std::string> precision_warnings(const std::string& device, const std::string& precision) {
  std::vector<std::string> found;
  for (const std::string& warning : explained(device, precision).warnings)
    if (warning.find("has no ") != std::string::npos) found.push_back(warning);
  return found;
}

}  // namespace

TEST_CASE("16 bits have a peak, an efficiency and a launch of their own, and half the bytes") {
  const TrainingCost cost = resnet18();
  const std::string fast_memory =
      "{compute: {roofline: {peak: 10TFLOPS, efficiency: 0.5, memory_bandwidth: 100000GB/s, launch: 3ms, "
      "fp16: {peak: 80TFLOPS, efficiency: 0.25, launch: 4ms}, bf16: {peak: 40TFLOPS}}}}";
  const double fp32 = 3e-3 + batch * cost.flops_per_sample / (10e12 * 0.5);
  const double fp16 = 4e-3 + batch * cost.flops_per_sample / (80e12 * 0.25);
  const double bf16 = 3e-3 + batch * cost.flops_per_sample / (40e12 * 0.5);  // efficiency and launch of the roofline
  CHECK(seconds(fast_memory, "fp32") == doctest::Approx(fp32).epsilon(1e-12));
  CHECK(seconds(fast_memory, "fp16") == doctest::Approx(fp16).epsilon(1e-12));
  CHECK(seconds(fast_memory, "mixed") == doctest::Approx(fp16).epsilon(1e-12));
  CHECK(seconds(fast_memory, "bf16") == doctest::Approx(bf16).epsilon(1e-12));
  const std::string slow_memory = "{compute: {roofline: {peak: 10TFLOPS, memory_bandwidth: 10GB/s, fp16: {peak: 80TFLOPS}}}}";
  const double bytes = cost.fixed_bytes + batch * cost.bytes_per_sample;
  CHECK(seconds(slow_memory, "fp32") == doctest::Approx(bytes / 10e9).epsilon(1e-12));
  CHECK(seconds(slow_memory, "mixed") == doctest::Approx(bytes / 2 / 10e9).epsilon(1e-12));
}

TEST_CASE("a roofline without figures for 16 bits takes as long as in fp32, and says so") {
  const std::string own = "{compute: {roofline: {peak: 10TFLOPS, memory_bandwidth: 900GB/s, launch: 3ms}}}";
  for (const char* precision : {"fp16", "bf16", "mixed"}) {
    CAPTURE(precision);
    CHECK(seconds(own, precision) == seconds(own, "fp32"));
    const std::vector<std::string> warnings = precision_warnings(own, precision);
    REQUIRE(warnings.size() == 1);
    const std::string format = precision == std::string("bf16") ? "bf16" : "fp16";
    CHECK(warnings[0].starts_with(fmt::format(
        "device node has no {0} figures, so its batches take as long as in fp32; give them as devices.node.compute.roofline.{0}: ",
        format)));
    CHECK(precision_warnings("{profile: k80}", precision).size() == 1);
  }
  CHECK(precision_warnings(own, "fp32").empty());
  // Measured times are the same in every precision.
  CHECK(precision_warnings("{compute: {affine: {per_sample: 1ms}}}", "mixed").empty());
  CHECK(precision_warnings("{profile: k80, compute: {table: {32: 13ms}}}", "mixed").empty());
}

TEST_CASE("built-in devices compute in 16 bits as their profiles say") {
  const TrainingCost cost = resnet18();
  const auto operations = static_cast<double>(table_of_resnet18().operations());
  std::size_t with_figures = 0;
  for (const DeviceProfile& device : Registry<DeviceProfile>::instance().entries()) {
    CAPTURE(device.name);
    const std::string own = "{profile: " + device.name + "}";
    const auto roofline = [&](double peak, double efficiency, double dense, double launch, double issue, double width) {
      if (device.memory_efficiency == 0)
        return launch +
               std::max({batch * cost.flops_per_sample / (peak * efficiency),
                         width * (cost.fixed_bytes + batch * cost.bytes_per_sample) / device.memory_bandwidth, issue * operations});
      const double arithmetic = (cost.flops_per_sample - cost.dense_flops_per_sample) / efficiency + cost.dense_flops_per_sample / dense;
      const double bytes = cost.fixed_bytes + batch * cost.bytes_per_sample / device.memory_efficiency;
      return launch + std::max(batch * arithmetic / peak + width * bytes / device.memory_bandwidth, issue * operations);
    };
    const double fp32 = roofline(device.peak_flops, device.efficiency, device.dense_efficiency, device.launch, device.issue, 1);
    CHECK(seconds(own, "fp32") == doctest::Approx(fp32).epsilon(1e-12));
    if (device.half_peak_flops <= 0) {
      CHECK(seconds(own, "mixed") == seconds(own, "fp32"));
      CHECK(precision_warnings(own, "mixed").size() == 1);
      continue;
    }
    ++with_figures;
    const double half = roofline(device.half_peak_flops, device.half_efficiency, device.half_dense_efficiency,
                                 device.half_launch.value_or(device.launch), device.half_issue.value_or(device.issue), 0.5);
    CHECK(seconds(own, "mixed") == doctest::Approx(half).epsilon(1e-12));
    // Where the host's issuing binds, autocast's casts cost more than 16 bits save. On a B200 something else than arithmetic binds the
    // convolutions of the benchmark in 16 bits (device_b200.cpp), so their rate is lower there.
    if (device.half_issue.value_or(device.issue) == 0 && device.name != "b200") CHECK(seconds(own, "mixed") < seconds(own, "fp32"));
    CHECK(precision_warnings(own, "mixed").empty());
    CHECK(seconds(own, "bf16") == (device.bfloat16 ? seconds(own, "mixed") : seconds(own, "fp32")));
    CHECK(precision_warnings(own, "bf16").size() == (device.bfloat16 ? 0 : 1));
  }
  CHECK(with_figures == 9);
}

TEST_CASE("single figures of a built-in device's 16 bits can be replaced") {
  const TrainingCost cost = resnet18();
  const DeviceProfile& v100 = Registry<DeviceProfile>::instance().at("v100");
  const double dense = cost.dense_flops_per_sample / v100.half_dense_efficiency;
  const double arithmetic = batch * ((cost.flops_per_sample - cost.dense_flops_per_sample) / 0.5 + dense) / 112e12;
  const double memory = (cost.fixed_bytes + batch * cost.bytes_per_sample / v100.memory_efficiency) / 2 / 900e9;
  CHECK(seconds("{profile: v100, compute: {roofline: {fp16: {efficiency: 0.5}}}}", "mixed") ==
        doctest::Approx(18.7e-3 + arithmetic + memory).epsilon(1e-12));
  try {
    explained("{profile: k80, compute: {roofline: {fp16: {efficiency: 0.5}}}}", "mixed");
    FAIL("accepted");
  } catch (const ScenarioErrors& refused) {
    REQUIRE(refused.lines().size() == 1);
    CHECK(refused.lines()[0].find("devices.node.compute.roofline.fp16.peak: is missing; write a compute rate") != std::string::npos);
  }
}

TEST_CASE("figures for 16 bits are written out and read back") {
  const std::string device =
      "devices={node: {compute: {roofline: {peak: 10TFLOPS, memory_bandwidth: 900GB/s, launch: 3ms, "
      "fp16: {peak: 80TFLOPS, efficiency: 0.25}, bf16: {peak: 40TFLOPS, launch: 1ms}}}}}";
  const Scenario scenario = read_scenario_text(cluster(2), "test.yaml", {device});
  const std::string text = write_scenario(scenario);
  CAPTURE(text);
  CHECK(text.find("fp16: {peak: 80TFLOPS, efficiency: 0.25, launch: 3ms}, bf16: {peak: 40TFLOPS, efficiency: 1, launch: 1ms}") !=
        std::string::npos);
  CHECK(read_scenario_text(text, "again.yaml", {}) == scenario);
}
