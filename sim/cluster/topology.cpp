#include "sim/cluster/topology.hpp"

#include <stdexcept>

namespace straggler {

void build_links(const Topology& topology, Network& network) {
  for (std::size_t id = 0; id < topology.links(); ++id) {
    const LinkId added = network.add_link(topology.link(static_cast<LinkId>(id)).bytes_per_second);
    if (added != id)
      throw std::logic_error("the network numbers link " + std::to_string(id) + " of the topology " + std::to_string(added) +
                             "; start from an empty one");
  }
}

}  // namespace straggler
