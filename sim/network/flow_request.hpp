// What users of the network name, ask for and get: links, messages, and the use of links.
#pragma once
#include <cstdint>
#include <limits>
#include <span>

#include "sim/engine/time.hpp"

namespace straggler {

using LinkId = std::uint32_t;
/// Names a flow permanently: no later flow has the same name. Never 0.
using FlowId = std::uint64_t;

/// Notified when the last byte of a message has arrived. Called from the network, once; it may start and cancel flows.
class Arrival {
 public:
  virtual void arrived() = 0;

 protected:
  ~Arrival() = default;
};

struct LinkUse {
  double bytes = 0;           // carried so far, including unfinished flows, each times the flow's volume
  Time busy;                  // time with at least one flow on it
  double capacity_bytes = 0;  // bytes possible while busy; with a bucket, plus those it held beforehand or regained when not
};

/// The state of a link's queue of packets. It includes the packet that is leaving.
struct QueueUse {
  double longest_bytes = 0;
  double byte_seconds = 0;                       // integral of its bytes over time
  std::uint64_t lost_packets = 0, timeouts = 0;  // packets that found it full; of connections whose first link it is
};

/// The network's view of a message or a whole collective. Plain ones (volume 1, no most) are served fastest by far.
struct FlowRequest {
  std::span<const LinkId> route;         // no link twice
  std::span<const double> volumes = {};  // [route] bytes on that link for each byte of the flow, above 0; empty: 1 on every link
  double bytes = 0;
  Time latency = {};                                                       // passes first
  double weight = 1;                                                       // for its share
  double most_bytes_per_second = std::numeric_limits<double>::infinity();  // rate cap
  // Where messages are packets: the way of their acknowledgements, no link twice, and the latency of either way, after the last link.
  // Without a route they pass no queue. Messages of one connection leave one after another; by default each has a connection of its own.
  std::span<const LinkId> back = {};
  Time one_way = {};
  std::uint64_t connection = own_connection;
  static constexpr std::uint64_t own_connection = ~std::uint64_t{0};
};

}  // namespace straggler
