// NVIDIA L40S (48 GB).
//
// efficiency: measured on an RTX 6000 Ada, which has the same chip (AD102 with 18,176 cores, at 2505 MHz where the L40S has 2520) and
//   peaks of 182.1 TFLOPS (TF32) and 364.2 (FP16), without sparsity: 647 images/s of ResNet-50 at 496 a batch, "fp32" (TF32 by
//   default), synthetic data (github.com/lambdal/deeplearning-benchmark, pytorch/pytorch-train-throughput-fp32.csv; batch size in
//   pytorch-train-bs-fp32.csv): 647 x 24.535 GFLOP is 15.87 TFLOP/s, 0.087 of the peak.
// 16 bits: 1146 images/s at 928 a batch with AMP (the same, fp16): 28.12 TFLOP/s, 0.077 of the peak. With the kernels of MLPerf's MXNet
//   four L40S train 8736 images/s (github.com/mlcommons/training_results_v4.0, Dell/results/R760xax4L40S/resnet): a share 1.9 times as
//   large.
// launch: no measurement at two batch sizes was found. It is 0 here, so small batches come out too fast.
#include "sim/base/registry.hpp"
#include "sim/cluster/device_profile.hpp"

namespace straggler::cluster::device_l40s {
namespace {

const Register<DeviceProfile> entry({
    .name = "l40s",
    .summary = "NVIDIA L40S 48 GB, fp32 by TF32 tensor cores; no launch overhead known",
    .peak_flops = 183e12,
    .efficiency = 0.0872,
    .memory_bandwidth = 864e9,
    .launch = 0,
    .memory = 48e9,
    .host_to_device = 32e9,
    .busy_watts = 350,
    .half_peak_flops = 362.05e12,
    .half_efficiency = 0.0772,
    .bfloat16 = true,
    .source = "peaks (TF32, the default of frameworks for fp32 convolutions, and 16 bits, both without sparsity), memory, its "
              "bandwidth and PCIe 4.0 x16 (64 GB/s for both directions): NVIDIA L40S data sheet; efficiency: 647 images/s of "
              "ResNet-50 at 496 on an RTX 6000 Ada, the same chip (lambdal/deeplearning-benchmark); 16 bits: 1146 images/s at 928, as "
              "before; launch: not measured, 0; "
              "power: NVIDIA L40S data sheet",
});

}  // namespace
}  // namespace straggler::cluster::device_l40s
