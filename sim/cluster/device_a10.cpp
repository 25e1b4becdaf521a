// NVIDIA A10 (24 GB).
//
// efficiency: 349 images/s of ResNet-50 at 224 a batch, "fp32" (TF32 by default), synthetic data, on one A10 of Lambda's cloud
//   (github.com/lambdal/deeplearning-benchmark, pytorch/pytorch-train-throughput-fp32.csv; batch size in pytorch-train-bs-fp32.csv):
//   349 x 24.535 GFLOP is 8.563 TFLOP/s, 0.137 of the peak.
// 16 bits: 638 images/s at 448 a batch with AMP (the same, fp16): 15.65 TFLOP/s, 0.125 of the peak.
// launch: no measurement at two batch sizes was found. It is 0 here, so small batches come out too fast.
#include "sim/base/registry.hpp"
#include "sim/cluster/device_profile.hpp"

namespace straggler::cluster::device_a10 {
namespace {

const Register<DeviceProfile> entry({
    .name = "a10",
    .summary = "NVIDIA A10 24 GB, fp32 by TF32 tensor cores; no launch overhead known",
    .peak_flops = 62.5e12,
    .efficiency = 0.1370,
    .memory_bandwidth = 600e9,
    .launch = 0,
    .memory = 24e9,
    .host_to_device = 32e9,
    .busy_watts = 150,
    .half_peak_flops = 125e12,
    .half_efficiency = 0.1252,
    .bfloat16 = true,
    .source = "peaks (TF32, the default of frameworks for fp32 convolutions, and 16 bits, both without sparsity), memory, its "
              "bandwidth and PCIe 4.0 x16 (64 GB/s for both directions): NVIDIA A10 data sheet; efficiency: 349 images/s of ResNet-50 "
              "at 224 (lambdal/deeplearning-benchmark); 16 bits: 638 images/s at 448 in the same benchmark; launch: not measured, 0; "
              "power: NVIDIA A10 data sheet",
});

}  // namespace
}  // namespace straggler::cluster::device_a10
