// Topologies: end points (hosts), switches, directed links and routes.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/parameters.hpp"
#include "sim/engine/time.hpp"
#include "sim/network/network.hpp"

namespace straggler {

/// A host's network card: an up-link and a down-link (full duplex), each with this latency.
struct Nic {
  double up_bytes_per_second = 0, down_bytes_per_second = 0;
  Time latency;
  bool operator==(const Nic&) const = default;
};

/// What decides between routes besides latency, hops and names. Kinds whose routes follow from these alone state it for their files.
struct RouteRule {
  std::optional<std::int64_t> cost;   // counts instead of the latency; a link without one costs nothing where others have one
  std::optional<std::int64_t> order;  // of equal routes the one with the lowest, then name:up before name:down, then those without
  std::int64_t spread = 0;            // s > 0: of n equal routes the one to end point d is number ⌊d / s⌋ mod n
  bool operator==(const RouteRule&) const = default;
};

struct LinkDescription {
  std::string name, from, to;  // nodes: end points and switches
  double bytes_per_second = 0;
  Time latency;
  RouteRule rule = {};
};

struct Route {
  std::vector<LinkId> links;  // each once
  Time latency;               // the sum over its links
};

/// The properties of a topology that `straggler check` prints.
struct TopologyFacts {
  std::size_t switches = 0, cables = 0;
  std::size_t diameter_hops = 0;  // links of the longest route between two end points
  Time diameter_latency;          // of the slowest one
  /// Least bandwidth, in bytes per second and one direction, between two halves of the end points.
  double bisection_bytes_per_second = 0;
  bool bisection_is_bound = false;  // an upper bound only
};

/// Built once, then constant. Memory does not grow with pairs of end points.
/// Invariant: links 2c and 2c + 1 are the two directions of cable c, so the reverse of link l is l ^ 1.
class Topology {
 public:
  virtual ~Topology() = default;
  virtual std::size_t endpoints() const = 0;
  /// Every directed link, by LinkId: the network's links, and the rows of links.csv. May be computed on the fly.
  virtual std::size_t links() const = 0;
  virtual LinkDescription link(LinkId id) const = 0;
  /// link(id).bytes_per_second, without its names.
  virtual double bytes_per_second(LinkId id) const = 0;
  /// The end point's name, as in link().from.
  virtual std::string name(std::uint32_t endpoint) const = 0;
  /// Routes between others may lead over the end point.
  virtual bool forwards(std::uint32_t /*endpoint*/) const { return false; }
  /// The rack of the end point: the hosts attached to one switch. Racks of ascending end points ascend. 0: there are none.
  virtual std::size_t rack(std::uint32_t /*endpoint*/) const { return 0; }
  virtual bool has_racks() const { return false; }
  /// Both directions of every cable that ends at the end point: of most kinds its NIC, 2 e (up) and 2 e + 1 (down).
  virtual std::vector<LinkId> own_links(std::uint32_t endpoint) const = 0;
  /// Shortest by latency, then hops, then name; where the topology spreads over equal paths (`multipath`), the choice among these
  /// depends on (from, to) only. Deterministic. `out` is overwritten (kept to reuse its memory). from != to.
  virtual void route(std::uint32_t from, std::uint32_t to, Route& out) const = 0;
  virtual TopologyFacts facts() const = 0;
};

struct TopologyRequest {
  std::vector<Nic> nics;                         // [end points], bandwidths positive
  std::function<std::string(std::size_t)> name;  // of an end point; unique
  // Between switches, unless parameters say otherwise: the network's `link`.
  double bytes_per_second = 0;
  Time latency;
  std::vector<std::uint32_t> card = {};  // [end points] which of its host's cards; empty: every host has one
};

struct TopologyEntry {
  std::string name, summary;
  DeclaredParameters parameters;
  /// Throws std::invalid_argument ("what is wrong; what would be right") on requests that cannot be built, such as a number of end points
  /// that does not fit, or a file with the wrong content.
  std::function<std::unique_ptr<Topology>(const Parameters&, TopologyRequest)> make;
};

}  // namespace straggler
