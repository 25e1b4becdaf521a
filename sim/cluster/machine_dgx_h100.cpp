// DGX H100: eight GPUs, eighteen NVLinks each into NVSwitches.
#include "sim/base/registry.hpp"
#include "sim/cluster/host_machine.hpp"

namespace straggler::cluster::machine_dgx_h100 {
namespace {

const Register<HostMachine> entry({
    .name = "dgx_h100",
    .summary = "8 H100, NVSwitch",
    .bandwidth = 370.8e9,
    .latency = 2e-6,
    .source = "18 NVLinks of 20.6 GB/s (SM90_NVLINK_BW of src/graph/topo.h, NVIDIA/nccl); latency: a guess",
});

}  // namespace
}  // namespace straggler::cluster::machine_dgx_h100
