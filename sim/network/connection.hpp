// One connection's window and what waits for it.
#pragma once
#include <cstdint>
#include <memory>

#include "sim/engine/ring.hpp"
#include "sim/engine/time.hpp"

namespace straggler::packets {

class Recovery;

/// Messages of one connection leave one after another, as the bytes of a TCP connection do.
struct Connection {
  Connection();
  ~Connection();
  double window = 0;      // bytes; 0: new
  double round_trip = 0;  // ticks, smoothed
  Time last_sent = {};
  double unacknowledged = 0, most_unacknowledged = 0;  // bytes, without those known to be lost; most: since there were none
  std::uint64_t at_first = 0, present = 0;             // packets in the queue of the first link; under way, acknowledgements included
  Ring<std::uint32_t> waiting = {};                    // messages with bytes to send, in order; the first one is sending
  std::unique_ptr<Recovery> recovery = {};             // none: nothing is ever lost
  std::uint32_t clock = ~0u;                           // place of its timer, with a recovery
};

}  // namespace straggler::packets
