// From a message to a flow, by the sharing model and the measured protocol.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/base/parameters.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/engine/time.hpp"
#include "sim/network/network.hpp"

namespace straggler {

/// How a message travels: `before`, then its flow, then `after`. Spans are valid until the next call to Transport::plan.
struct Carriage {
  Time before, after;
  double bytes = 0;  // on the wire
  double weight = 1, most_bytes_per_second = std::numeric_limits<double>::infinity();
  std::span<const LinkId> links;
  std::span<const double> volumes = {};                    // empty: 1 everywhere
  std::span<const LinkId> back = {};                       // way of acknowledgements, where messages are packets
  Time one_way = {};                                       // latency of either way, for them
  std::uint64_t connection = FlowRequest::own_connection;  // of the two ranks, for them

  /// The flow alone, or with all latency in front.
  FlowRequest flow(Time latency) const {
    return {links, volumes, bytes, latency, weight, most_bytes_per_second, back, one_way, connection};
  }
  FlowRequest with_latency() const { return flow(before + after); }
  bool plain() const {
    return volumes.empty() && back.empty() && weight == 1 && most_bytes_per_second == std::numeric_limits<double>::infinity();
  }
};

/// A route with the facts that sharing models need.
struct Path {
  std::span<const LinkId> links, reverse;    // reverse: of each link of `links`, in that order
  std::span<const double> bytes_per_second;  // of each link of `links`
  double latency = 0;                        // seconds, their sum
};

/// One model of how flows share links; one file each. Immutable.
class SharingModel {
 public:
  virtual ~SharingModel() = default;
  /// Prepares the network, before its first flow: capacities, contention.
  virtual void prepare(const Fabric& fabric, Network& network) const = 0;
  /// Fills everything of `out`; `links` and `volumes` are scratch that `out` may refer to.
  virtual void shape(const Path& path, double bytes, std::vector<LinkId>& links, std::vector<double>& volumes, Carriage& out) const = 0;
  /// True: shape() is bytes first, latency after, on exactly the route's links: Transport need not call it.
  virtual bool plain() const { return false; }
  /// False: each flow has its links for itself.
  virtual bool contention() const { return true; }
  /// True: it models single messages; a flow cannot stand for a whole collective.
  virtual bool by_message() const { return false; }
};

struct SharingEntry {
  std::string name, summary, reference;
  DeclaredParameters parameters;
  std::function<std::unique_ptr<SharingModel>(const Parameters&)> make;
};

/// For messages of up to `up_to` bytes: latency and bandwidth times these factors.
struct ProtocolSegment {
  double up_to = 0, latency_factor = 1, bandwidth_factor = 1;
};

class Transport {
 public:
  /// `segments` ascend; beyond the last one its factors still apply. `connection_bytes_per_second`: the rate cap of one message between two
  /// hosts, above 0. All referred-to objects outlive it. Prepares the network.
  Transport(const Fabric& fabric, Network& network, const SharingModel& sharing, std::vector<ProtocolSegment> segments,
            double connection_bytes_per_second = std::numeric_limits<double>::infinity());
  const Fabric& fabric() const { return fabric_; }
  /// True: every message is its bytes over exactly its route, with the route's latency.
  bool plain() const { return plain_ && segments_.empty() && connection_ == std::numeric_limits<double>::infinity(); }
  bool contention() const { return sharing_.contention(); }
  /// How `bytes` go from one rank to another.
  void plan(Rank from, Rank to, double bytes, Carriage& out);
  /// The same where messages are plain.
  const Route& route(Rank from, Rank to) {
    if (direct_)
      direct_->route(static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to), route_);
    else
      fabric_.route(from, to, route_);
    return route_;
  }

 private:
  /// Of a message from one rank to another.
  double most(Rank from, Rank to) const;

  const Fabric& fabric_;
  const Topology* direct_;  // null: routes are the fabric's
  const SharingModel& sharing_;
  std::vector<ProtocolSegment> segments_;
  bool plain_;
  double connection_;
  Route route_;
  std::vector<LinkId> reverse_, links_;
  std::vector<double> rates_, volumes_;
};

}  // namespace straggler
