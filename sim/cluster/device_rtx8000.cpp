// NVIDIA Quadro RTX 8000.
//
// Measured: ResNet-18 on CIFAR-10, fp32, one GPU, by a student's course reports (github.com/karanvora2599/ECE-GY-9143, Assignment 6
// OutputQ1.txt and Assignment 2 KaranC5.out).
// launch: second epochs of 50,000 samples take 43.42 s at 32 a batch (1563 batches) and 36.85 s at 128 (391); loading there is
//   serial and per sample, so (43.42 - 36.85) s / (1563 - 391) = 5.6 ms a batch. It includes what loading costs a batch.
// efficiency: the batches of epochs 1 to 4 take 19.651 s at 128: (19.651 s - 391 x 5.6 ms) / 50,000 = 0.3492 ms for 3.3325 GFLOP is
//   9.543 TFLOP/s, 0.585 of the peak.
#include "sim/base/registry.hpp"
#include "sim/cluster/device_profile.hpp"

namespace straggler {
namespace {

const Register<DeviceProfile> entry({
    .name = "rtx8000",
    .summary = "NVIDIA Quadro RTX 8000 48 GB, fp32",
    .peak_flops = 16.3e12,
    .efficiency = 0.5855,
    .memory_bandwidth = 672e9,
    .launch = 5.6e-3,
    .memory = 48e9,
    .host_to_device = 16e9,
    .source = "peak, memory, its bandwidth and PCIe 3.0 x16 (16 GB/s each way): NVIDIA Quadro RTX 8000 data sheet; launch and efficiency: "
              "epochs of ResNet-18 on CIFAR-10 at 32 and 128 a batch (karanvora2599/ECE-GY-9143)",
});

}  // namespace
}  // namespace straggler
