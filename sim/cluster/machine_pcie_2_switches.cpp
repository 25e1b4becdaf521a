// GPUs under two PCIe 3.0 switches that meet at one root complex.
//
// switch: NCCL assumes that a peer's bytes take 6/5 of the bandwidth across an Intel root (INTEL_P2P_OVERHEAD), which leaves 10 of 12 GB/s.
//   DeepBench's rings of eight on such hosts of ten reach 8.7 GB/s (validation/claims/allreduce_1080ti_switches.yaml).
#include "sim/base/registry.hpp"
#include "sim/cluster/host_machine.hpp"

namespace straggler::cluster::machine_pcie_2_switches {
namespace {

const Register<HostMachine> entry({
    .name = "pcie_2_switches",
    .summary = "PCIe 3.0 x16, switches of 4 GPUs under one root",
    .bandwidth = 12e9,
    .latency = 5e-6,
    .pcie_switch = {4, 10e9, 0},
    .source = "PCI_BW, and INTEL_P2P_OVERHEAD (6/5) across the root, of src/graph/topo.h, NVIDIA/nccl; latency: a guess",
});

}  // namespace
}  // namespace straggler::cluster::machine_pcie_2_switches
