// GPUs on PCIe 4.0, two and two joined by an NVLink bridge.
//
// nvlink: four links of 12 GB/s as NCCL reckons on Ampere without NVSwitch (SM86_NVLINK_BW).
#include "sim/base/registry.hpp"
#include "sim/cluster/host_machine.hpp"

namespace straggler::cluster::machine_pcie_nvlink_pairs {
namespace {

const Register<HostMachine> entry({
    .name = "pcie_nvlink_pairs",
    .summary = "PCIe 4.0 x16, pairs with an NVLink bridge",
    .bandwidth = 24e9,
    .latency = 5e-6,
    .nvlink = {2, 48e9, 2e-6},
    .source = "PCIe 4.0 is twice PCI_BW; 4 NVLinks of 12 GB/s (SM86_NVLINK_BW); src/graph/topo.h, NVIDIA/nccl; latencies: a guess",
});

}  // namespace
}  // namespace straggler::cluster::machine_pcie_nvlink_pairs
