// NVIDIA Quadro RTX 8000.
//
// Measured: ResNet-18 on CIFAR-10, fp32, one GPU, by a student's course reports (github.com/karanvora2599/ECE-GY-9143, Assignment 6
// OutputQ1.txt and Assignment 2 KaranC5.out).
// launch: second epochs of 50,000 samples take 43.42 s at 32 a batch (1563 batches) and 36.85 s at 128 (391); loading there is
//  serial and per sample, so (43.42 - 36.85) s / (1563 - 391) = 5.6 ms per batch. It includes the loading cost per batch.
// efficiency: the batches of epochs 1 to 4 take 19.651 s at 128: (19.651 s - 391 x 5.6 ms) / 50,000 = 0.3492 ms for 3.3325 GFLOP beside
//   the bytes of activations (gpu_memory_efficiency) is 0.775 of the peak. Dense layers are to convolutions as on a V100.
// 16 bits: 651 images/s of ResNet-50 at 928 a batch and 146 sequences/s of BERT-base at 384 tokens and 192 a batch with AMP
//   (github.com/lambdal/deeplearning-benchmark, pytorch/pytorch-train-throughput-fp16.csv): 0.240 and 0.498. Turing has no units for
//   bfloat16.
#include "sim/base/registry.hpp"
#include "sim/cluster/device_profile.hpp"

namespace straggler::cluster::device_rtx8000 {
namespace {

const Register<DeviceProfile> entry({
    .name = "rtx8000",
    .summary = "NVIDIA Quadro RTX 8000 48 GB, fp32",
    .peak_flops = 16.3e12,
    .efficiency = 0.7746,
    .dense_efficiency = 0.7059,
    .memory_bandwidth = 672e9,
    .memory_efficiency = gpu_memory_efficiency,
    .launch = 5.6e-3,
    .memory = 48e9,
    .host_to_device = 16e9,
    .busy_watts = 295,
    .half_peak_flops = 130.5e12,
    .half_efficiency = 0.2402,
    .half_dense_efficiency = 0.4975,
    .source = "peak, memory, its bandwidth and PCIe 3.0 x16 (16 GB/s each way): NVIDIA Quadro RTX 8000 data sheet; launch and "
              "efficiency: epochs of ResNet-18 on CIFAR-10 at 32 and 128 a batch (karanvora2599/ECE-GY-9143), dense layers as on a V100; "
              "16 bits: peak from the data sheet, 651 images/s of ResNet-50 at 928 and 146 sequences/s of BERT-base at 192 "
              "(lambdal/deeplearning-benchmark); "
              "power (of the board): NVIDIA Quadro RTX 8000 data sheet",
    .error = "3 other steps: mean 13 %, largest 28 %",
});

}  // namespace
}  // namespace straggler::cluster::device_rtx8000
