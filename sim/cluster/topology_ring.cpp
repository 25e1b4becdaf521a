// Topology `ring`: a switch for every end point, each with a cable to the next; routes take the shorter way round, ties go up. Two switches
// have one cable. A torus of one dimension.
#include "sim/base/registry.hpp"
#include "sim/cluster/torus.hpp"

namespace straggler::cluster::topology_ring {
namespace {

const Register<TopologyEntry> entry({"ring", "a switch for every end point, each with a cable to the next", with_core({}),
                                     [](const Parameters& parameters, TopologyRequest request) {
                                       return make_torus(request, {request.nics.size()}, core_of(parameters, request));
                                     }});

}  // namespace
}  // namespace straggler::cluster::topology_ring
