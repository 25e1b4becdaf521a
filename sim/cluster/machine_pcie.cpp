// GPUs under one PCIe 3.0 switch.
#include "sim/base/registry.hpp"
#include "sim/cluster/host_machine.hpp"

namespace straggler::cluster::machine_pcie {
namespace {

const Register<HostMachine> entry({
    .name = "pcie",
    .summary = "PCIe 3.0 x16, one switch for all",
    .bandwidth = 12e9,
    .latency = 5e-6,
    .source = "PCI_BW of src/graph/topo.h, NVIDIA/nccl; latency: a guess",
});

}  // namespace
}  // namespace straggler::cluster::machine_pcie
