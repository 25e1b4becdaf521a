// NVIDIA A10 (24 GB).
//
// efficiency: 349 images/s of ResNet-50 at 224 a batch, "fp32" (TF32 by default), synthetic data, on one A10 of Lambda's cloud
//   (github.com/lambdal/deeplearning-benchmark, pytorch/pytorch-train-throughput-fp32.csv; batch size in pytorch-train-bs-fp32.csv):
//   beside the bytes of activations (gpu_memory_efficiency), convolutions reach 0.330 of the peak. Dense layers: 70 sequences/s of
//   BERT-base at 384 tokens and 48 a batch (the same), 0.539.
// 16 bits: 638 images/s at 448 a batch and 135 sequences/s at 80 with AMP (the same, fp16): 0.269 and 0.496.
// launch: no measurement at two batch sizes was found. It is 0 here, so small batches come out too fast.
#include "sim/base/registry.hpp"
#include "sim/cluster/device_profile.hpp"

namespace straggler::cluster::device_a10 {
namespace {

const Register<DeviceProfile> entry({
    .name = "a10",
    .summary = "NVIDIA A10 24 GB, fp32 by TF32 tensor cores; no launch overhead known",
    .peak_flops = 62.5e12,
    .efficiency = 0.3301,
    .dense_efficiency = 0.5393,
    .memory_bandwidth = 600e9,
    .memory_efficiency = gpu_memory_efficiency,
    .launch = 0,
    .memory = 24e9,
    .host_to_device = 32e9,
    .busy_watts = 150,
    .half_peak_flops = 125e12,
    .half_efficiency = 0.2689,
    .half_dense_efficiency = 0.4962,
    .bfloat16 = true,
    .source = "peaks (TF32, the default of frameworks for fp32 convolutions, and 16 bits, both without sparsity), memory, its "
              "bandwidth and PCIe 4.0 x16 (64 GB/s for both directions): NVIDIA A10 data sheet; efficiency: 349 images/s of ResNet-50 "
              "at 224 and 70 sequences/s of BERT-base at 48 (lambdal/deeplearning-benchmark); 16 bits: 638 at 448 and 135 at 80 in the "
              "same benchmark; launch: not measured, 0; "
              "power: NVIDIA A10 data sheet",
    .error = "2 other steps: mean 11 %, largest 17 %",
});

}  // namespace
}  // namespace straggler::cluster::device_a10
