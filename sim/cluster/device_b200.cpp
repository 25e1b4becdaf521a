// NVIDIA B200 (180 GB), one of the eight of an HGX or DGX B200.
//
// efficiency: 2967 images/s of ResNet-50 at 1664 a batch, "fp32" (TF32 by default), on one B200 (github.com/lambdal/
//   deeplearning-benchmark, pytorch/pytorch-train-throughput-v2-fp32.csv; batch size in pytorch/scripts/config_v2/
//   config_pytorch_192GB.sh): beside the bytes of activations (gpu_memory_efficiency), convolutions reach 0.103 of the peak. Dense
//   layers: 855 sequences/s of BERT-base at 384 tokens and 384 a batch (the same), 0.329.
// 16 bits: 3076 images/s at 3328 a batch and 1405 sequences/s at 768 with AMP (the same, fp16): 0.042 and 0.228. Something else than
//   arithmetic and memory may bind ResNet-50 here, which hardly gains from 16 bits.
// launch: no measurement at two batch sizes was found. It is 0 here, so small batches come out too fast.
#include "sim/base/registry.hpp"
#include "sim/cluster/device_profile.hpp"

namespace straggler::cluster::device_b200 {
namespace {

const Register<DeviceProfile> entry({
    .name = "b200",
    .summary = "NVIDIA B200 180 GB, fp32 by TF32 tensor cores; no launch overhead known",
    .peak_flops = 1125e12,
    .efficiency = 0.1031,
    .dense_efficiency = 0.3290,
    .memory_bandwidth = 8000e9,
    .memory_efficiency = gpu_memory_efficiency,
    .launch = 0,
    .memory = 180e9,
    .host_to_device = 64e9,
    .busy_watts = 1000,
    .half_peak_flops = 2250e12,
    .half_efficiency = 0.0416,
    .half_dense_efficiency = 0.2279,
    .bfloat16 = true,
    .source = "peaks (18 PFLOPS of TF32 and 36 of 16 bits with sparsity, for eight: half of an eighth): NVIDIA HGX B200 data sheet; "
              "memory and its bandwidth (1,440 GB and 64 TB/s for eight), and its hosts' PCIe 5.0 x16 (128 GB/s for both directions): "
              "NVIDIA DGX B200 data sheet; efficiency: 2967 images/s of ResNet-50 at 1664 and 855 sequences/s of BERT-base at 384 "
              "(lambdal/deeplearning-benchmark); 16 bits: 3076 at 3328 and 1405 at 768 in the same benchmark; launch: not measured, 0; "
              "power: NVIDIA Blackwell data sheet (HGX B200)",
    .error = "2 other steps: mean 9 %, largest 17 %",
});

}  // namespace
}  // namespace straggler::cluster::device_b200
