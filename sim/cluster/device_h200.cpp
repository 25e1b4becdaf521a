// NVIDIA H200 (SXM5, 141 GB): the chip of the H100, with faster and larger memory.
// Nothing was measured on one before: efficiencies and the times of launching are the H100's.
#include "sim/base/registry.hpp"
#include "sim/cluster/device_profile.hpp"

namespace straggler::cluster::device_h200 {
namespace {

const Register<DeviceProfile> entry({
    .name = "h200",
    .summary = "NVIDIA H200 SXM5 141 GB, fp32 by TF32 tensor cores",
    .peak_flops = 494.7e12,
    .efficiency = 0.2188,
    .dense_efficiency = 0.4846,
    .memory_bandwidth = 4800e9,
    .memory_efficiency = gpu_memory_efficiency,
    .launch = 0.72e-3,
    .issue = 81e-6,
    .memory = 141e9,
    .host_to_device = 64e9,
    .busy_watts = 700,
    .half_peak_flops = 989.4e12,
    .half_efficiency = 0.1193,
    .half_dense_efficiency = 0.4563,
    .half_launch = 0.82e-3,
    .half_issue = 112e-6,
    .bfloat16 = true,
    .source =
        "peaks, memory, its bandwidth and PCIe 5.0 x16 (128 GB/s for both directions): NVIDIA H200 data sheet (half of what it states "
        "with sparsity); efficiencies, launch and issue: those of the h100, which is the same chip; power: NVIDIA H200 data sheet",
});

}  // namespace
}  // namespace straggler::cluster::device_h200
