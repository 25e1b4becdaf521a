// NVIDIA T4 (16 GB).
//
// No measured training was found. NVIDIA's inference of ResNet-50 on a T4 is published (github.com/NVIDIA/DeepLearningExamples,
// PyTorch/Classification/ConvNets/resnet50v1.5/README.md, container 21.03); training is taken to last three times as long. On a V100 of
// the same README that is 13 % too short in FP32 and 6 % too long with AMP.
// efficiency: 428 images/s at 64 a batch: 3 / 428 s = 7.009 ms for 24.535 GFLOP beside the bytes of activations (gpu_memory_efficiency)
//   is 0.831 of the peak. Dense layers were not measured; they are to convolutions as on a V100.
// 16 bits: 1198 images/s at 256 a batch with AMP: 2.504 ms, 0.456 of the peak. Dense layers as on an RTX 8000, of the same architecture.
//   Turing has no units for bfloat16.
// launch: the published batch sizes lie on no line (an image takes longer at 256 than at 64). It is 0 here, so small batches come out
//   too fast.
#include "sim/base/registry.hpp"
#include "sim/cluster/device_profile.hpp"

namespace straggler::cluster::device_t4 {
namespace {

const Register<DeviceProfile> entry({
    .name = "t4",
    .summary = "NVIDIA T4 16 GB, fp32; from inference; no launch overhead known",
    .peak_flops = 8.1e12,
    .efficiency = 0.8310,
    .dense_efficiency = 0.7574,
    .memory_bandwidth = 300e9,
    .memory_efficiency = gpu_memory_efficiency,
    .launch = 0,
    .memory = 16e9,
    .host_to_device = 16e9,
    .busy_watts = 70,
    .half_peak_flops = 65e12,
    .half_efficiency = 0.4557,
    .half_dense_efficiency = 0.9438,
    .source = "peaks, memory, its bandwidth and PCIe 3.0 x16 (32 GB/s for both directions): NVIDIA T4 data sheet; efficiency: a third "
              "of the 428 images/s of ResNet-50 inference at 64 (NVIDIA/DeepLearningExamples), dense layers as on a V100; 16 bits: a "
              "third of 1198 images/s at 256, same source, dense layers as on an RTX 8000; launch: not measured, 0; "
              "power: NVIDIA T4 data sheet",
    .error = "not known: no other step",
});

}  // namespace
}  // namespace straggler::cluster::device_t4
