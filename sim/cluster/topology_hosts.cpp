// Topology `hosts`: a star of hosts, for clusters where several workers share a host and its NIC (`per_host`, `servers.host`) and talk to
// each other over its bus (`network.intra`). The Placement decides which rank is on which host. If no ranks share a host, this is a star.
#include "sim/base/registry.hpp"
#include "sim/cluster/star.hpp"

namespace straggler::cluster::topology_hosts {
namespace {

const Register<TopologyEntry> entry({"hosts",
                                     "one switch without a limit; the workers of a host share its link (see per_host and intra)",
                                     {},
                                     [](const Parameters&, TopologyRequest request) { return make_star(request); }});

}  // namespace
}  // namespace straggler::cluster::topology_hosts
