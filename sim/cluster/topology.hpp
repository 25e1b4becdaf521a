// Who is connected how: nodes, directed links and routes.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/parameters.hpp"
#include "sim/engine/time.hpp"
#include "sim/network/network.hpp"

namespace straggler {

/// A network card: one direction each way (full duplex), both with this bandwidth and latency.
struct Nic {
  double bytes_per_second = 0;
  Time latency;
};

struct LinkDescription {
  std::string name, from, to;
  double bytes_per_second = 0;
  Time latency;
};

struct Route {
  std::vector<LinkId> links;
  Time latency;  // the sum over its links
};

/// End points are numbered as ranks: workers 0 .. p-1, then servers. Built once, then constant.
class Topology {
 public:
  virtual ~Topology() = default;
  virtual std::size_t endpoints() const = 0;
  /// Every directed link, by LinkId: what the network is built from, and the rows of links.csv. May be computed on the fly.
  virtual std::size_t links() const = 0;
  virtual LinkDescription link(LinkId id) const = 0;
  /// Shortest by latency, then hops, then name; deterministic. `out` is overwritten (kept to reuse its memory). from != to.
  virtual void route(std::uint32_t from, std::uint32_t to, Route& out) const = 0;
};

struct TopologyEntry {
  std::string name, summary;
  std::vector<Parameter> parameters;
  /// `nics`: one an end point, `workers` of them workers, the rest servers.
  /// Throws std::invalid_argument if a NIC has no bandwidth or a negative latency.
  std::function<std::unique_ptr<Topology>(const Parameters&, std::vector<Nic> nics, std::size_t workers)> make;
};

/// Adds every link of `topology` to an empty network, so that both number them alike. Throws std::logic_error if it was not empty.
void build_links(const Topology& topology, Network& network);

}  // namespace straggler
