// Messages as packets: a network of them, and hosts around a switch.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/network/packet_sizes.hpp"
#include "tests/network/world.hpp"

namespace packets_test {

using namespace straggler;

inline constexpr double packet = 1000, acknowledgement = 10, rate = 1e6;
inline constexpr double packet_seconds = packet / rate;

inline void network_of(World& world, double window_packets, std::uint64_t at_first) {
  world.network.set_packets({packet, window_packets * packet, acknowledgement, at_first});
}

/// A message's packets wait wherever its window lets them.
struct Packets : World {
  explicit Packets(double window_packets) { network_of(*this, window_packets, std::numeric_limits<std::uint64_t>::max()); }
};

inline constexpr double no_window = 1e9;  // packets: more than any message here has

/// A host's card in a star.
struct Host {
  explicit Host(World& world) : up(world.network.add_link(rate)), down(world.network.add_link(rate)) {}
  LinkId up, down;
};
struct Star {
  Star(World& its_world, int number) : world(its_world) {
    for (int i = 0; i < number; ++i) hosts.emplace_back(its_world);
  }
  FlowId send(std::size_t from, std::size_t to, double bytes, Note& note, Time latency = no_latency) {
    const LinkId there[] = {hosts[from].up, hosts[to].down}, back[] = {hosts[to].up, hosts[from].down};
    return world.network.start({.route = there, .bytes = bytes, .back = back, .one_way = latency}, note);
  }
  World& world;
  std::vector<Host> hosts;
};

}  // namespace packets_test
