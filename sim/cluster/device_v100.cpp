// NVIDIA Tesla V100 (PCIe, 32 GB).
//
// launch: NVIDIA's FP32 inference of ResNet-50 on a V100 takes 32 / 1127 s for 32 images and 256 / 1261 s for 256 (github.com/NVIDIA/
//   DeepLearningExamples, PyTorch/Classification/ConvNets/resnet50v1.5/README.md, container 21.03): a line through both meets batch
//   size 0 at 3.45 ms. Training launches about three times as much: 10.3 ms. No training measurement separates it.
// efficiency: 253.1 images/s of ResNet-50 at 64 a batch, fp32, synthetic data, PyTorch 1.4 on one V100-PCIE-32GB (github.com/HKBU-HPML/
//   ddl-benchmarks, results/2020-05-29): (64 / 253.1 s - 10.3 ms) / 64 = 3.790 ms for 24.535 GFLOP is 6.474 TFLOP/s, 0.462 of the peak.
#include "sim/base/registry.hpp"
#include "sim/cluster/device_profile.hpp"

namespace straggler {
namespace {

const Register<DeviceProfile> entry({
    .name = "v100",
    .summary = "NVIDIA Tesla V100 PCIe 32 GB, fp32",
    .peak_flops = 14e12,
    .efficiency = 0.4624,
    .memory_bandwidth = 900e9,
    .launch = 10.3e-3,
    .memory = 32e9,
    .host_to_device = 16e9,
    .source = "peak, memory, its bandwidth and PCIe 3.0 x16 (32 GB/s for both directions): NVIDIA Tesla V100 data sheet; launch: NVIDIA's "
              "ResNet-50 inference throughput at two batch sizes, times 3; efficiency: 253.1 images/s of ResNet-50 at 64 (HKBU-HPML/"
              "ddl-benchmarks, 2020-05-29)",
});

}  // namespace
}  // namespace straggler
