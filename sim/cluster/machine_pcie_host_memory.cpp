// GPUs on PCIe whose messages go through the host's memory, as where peers cannot reach each other (virtual machines, consumer cards).
//
// bandwidth: as on the hosts of the V100 cluster (validation/claims/v100_allreduce.yaml).
// while_computing: DistributedDataParallel on four L4 (decision 53).
#include "sim/base/registry.hpp"
#include "sim/cluster/host_machine.hpp"

namespace straggler::cluster::machine_pcie_host_memory {
namespace {

const Register<HostMachine> entry({
    .name = "pcie_host_memory",
    .summary = "PCIe, messages through the host's memory, slower beside computation",
    .bandwidth = 6.4e9,
    .latency = 5e-6,
    .while_computing = 0.25,
    .source = "bandwidth: hosts of 4 V100 (docs/validation.md); while_computing: DDP on 4 L4 (decision 53); latency: a guess",
});

}  // namespace
}  // namespace straggler::cluster::machine_pcie_host_memory
