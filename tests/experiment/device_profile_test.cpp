// Built-in devices: each predicts the measurements that it was calibrated on, and comes near others that it was not.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "models/zoo/cost_model.hpp"
#include "sim/base/registry.hpp"
#include "sim/cluster/compute.hpp"
#include "sim/cluster/device_profile.hpp"

namespace straggler {
namespace {

std::optional<double> given_share(double share) { return share > 0 ? std::optional(share) : std::nullopt; }

/// Seconds of an epoch of `samples` in mini-batches of `batch`, the last one smaller; one batch is the epoch of its own samples. `half`: in
/// 16 bits.
double predict(const DeviceProfile& device, const char* model, Parameters given, std::int64_t batch, std::int64_t samples, double devices,
               bool half) {
  const TrainingCost cost = training_cost(cost_table(Registry<ModelEntry>::instance().at(model), std::move(given)));
  const double width = half ? 0.5 : 1;
  const auto time = roofline_time({.launch = half ? device.half_launch.value_or(device.launch) : device.launch,
                                   .flops_per_sample = cost.flops_per_sample,
                                   .peak = (half ? device.half_peak_flops : device.peak_flops) * devices,
                                   .efficiency = half ? device.half_efficiency : device.efficiency,
                                   .fixed_bytes = width * cost.fixed_bytes,
                                   .bytes_per_sample = width * cost.bytes_per_sample,
                                   .memory_bandwidth = device.memory_bandwidth * devices,
                                   .dense_flops_per_sample = cost.dense_flops_per_sample,
                                   .dense_efficiency = given_share(half ? device.half_dense_efficiency : device.dense_efficiency),
                                   .memory_efficiency = given_share(device.memory_efficiency)});
  const auto seconds = [&](std::int64_t size) {
    const ComputeTime::Split split = time->at(size);
    return split.overhead + static_cast<double>(size) * split.per_sample;
  };
  const auto batches = samples / batch;
  const double whole = static_cast<double>(batches) * seconds(batch);
  return samples % batch == 0 ? whole : whole + seconds(samples % batch);
}

struct Measurement {
  const char *device, *model;
  std::int64_t sequence, batch, samples;  // sequence 0: no text
  double seconds;
  bool calibrated;
  const char* source;
  double devices = 1;
  bool half = false;  // measured with AMP
};

/// Of one batch from a throughput in samples per second.
Measurement throughput(const char* device, const char* model, std::int64_t sequence, std::int64_t batch, double per_second, bool calibrated,
                       const char* source) {
  return {device, model, sequence, batch, batch, static_cast<double>(batch) / per_second, calibrated, source};
}

Measurement in_16_bits(Measurement measured, double devices = 1) {
  measured.half = true;
  measured.devices = devices;
  return measured;
}

std::vector<Measurement> measurements() {
  const char *hkbu = "HKBU-HPML/ddl-benchmarks 2020-05-29", *karan = "karanvora2599/ECE-GY-9143", *catalin = "CatalinMoldova L4, mean of 3";
  const char *tensorflow = "TensorFlow benchmarks 2017, EC2", *lambda = "lambdal/deeplearning-benchmark", *aditya = "adityamwagh/hpml-hw";
  const char *nvidia = "NVIDIA/DeepLearningExamples", *mlperf = "MLPerf 4.0, Dell, 4 x L40S", *ada = "lambdal, RTX 6000 Ada";
  const double sxm2 = 125.0 / 112;  // boards of 125 TFLOPS
  const std::int64_t cifar = 50'000;
  // The epochs to 85 % of ResNet-50 on CIFAR-10 include an evaluation of 10,000 images, a forward pass alone: as 10,000 / 3 samples more.
  const std::int64_t evaluated = cifar + 10'000 / 3;
  return {
      throughput("v100", "resnet50_imagenet", 0, 64, 253.1, true, hkbu),
      throughput("v100", "bert_base", 64, 64, 212.8, true, hkbu),
      throughput("v100", "bert_large", 64, 8, 49, false, hkbu),
      {"v100", "resnet18", 0, 128, cifar, 19.989, false, karan},
      {"v100", "resnet50", 0, 128, evaluated, 1162.1 / 19, false, aditya},
      {"rtx8000", "resnet18", 0, 128, cifar, (19.643030 + 19.648566 + 19.648884 + 19.664996) / 4, true, karan},
      {"rtx8000", "resnet50", 0, 128, evaluated, 1578.25 / 19, false, aditya},
      throughput("rtx8000", "resnet50_imagenet", 0, 496, 274, false, lambda),
      {"l4", "resnet18", 0, 32, cifar, (19.82 + 20.19777 + 20.14522) / 3, true, catalin},
      {"l4", "resnet18", 0, 128, cifar, (17.75 + 17.73724 + 17.62789) / 3, true, catalin},
      {"l4", "resnet18", 0, 512, cifar, (19.76 + 19.77685 + 19.66075) / 3, false, catalin},
      throughput("k80", "inception_v3", 0, 32, 29.9, false, tensorflow),
      throughput("k80", "inception_v3", 0, 64, 30.8, true, tensorflow),
      throughput("k80", "resnet50_imagenet", 0, 32, 49.0, false, tensorflow),
      throughput("k80", "resnet50_imagenet", 0, 64, 51.5, true, tensorflow),
      throughput("k80", "vgg16", 0, 32, 36.3, false, tensorflow),
      throughput("a100", "resnet50_imagenet", 0, 640, 1066, true, lambda),
      throughput("a100", "resnet50_imagenet", 0, 256, 938, false, "NVIDIA/DeepLearningExamples"),
      throughput("a100", "bert_base", 384, 172, 239, true, lambda),
      throughput("a100", "bert_large", 384, 64, 75, false, lambda),
      throughput("h100", "resnet50_imagenet", 0, 640, 1895, true, lambda),
      throughput("h100", "bert_base", 384, 172, 432, true, lambda),
      throughput("h100", "bert_large", 384, 64, 145, false, lambda),
      {"cpu_core", "resnet18", 0, 128, cifar, 209.24727779850363, true, aditya, 16},
      throughput("a10", "resnet50_imagenet", 0, 224, 349, true, lambda),
      throughput("a10", "bert_base", 384, 48, 70, true, lambda),
      throughput("a10", "bert_large", 384, 12, 19, false, lambda),
      throughput("l40s", "resnet50_imagenet", 0, 496, 647, true, ada),
      throughput("l40s", "bert_base", 384, 96, 136, true, ada),
      throughput("l40s", "bert_large", 384, 32, 44, false, ada),
      throughput("b200", "bert_base", 384, 384, 855, true, lambda),
      throughput("b200", "bert_large", 384, 128, 281, false, lambda),
      throughput("b200", "resnet50_imagenet", 0, 1664, 2967, true, lambda),
      throughput("t4", "resnet50_imagenet", 0, 64, 428.0 / 3, true, "NVIDIA/DeepLearningExamples, inference"),
      in_16_bits(throughput("v100", "resnet50_imagenet", 0, 256, 1156, false, nvidia), sxm2),
      in_16_bits(throughput("v100", "resnet50_imagenet", 0, 256, 833, true, lambda), sxm2),
      in_16_bits(throughput("v100", "bert_base", 384, 48, 189, true, lambda), sxm2),
      in_16_bits(throughput("v100", "bert_large", 384, 16, 57, false, lambda), sxm2),
      in_16_bits(throughput("rtx8000", "resnet50_imagenet", 0, 928, 651, true, lambda)),
      in_16_bits(throughput("rtx8000", "bert_base", 384, 192, 146, true, lambda)),
      in_16_bits(throughput("rtx8000", "bert_large", 384, 64, 50, false, lambda)),
      in_16_bits(throughput("t4", "resnet50_imagenet", 0, 256, 1198.0 / 3, true, "NVIDIA/DeepLearningExamples, inference")),
      in_16_bits(throughput("a10", "resnet50_imagenet", 0, 448, 638, true, lambda)),
      in_16_bits(throughput("a10", "bert_base", 384, 80, 135, true, lambda)),
      in_16_bits(throughput("a10", "bert_large", 384, 28, 42, false, lambda)),
      in_16_bits(throughput("l40s", "resnet50_imagenet", 0, 928, 1146, true, ada)),
      in_16_bits(throughput("l40s", "bert_base", 384, 192, 255, true, ada)),
      in_16_bits(throughput("l40s", "bert_large", 384, 64, 79, false, ada)),
      in_16_bits(throughput("l40s", "resnet50_imagenet", 0, 400, 8736.0 / 4, false, mlperf)),
      in_16_bits(throughput("a100", "resnet50_imagenet", 0, 1280, 1582, true, lambda)),
      in_16_bits(throughput("a100", "resnet50_imagenet", 0, 256, 2470, false, nvidia)),
      in_16_bits(throughput("a100", "bert_base", 384, 320, 443, true, lambda)),
      in_16_bits(throughput("a100", "bert_large", 384, 112, 152, false, lambda)),
      in_16_bits(throughput("h100", "resnet50_imagenet", 0, 1280, 2790, true, lambda)),
      in_16_bits(throughput("h100", "bert_base", 384, 320, 844, true, lambda)),
      in_16_bits(throughput("h100", "bert_large", 384, 112, 310, false, lambda)),
      in_16_bits(throughput("b200", "bert_base", 384, 768, 1405, true, lambda)),
      in_16_bits(throughput("b200", "bert_large", 384, 256, 523, false, lambda)),
      in_16_bits(throughput("b200", "resnet50_imagenet", 0, 3328, 3076, true, lambda)),
  };
}

/// How far a prediction may be off where nothing was calibrated. VGG-16 is 3x3 convolutions only, which cuDNN does in fewer operations than
/// are counted (Winograd). The kernels of NVIDIA's and MLPerf's entries are faster than those of frameworks as they come.
double worst_factor(const Measurement& each) {
  if (std::string(each.model) == "vgg16") return 3;
  const std::string source = each.source;
  if (each.half && (source.starts_with("NVIDIA") || source.starts_with("MLPerf"))) return 2;
  return 1.4;
}

/// How far off the predictions of a device are of which no figure was taken.
struct Errors {
  std::size_t rows = 0;
  double sum = 0, largest = 0;
  void add(double error) {
    ++rows;
    sum += std::abs(error);
    largest = std::max(largest, std::abs(error));
  }
  std::string text() const {
    if (rows == 0) return "not known: no other step";
    char said[80];
    std::snprintf(said, sizeof said, "%zu other %s: mean %.0f %%, largest %.0f %%", rows, rows == 1 ? "step" : "steps",
                  100 * sum / static_cast<double>(rows), 100 * largest);
    return said;
  }
};

TEST_CASE("each device predicts its calibration models to 1 %, and others to a small factor") {
  std::set<std::string> calibrated, calibrated_half;
  std::map<std::string, Errors> errors;
  std::printf("%-9s %-18s %5s %10s %10s %8s  %s\n", "device", "model", "batch", "measured s", "predicted", "error", "source");
  for (const Measurement& each : measurements()) {
    CAPTURE(each.device);
    CAPTURE(each.model);
    CAPTURE(each.batch);
    const DeviceProfile& device = Registry<DeviceProfile>::instance().at(each.device);
    const Parameters given = each.sequence > 0 ? Parameters{{"sequence", each.sequence}} : Parameters{};
    const double predicted = predict(device, each.model, given, each.batch, each.samples, each.devices, each.half);
    const double error = predicted / each.seconds - 1;
    std::printf("%-9s %-18s %5lld %10.4f %10.4f %+7.1f%%  %s%s%s\n", each.device, each.model, static_cast<long long>(each.batch),
                each.seconds, predicted, 100 * error, each.source, each.half ? ", 16 bits" : "", each.calibrated ? " (calibrated)" : "");
    if (each.calibrated) {
      CHECK(std::abs(error) < (std::string(each.device) == "k80" ? 0.15 : 0.01));  // the mean of its two models
      (each.half ? calibrated_half : calibrated).insert(each.device);
    } else {
      CHECK(std::abs(std::log(1 + error)) < std::log(worst_factor(each)));
      errors[each.device].add(error);
    }
  }
  for (const DeviceProfile& device : Registry<DeviceProfile>::instance().entries()) {
    CAPTURE(device.name);
    CHECK(calibrated.count(device.name) == 1);
    const bool measured = device.half_peak_flops > 0 && device.source.find("16 bits: not measured") == std::string::npos;
    CHECK(calibrated_half.count(device.name) == (measured ? 1 : 0));
    CHECK(device.error == errors[device.name].text());
  }
}

TEST_CASE("one efficiency for all layers would be off several times as far") {
  double kinds = 0, one = 0;
  std::map<std::pair<std::string, bool>, double> efficiency;  // of ResNet-50's FLOPs, or of those of the model beside it
  for (const bool calibrates : {true, false})
    for (const Measurement& each : measurements()) {
      const DeviceProfile& device = Registry<DeviceProfile>::instance().at(each.device);
      if (device.memory_efficiency == 0 || each.samples != each.batch) continue;
      DeviceProfile plain = device;
      plain.dense_efficiency = plain.half_dense_efficiency = plain.memory_efficiency = 0;
      const auto key = std::pair(device.name, each.half);
      const Parameters given = each.sequence > 0 ? Parameters{{"sequence", each.sequence}} : Parameters{};
      if (calibrates) {
        if (!each.calibrated || each.sequence > 0) continue;
        const TrainingCost cost = training_cost(cost_table(Registry<ModelEntry>::instance().at(each.model)));
        const double launch = each.half ? device.half_launch.value_or(device.launch) : device.launch;
        const double peak = (each.half ? device.half_peak_flops : device.peak_flops) * each.devices;
        efficiency[key] = static_cast<double>(each.batch) * cost.flops_per_sample / (each.seconds - launch) / peak;
      } else if (!each.calibrated && efficiency.contains(key)) {
        plain.efficiency = plain.half_efficiency = efficiency[key];
        const auto off = [&](const DeviceProfile& profile) {
          return std::abs(std::log(predict(profile, each.model, given, each.batch, each.samples, each.devices, each.half) / each.seconds));
        };
        kinds += off(device);
        one += off(plain);
      }
    }
  CHECK(kinds < one / 2);
}

TEST_CASE("profiles are complete and say where they are from") {
  CHECK(Registry<DeviceProfile>::instance().names() == "a10, a100, b200, cpu_core, h100, k80, l4, l40s, rtx8000, t4, v100");
  for (const DeviceProfile& device : Registry<DeviceProfile>::instance().entries()) {
    CAPTURE(device.name);
    CHECK(!device.summary.empty());
    CHECK(device.source.find("data sheet") + device.source.find("ARK") + device.source.find("specification") != 3 * std::string::npos);
    CHECK(device.source.find("efficiency: ") != std::string::npos);
    CHECK(device.parameters.empty());
    CHECK(device.efficiency > 0);
    CHECK(device.efficiency <= 1);
    CHECK(device.dense_efficiency <= 1);
    CHECK(device.half_dense_efficiency <= 1);
    CHECK((device.memory_efficiency == 0) == (device.dense_efficiency == 0));
    CHECK(device.peak_flops > 1e9);
    CHECK(device.memory_bandwidth > 1e9);
    CHECK(device.memory > 1e9);
    CHECK(device.launch >= 0);
    CHECK((device.host_to_device == 0 || device.host_to_device < device.memory_bandwidth));
    if (device.half_peak_flops > 0) {
      CHECK(device.half_peak_flops > device.peak_flops);
      CHECK(device.half_efficiency > 0);
      CHECK(device.half_efficiency <= 1);
      CHECK(device.half_dense_efficiency > 0);
      CHECK(device.source.find("16 bits: ") != std::string::npos);
    } else {
      CHECK_FALSE(device.bfloat16);
    }
    // A device that is said to have no launch overhead says that nobody measured it.
    if (device.launch == 0) CHECK(device.source.find("launch: not measured") != std::string::npos);
  }
}

}  // namespace
}  // namespace straggler
