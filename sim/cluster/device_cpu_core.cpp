// One core of a server processor, with all cores of the socket at work: Intel Xeon Gold 6148 (Skylake, 20 cores).
//
// peak: 2 units x 16 lanes x 2 FLOP x 1.6 GHz, the base frequency under AVX-512, is 102.4 GFLOP/s.
// efficiency: ResNet-18 on CIFAR-10 takes 209.25 s an epoch of 50,000 samples on 16 CPUs of a Slurm node, 128 a batch, PyTorch (github.com/
//   adityamwagh/hpml-hw, hw2): 50,000 x 3.3325 GFLOP / 209.25 s / 16 is 49.77 GFLOP/s a core, 0.486 of the peak. The report does not name
//   the processor; the share is of this one's peak.
// launch: no measurement at two batch sizes was found, and there is no device to launch on; it is 0.
// 16 bits: Skylake has no units for them.
#include "sim/base/registry.hpp"
#include "sim/cluster/device_profile.hpp"

namespace straggler::cluster::device_cpu_core {
namespace {

const Register<DeviceProfile> entry({
    .name = "cpu_core",
    .summary = "one core of an Intel Xeon Gold 6148 (AVX-512) among 20 busy ones, fp32",
    .peak_flops = 102.4e9,
    .efficiency = 0.486,
    .memory_bandwidth = 6.4e9,
    .launch = 0,
    .memory = 38.4e9,
    .host_to_device = 0,
    .busy_watts = 7.5,
    .source = "peak: Intel Xeon Scalable specification update (AVX-512 base frequency, two FMA units); memory bandwidth (6 channels of "
              "DDR4-2666, 128 GB/s) and memory (at most 768 GB) of a socket, a twentieth each: Intel ARK, Xeon Gold 6148; efficiency: "
              "epochs of ResNet-18 on CIFAR-10 on 16 cores of an unnamed Xeon (adityamwagh/hpml-hw, hw2); launch: not measured, 0; "
              "power: a twentieth of the 150 W of the socket, Intel ARK",
    .error = "not known: no other step",
});

}  // namespace
}  // namespace straggler::cluster::device_cpu_core
