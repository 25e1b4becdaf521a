// NVIDIA L4.
//
// Measured: epochs of ResNet-18 on CIFAR-10 (50,000 samples) on one L4, PyTorch 2.8, synchronized, means of three runs (github.com/
// CatalinMoldova/Parallel-Deep-Learning-and-GPU-Benchmarking): 20.054 s at 32 a batch (1563 batches), 17.705 s at 128 (391).
//  launch: (20.054 - 17.705) s / (1563 - 391) = 2.0 ms per batch, of which the weights' bytes take 0.45 ms.
// efficiency: (17.705 s - 391 x 2.0 ms) / 50,000 = 0.3385 ms for 3.3325 GFLOP beside the bytes of activations (gpu_memory_efficiency) is
//   0.368 of the peak. Dense layers were not measured; they are to convolutions as on an RTX 6000 Ada, of the same architecture
//   (device_l40s.cpp). At 512 a batch the same card is slower than this says (19.73 s, not 17.12 s).
// 16 bits: no training was measured. The shares of the peak fall from TF32 to FP16 as on an RTX 6000 Ada.
#include "sim/base/registry.hpp"
#include "sim/cluster/device_profile.hpp"

namespace straggler::cluster::device_l4 {
namespace {

const Register<DeviceProfile> entry({
    .name = "l4",
    .summary = "NVIDIA L4 24 GB, fp32 by TF32 tensor cores",
    .peak_flops = 60e12,
    .efficiency = 0.3679,
    .dense_efficiency = 0.6695,
    .memory_bandwidth = 300e9,
    .memory_efficiency = gpu_memory_efficiency,
    .launch = 1.56e-3,
    .memory = 24e9,
    .host_to_device = 32e9,
    .busy_watts = 72,
    .half_peak_flops = 121e12,
    .half_efficiency = 0.2442,
    .half_dense_efficiency = 0.5311,
    .bfloat16 = true,
    .source = "peak (TF32, 120 TFLOPS with sparsity, half without: PyTorch's default for convolutions), memory, its bandwidth and "
              "PCIe 4.0 x16 (64 GB/s for both directions): NVIDIA L4 data sheet; launch and efficiency: epochs of ResNet-18 on "
              "CIFAR-10 at 32 and 128 a batch (CatalinMoldova/Parallel-Deep-Learning-and-GPU-Benchmarking), dense layers as on an RTX "
              "6000 Ada; 16 bits: not measured: "
              "peak from the data sheet (242 TFLOPS with sparsity, half without), efficiency as it changes on an RTX 6000 Ada; "
              "power: NVIDIA L4 data sheet",
    .error = "1 other step: mean 13 %, largest 13 %",
});

}  // namespace
}  // namespace straggler::cluster::device_l4
