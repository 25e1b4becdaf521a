// How messages become packets.
#pragma once
#include <cstdint>
#include <limits>

#include "sim/engine/time.hpp"

namespace straggler {

/// Sizes in bytes.
struct PacketSizes {
  double packet = 0;           // of each packet of a message, above 0; the last one has the rest
  double window = 0;           // of a connection, under way without an acknowledgement; at least one packet
  double acknowledgement = 0;  // of each packet
  std::uint64_t at_first = std::numeric_limits<std::uint64_t>::max();  // packets of a connection in the queue of its first link, at least 1
  /// Window of a new connection, which each acknowledgement lets grow by what it acknowledges. After an idle time of `idle` and a round
  /// trip a connection's window is halved, and again after each further one, but not below this. Infinite: it is `window` at once.
  double initial = std::numeric_limits<double>::infinity();
  Time idle = {};
  /// Of each link's queue, the packet that is leaving included, at least 1; an empty one takes any packet. Infinite, and the next one too:
  /// nothing is lost.
  double buffer = std::numeric_limits<double>::infinity();
  /// Of a host's own queue, the first one of a message or an acknowledgement: what finds no room there is not sent.
  double own_buffer = std::numeric_limits<double>::infinity();
  std::uint32_t connections = 1;  // that share the bytes of a message, in equal parts of at least a packet; at most 128
};

}  // namespace straggler
