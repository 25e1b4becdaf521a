// Topology `hosts`: another name of `star`. In every topology the Placement decides which ranks share a host and its NIC (`per_host`,
// `servers.host`) and talk to each other over its bus (`network.intra`).
#include "sim/base/registry.hpp"
#include "sim/cluster/star.hpp"

namespace straggler::cluster::topology_hosts {
namespace {

const Register<TopologyEntry> entry({"hosts", "another name of star", {}, [](const Parameters&, TopologyRequest request) {
                                       return make_star(request);
                                     }});

}  // namespace
}  // namespace straggler::cluster::topology_hosts
