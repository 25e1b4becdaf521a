// NVIDIA H100 (SXM5, 80 GB).
//
// efficiency: 1895 images/s of ResNet-50 at 640 a batch, "fp32" (TF32 by default), synthetic data, on one H100 80GB SXM5, the median of
//   20 machines (github.com/lambdal/deeplearning-benchmark, pytorch/pytorch-train-throughput-v2-fp32.csv; batch size in pytorch/scripts/
//   config_v2/config_pytorch_80GB.sh): beside the launch and the bytes of activations (gpu_memory_efficiency), convolutions reach 0.219
//   of the peak. Dense layers: 432 sequences/s of BERT-base at 384 tokens and 172 a batch (the same), 0.485.
// 16 bits: 2790 images/s at 1280 a batch and 844 sequences/s at 320 with AMP, same benchmark and machines
//   (pytorch-train-throughput-v2-fp16.csv): 0.119 and 0.456.
// launch, issue: steps of seven networks (1 to 171 operations) in batches of 8 to 32, where the host binds: the line through them by least
//   squares of log ratios, in TF32, and in 16 bits over FP16 and BF16 (validation/measured/h100_step_times.csv; PyTorch 2.11, eager, on a
//   virtual Xeon). It misses single networks by up to 50 %.
#include "sim/base/registry.hpp"
#include "sim/cluster/device_profile.hpp"

namespace straggler::cluster::device_h100 {
namespace {

const Register<DeviceProfile> entry({
    .name = "h100",
    .summary = "NVIDIA H100 SXM5 80 GB, fp32 by TF32 tensor cores",
    .peak_flops = 494.7e12,
    .efficiency = 0.2188,
    .dense_efficiency = 0.4846,
    .memory_bandwidth = 3350e9,
    .memory_efficiency = gpu_memory_efficiency,
    .launch = 0.72e-3,
    .issue = 81e-6,
    .memory = 80e9,
    .host_to_device = 64e9,
    .busy_watts = 700,
    .half_peak_flops = 989.4e12,
    .half_efficiency = 0.1193,
    .half_dense_efficiency = 0.4563,
    .half_launch = 0.82e-3,
    .half_issue = 112e-6,
    .bfloat16 = true,
    .source = "peak (TF32 without sparsity: the default of frameworks for fp32 convolutions): NVIDIA H100 architecture white paper; "
              "memory, its bandwidth and PCIe 5.0 x16 (128 GB/s for both directions): NVIDIA H100 data sheet; efficiency: 1895 "
              "images/s of ResNet-50 at 640 and 432 sequences/s of BERT-base at 172 (lambdal/deeplearning-benchmark); 16 bits: peak "
              "without sparsity from the white paper, 2790 images/s at 1280 and 844 sequences/s at 320 in the same benchmark; launch and "
              "issue: own measurements of seven networks at small batches "
              "(validation/measured/h100_step_times.csv); "
              "power: NVIDIA H100 data sheet",
    .error = "2 other steps: mean 5 %, largest 10 %",
});

}  // namespace
}  // namespace straggler::cluster::device_h100
