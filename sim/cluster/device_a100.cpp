// NVIDIA A100 (SXM4, 80 GB).
//
// efficiency: 1066 images/s of ResNet-50 at 640 a batch, "fp32" (TF32 by default), synthetic data, on one A100 80GB SXM4 (github.com/
//   lambdal/deeplearning-benchmark, pytorch/pytorch-train-throughput-fp32.csv; batch size in pytorch-train-bs-fp32.csv):
//   beside the bytes of activations (gpu_memory_efficiency), convolutions reach 0.353 of the peak. Dense layers: 239 sequences/s of
//   BERT-base at 384 tokens and 172 a batch (the same), 0.738.
// 16 bits: 1582 images/s at 1280 a batch and 443 sequences/s at 320 with AMP, same benchmark (pytorch-train-throughput-fp16.csv): 0.204
//   and 0.625. NVIDIA's own ResNet-50 reaches 2470 images/s.
// launch: no measurement at two batch sizes was found. It is 0 here, so small batches come out too fast.
#include "sim/base/registry.hpp"
#include "sim/cluster/device_profile.hpp"

namespace straggler::cluster::device_a100 {
namespace {

const Register<DeviceProfile> entry({
    .name = "a100",
    .summary = "NVIDIA A100 SXM4 80 GB, fp32 by TF32 tensor cores; no launch overhead known",
    .peak_flops = 156e12,
    .efficiency = 0.3532,
    .dense_efficiency = 0.7383,
    .memory_bandwidth = 2039e9,
    .memory_efficiency = gpu_memory_efficiency,
    .launch = 0,
    .memory = 80e9,
    .host_to_device = 32e9,
    .busy_watts = 400,
    .half_peak_flops = 312e12,
    .half_efficiency = 0.2038,
    .half_dense_efficiency = 0.6254,
    .bfloat16 = true,
    .source = "peak (TF32 without sparsity: the default of frameworks for fp32 convolutions), memory, its bandwidth and PCIe 4.0 x16 "
              "(64 GB/s for both directions): NVIDIA A100 data sheet; efficiency: 1066 images/s of ResNet-50 at 640 "
              "and 239 sequences/s of BERT-base at 172 "
              "(lambdal/deeplearning-benchmark); 16 bits: peak without sparsity from the data sheet, 1582 images/s at 1280 and "
              "443 sequences/s at 320 in the same benchmark; launch: not measured, 0; "
              "power: NVIDIA A100 data sheet",
    .error = "4 other steps: mean 20 %, largest 56 %",
});

}  // namespace
}  // namespace straggler::cluster::device_a100
