// DGX A100: eight GPUs, twelve NVLinks each into NVSwitches.
#include "sim/base/registry.hpp"
#include "sim/cluster/host_machine.hpp"

namespace straggler::cluster::machine_dgx_a100 {
namespace {

const Register<HostMachine> entry({
    .name = "dgx_a100",
    .summary = "8 A100, NVSwitch",
    .bandwidth = 240e9,
    .latency = 2e-6,
    .source = "12 NVLinks of 20 GB/s (SM80_NVLINK_BW of src/graph/topo.h, NVIDIA/nccl); latency: a guess",
});

}  // namespace
}  // namespace straggler::cluster::machine_dgx_a100
