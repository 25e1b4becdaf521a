// NVIDIA L40S (48 GB).
//
// efficiency: measured on an RTX 6000 Ada, which has the same chip (AD102 with 18,176 cores, at 2505 MHz where the L40S has 2520) and
//   peaks of 182.1 TFLOPS (TF32) and 364.2 (FP16), without sparsity: 647 images/s of ResNet-50 at 496 a batch, "fp32" (TF32 by
//   default), synthetic data (github.com/lambdal/deeplearning-benchmark, pytorch/pytorch-train-throughput-fp32.csv; batch size in
//   pytorch-train-bs-fp32.csv): beside the bytes of activations (gpu_memory_efficiency), convolutions reach 0.351 of the peak. Dense
//   layers: 136 sequences/s of BERT-base at 384 tokens and 96 a batch (the same), 0.638.
// 16 bits: 1146 images/s at 928 a batch and 255 sequences/s at 192 with AMP (the same, fp16): 0.233 and 0.506. With the kernels of
//   MLPerf's MXNet four L40S train 8736 images/s (github.com/mlcommons/training_results_v4.0, Dell/results/R760xax4L40S/resnet), 1.9
//   times as many.
// launch: no measurement at two batch sizes was found. It is 0 here, so small batches come out too fast.
#include "sim/base/registry.hpp"
#include "sim/cluster/device_profile.hpp"

namespace straggler::cluster::device_l40s {
namespace {

const Register<DeviceProfile> entry({
    .name = "l40s",
    .summary = "NVIDIA L40S 48 GB, fp32 by TF32 tensor cores; no launch overhead known",
    .peak_flops = 183e12,
    .efficiency = 0.3506,
    .dense_efficiency = 0.6381,
    .memory_bandwidth = 864e9,
    .memory_efficiency = gpu_memory_efficiency,
    .launch = 0,
    .memory = 48e9,
    .host_to_device = 32e9,
    .busy_watts = 350,
    .half_peak_flops = 362.05e12,
    .half_efficiency = 0.2327,
    .half_dense_efficiency = 0.5062,
    .bfloat16 = true,
    .source = "peaks (TF32, the default of frameworks for fp32 convolutions, and 16 bits, both without sparsity), memory, its "
              "bandwidth and PCIe 4.0 x16 (64 GB/s for both directions): NVIDIA L40S data sheet; efficiency: 647 images/s of "
              "ResNet-50 at 496 and 136 sequences/s of BERT-base at 96 on an RTX 6000 Ada, the same chip "
              "(lambdal/deeplearning-benchmark); 16 bits: 1146 at 928 and 255 at 192, as before; launch: not measured, 0; "
              "power: NVIDIA L40S data sheet",
    .error = "3 other steps: mean 36 %, largest 91 %",
});

}  // namespace
}  // namespace straggler::cluster::device_l40s
