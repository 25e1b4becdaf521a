// NVIDIA Tesla V100 (PCIe, 32 GB).
//
// launch: NVIDIA's FP32 inference of ResNet-50 on a V100 takes 32 / 1127 s for 32 images and 256 / 1261 s for 256 (github.com/NVIDIA/
//   DeepLearningExamples, PyTorch/Classification/ConvNets/resnet50v1.5/README.md, container 21.03): a line through both meets batch
//   size 0 at 3.45 ms. Training launches about three times as much: 10.3 ms. No training measurement separates it.
// efficiency: 253.1 images/s of ResNet-50 at 64 a batch, fp32, synthetic data, PyTorch 1.4 on one V100-PCIE-32GB (github.com/HKBU-HPML/
//   ddl-benchmarks, results/2020-05-29): (64 / 253.1 s - 10.3 ms) / 64 = 3.790 ms for 24.535 GFLOP beside the bytes of activations
//   (gpu_memory_efficiency) is 0.657 of the peak. Dense layers: 212.8 sequences/s of BERT-base at 64 tokens and 64 a batch (the same),
//   0.599.
// 16 bits, launch: with AMP the same two batches take 32 / 2146 s and 256 / 3382 s: 6.23 ms, times 3 is 18.7 ms. AMP's casts are
//   launches, too.
// 16 bits, efficiency: ResNet-50 trains at 833 images/s at 256 a batch, BERT-base (384 tokens) at 189 sequences/s at 48, with AMP, on one
//   V100-SXM2 of 125 TFLOPS (github.com/lambdal/deeplearning-benchmark): 0.309 and 0.664, taken for this board's 112 TFLOPS. NVIDIA's own
//   ResNet-50 reaches 1156 images/s. Volta has no units for bfloat16.
#include "sim/base/registry.hpp"
#include "sim/cluster/device_profile.hpp"

namespace straggler::cluster::device_v100 {
namespace {

const Register<DeviceProfile> entry({
    .name = "v100",
    .summary = "NVIDIA Tesla V100 PCIe 32 GB, fp32",
    .peak_flops = 14e12,
    .efficiency = 0.6567,
    .dense_efficiency = 0.5986,
    .memory_bandwidth = 900e9,
    .memory_efficiency = gpu_memory_efficiency,
    .launch = 10.3e-3,
    .memory = 32e9,
    .host_to_device = 16e9,
    .busy_watts = 250,
    .half_peak_flops = 112e12,
    .half_efficiency = 0.3093,
    .half_dense_efficiency = 0.6642,
    .half_launch = 18.7e-3,
    .source = "peak, memory, its bandwidth and PCIe 3.0 x16 (32 GB/s for both directions): NVIDIA Tesla V100 data sheet; launch: "
              "NVIDIA's ResNet-50 inference throughput at two batch sizes, times 3; efficiency: 253.1 images/s of ResNet-50 and "
              "212.8 sequences/s of BERT-base at 64 (HKBU-HPML/ddl-benchmarks, 2020-05-29); 16 bits: peak from the data sheet, launch as "
              "in fp32, shares of the peak at 833 images/s of ResNet-50 and 189 sequences/s of BERT-base on the SXM2 board "
              "(lambdal/deeplearning-benchmark); "
              "power: NVIDIA Tesla V100 data sheet",
    .error = "5 other steps: mean 20 %, largest 40 %",
});

}  // namespace
}  // namespace straggler::cluster::device_v100
