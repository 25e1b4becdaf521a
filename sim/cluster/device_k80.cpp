// NVIDIA Tesla K80: one of the board's two GPUs, which clouds rent as a K80. A board has 8.73 TFLOPS (boost), 480 GB/s, 24 GB.
//
// Measured: training of Inception-v3 on synthetic ImageNet, one GPU of an EC2 p2.8xlarge, parameters on the GPU, TensorFlow, May 2017
// (tensorflow.org, docs/site/en/r1/guide/performance/benchmarks.md): 29.9 images/s at 32 a batch, 30.8 at 64.
// launch: t(32) = 1070.2 ms, t(64) = 2077.9 ms; the line through both meets batch size 0 at 62.5 ms (ResNet-50's rows give 63.4 ms).
// efficiency: (2077.9 - 62.5) ms / 64 = 31.49 ms for 34.279 GFLOP is 1.0886 TFLOP/s, 0.249 of the peak.
// 16 bits: Kepler has no faster units for them.
#include "sim/base/registry.hpp"
#include "sim/cluster/device_profile.hpp"

namespace straggler::cluster::device_k80 {
namespace {

const Register<DeviceProfile> entry({
    .name = "k80",
    .summary = "NVIDIA Tesla K80, one of its two GPUs (12 GB), fp32",
    .peak_flops = 4.365e12,
    .efficiency = 0.2494,
    .memory_bandwidth = 240e9,
    .launch = 62.5e-3,
    .memory = 12e9,
    .host_to_device = 16e9,
    .busy_watts = 150,
    .source = "peak, memory, its bandwidth (half a board each) and PCIe 3.0 x16 (16 GB/s each way, shared by both GPUs): NVIDIA Tesla K80 "
              "board specification BD-07317-001; launch and efficiency: Inception-v3 at 32 and 64 a batch on EC2 (TensorFlow benchmarks, "
              "May 2017); "
              "power: half of the 300 W of the board, same specification",
});

}  // namespace
}  // namespace straggler::cluster::device_k80
