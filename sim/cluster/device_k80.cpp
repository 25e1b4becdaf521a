// NVIDIA Tesla K80: one of the board's two GPUs, which clouds rent as a K80. A board has 8.73 TFLOPS (boost), 480 GB/s, 24 GB.
//
// Measured: training of Inception-v3 on synthetic ImageNet, one GPU of an EC2 p2.8xlarge, parameters on the GPU, TensorFlow, May 2017
// (tensorflow.org, docs/site/en/r1/guide/performance/benchmarks.md): 29.9 images/s at 32 a batch, 30.8 at 64.
// efficiency: beside the bytes of activations (gpu_memory_efficiency), convolutions reach 0.282 of the peak at 64, and 0.370 in
//   ResNet-50 (51.5 images/s at 64): the geometric mean. No dense layers were measured; they are to convolutions as on a V100.
// launch: not measured, 0. The line through 32 and 64 images meets 0 at 62 ms, but small networks do not take so long: at 32 images the
//   device is less full.
// 16 bits: Kepler has no faster units for them.
#include "sim/base/registry.hpp"
#include "sim/cluster/device_profile.hpp"

namespace straggler::cluster::device_k80 {
namespace {

const Register<DeviceProfile> entry({
    .name = "k80",
    .summary = "NVIDIA Tesla K80, one of its two GPUs (12 GB), fp32; no launch overhead known",
    .peak_flops = 4.365e12,
    .efficiency = 0.3226,
    .dense_efficiency = 0.2941,
    .memory_bandwidth = 240e9,
    .memory_efficiency = gpu_memory_efficiency,
    .launch = 0,
    .memory = 12e9,
    .host_to_device = 16e9,
    .busy_watts = 150,
    .source =
        "peak, memory, its bandwidth (half a board each) and PCIe 3.0 x16 (16 GB/s each way, shared by both GPUs): NVIDIA Tesla K80 "
        "board specification BD-07317-001; efficiency: Inception-v3 and ResNet-50 at 64 a batch on EC2 (TensorFlow benchmarks, May 2017), "
        "dense layers as on a V100; launch: not measured, 0; "
        "power: half of the 300 W of the board, same specification",
    .error = "3 other steps: mean 57 %, largest 151 %",
});

}  // namespace
}  // namespace straggler::cluster::device_k80
