// Eight GPUs, two under each PCIe 3.0 switch, two switches on each of two processors.
//
// socket: NCCL assumes 10 GB/s between two Skylake processors (SKL_QPI_BW), and that a peer's bytes take 6/5 of it.
#include "sim/base/registry.hpp"
#include "sim/cluster/host_machine.hpp"

namespace straggler::cluster::machine_pcie_2_sockets {
namespace {

const Register<HostMachine> entry({
    .name = "pcie_2_sockets",
    .summary = "PCIe 3.0 x16, switches of 2 GPUs, 4 on a processor",
    .bandwidth = 12e9,
    .latency = 5e-6,
    .pcie_switch = {2, 10e9, 0},
    .socket = {4, 8.33e9, 0},
    .source = "PCI_BW, SKL_QPI_BW (10 GB/s) and INTEL_P2P_OVERHEAD (6/5) of src/graph/topo.h, NVIDIA/nccl; latency: a guess",
});

}  // namespace
}  // namespace straggler::cluster::machine_pcie_2_sockets
