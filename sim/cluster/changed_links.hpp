// A network with changed links, for what-if runs on any topology and sharing model.
#pragma once
#include <memory>

#include "sim/cluster/topology.hpp"
#include "sim/cluster/transport.hpp"

namespace straggler {

struct LinkChange {
  double bandwidth_factor = 1;  // of every link; infinity: unlimited
  bool no_latency = false;      // of every link; routes stay the same
  bool any() const { return bandwidth_factor != 1 || no_latency; }
  /// The changed bandwidth, in bytes per second, of a link with `given`: finite and positive.
  double bandwidth(double given) const;
  Time latency(Time given) const { return no_latency ? Time() : given; }
};

/// Bytes per second at which any message passes within a tick.
inline constexpr double unlimited_bytes_per_second = 1e30;

/// The same topology with other links: same names, routes and numbers.
TopologyEntry with_changed_links(const TopologyEntry& entry, const LinkChange& change);

/// The same model without contention: each flow has its links for itself.
std::unique_ptr<SharingModel> without_contention(std::unique_ptr<SharingModel> model);

}  // namespace straggler
