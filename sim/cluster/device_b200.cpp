// NVIDIA B200 (180 GB), one of the eight of an HGX or DGX B200.
//
// efficiency: 855 sequences/s of BERT-base at 384 tokens and 384 a batch, "fp32" (TF32 by default), on one B200
//   (github.com/lambdal/deeplearning-benchmark, pytorch/pytorch-train-throughput-v2-fp32.csv; batch size in
//   pytorch/scripts/config_v2/config_pytorch_192GB.sh): 855 x 212.0 GFLOP is 181.3 TFLOP/s, 0.161 of the peak.
// 16 bits: 1405 sequences/s at 768 a batch with AMP (the same, fp16): 297.9 TFLOP/s, 0.132 of the peak.
// The arithmetic of this device does not bind ResNet-50, on which the others are calibrated: it reaches 2967 images/s in TF32 and 3076 in
// 16 bits, where the figures above would give 7390 and 12140.
// launch: no measurement at two batch sizes was found. It is 0 here, so small batches come out too fast.
#include "sim/base/registry.hpp"
#include "sim/cluster/device_profile.hpp"

namespace straggler::cluster::device_b200 {
namespace {

const Register<DeviceProfile> entry({
    .name = "b200",
    .summary = "NVIDIA B200 180 GB, fp32 by TF32 tensor cores; calibrated on BERT-base; no launch overhead known",
    .peak_flops = 1125e12,
    .efficiency = 0.1611,
    .memory_bandwidth = 8000e9,
    .launch = 0,
    .memory = 180e9,
    .host_to_device = 64e9,
    .busy_watts = 1000,
    .half_peak_flops = 2250e12,
    .half_efficiency = 0.1324,
    .bfloat16 = true,
    .source = "peaks (18 PFLOPS of TF32 and 36 of 16 bits with sparsity, for eight: half of an eighth): NVIDIA HGX B200 data sheet; "
              "memory and its bandwidth (1,440 GB and 64 TB/s for eight), and its hosts' PCIe 5.0 x16 (128 GB/s for both directions): "
              "NVIDIA DGX B200 data sheet; efficiency: 855 sequences/s of BERT-base at 384 (lambdal/deeplearning-benchmark); 16 bits: "
              "1405 sequences/s at 768 in the same benchmark; launch: not measured, 0; "
              "power: NVIDIA Blackwell data sheet (HGX B200)",
});

}  // namespace
}  // namespace straggler::cluster::device_b200
