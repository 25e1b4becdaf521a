#include "sim/simulated/varying_links.hpp"

#include "sim/base/random.hpp"

namespace straggler {

VaryingLinks::VaryingLinks(World& world) : world_(world) {
  const Fabric& fabric = *world.cluster.fabric;
  std::vector<bool> seen(fabric.links());
  for (Rank rank = 0; index_of(rank) < fabric.ranks(); ++rank)
    for (const LinkId id : fabric.nic_links(rank)) {
      if (seen[id]) continue;
      seen[id] = true;
      links_.push_back({id, fabric.bytes_per_second(id),
                        RandomStream::stream_key(world.cluster.seed, "link/" + fabric.link(id).name + "/bandwidth"),
                        world.cluster.link_jitter.make(static_cast<Rank>(fabric.card(rank)))});
    }
}

void VaryingLinks::begin() {
  ++world_.bystanders.timers;
  draw(0);
  world_.simulation.spawn(run());
}

void VaryingLinks::draw(std::uint64_t span) {
  for (const Link& link : links_) world_.network.set_capacity(link.id, link.bytes_per_second / link.jitter->factor(link.stream, span));
}

Process VaryingLinks::run() {
  for (std::uint64_t span = 1;; ++span) {
    co_await world_.simulation.delay(world_.cluster.link_jitter.every);
    if (world_.only_bystanders()) break;
    draw(span);
  }
  --world_.bystanders.timers;
}

}  // namespace straggler
