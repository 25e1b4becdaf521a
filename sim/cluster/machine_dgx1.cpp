// DGX-1 with eight V100: a hybrid cube mesh of six NVLinks each.
//
// bandwidth: NCCL assumes 20 GB/s for an NVLink of Volta and finds rings over all six (SM70_NVLINK_BW): 120 GB/s a GPU. The mesh itself,
// where some pairs have two links and some none, is not modelled: NCCL's rings use all links alike.
#include "sim/base/registry.hpp"
#include "sim/cluster/host_machine.hpp"

namespace straggler::cluster::machine_dgx1 {
namespace {

const Register<HostMachine> entry({
    .name = "dgx1",
    .summary = "8 V100, NVLink mesh",
    .bandwidth = 120e9,
    .latency = 2e-6,
    .source = "6 NVLinks of 20 GB/s (SM70_NVLINK_BW of src/graph/topo.h, NVIDIA/nccl), used by rings over the mesh; latency: a guess",
});

}  // namespace
}  // namespace straggler::cluster::machine_dgx1
