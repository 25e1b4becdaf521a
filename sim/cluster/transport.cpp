#include "sim/cluster/transport.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace straggler {
namespace {

void check(const std::vector<ProtocolSegment>& segments) {
  double last = 0;
  for (const ProtocolSegment& segment : segments) {
    if (!(segment.up_to > last)) {
      throw std::invalid_argument("protocol.segments: a segment up to " + std::to_string(segment.up_to) + " bytes comes after one up to " +
                                  std::to_string(last) + "; give them in ascending order");
    }
    last = segment.up_to;
    if (!(segment.latency_factor >= 0) || !std::isfinite(segment.latency_factor)) {
      throw std::invalid_argument("protocol.segments: a latency factor of " + std::to_string(segment.latency_factor) +
                                  "; give a finite number, 0 or more");
    }
    if (!(segment.bandwidth_factor > 0) || !std::isfinite(segment.bandwidth_factor)) {
      throw std::invalid_argument("protocol.segments: a bandwidth factor of " + std::to_string(segment.bandwidth_factor) +
                                  "; give a finite number above 0");
    }
  }
}

/// The last one also applies to larger messages; without segments, one that changes nothing.
ProtocolSegment segment_for(const std::vector<ProtocolSegment>& segments, double bytes) {
  if (segments.empty()) return {};
  for (const ProtocolSegment& segment : segments) {
    if (bytes <= segment.up_to) return segment;
  }
  return segments.back();
}

}  // namespace

Transport::Transport(const Fabric& fabric, Network& network, const SharingModel& sharing, std::vector<ProtocolSegment> segments,
                     double connection_bytes_per_second)
    : fabric_(fabric),
      direct_(fabric.direct()),
      sharing_(sharing),
      segments_(std::move(segments)),
      plain_(sharing.plain()),
      connection_(connection_bytes_per_second) {
  check(segments_);
  if (!(connection_ > 0)) throw std::invalid_argument("protocol.connection: " + std::to_string(connection_) + " B/s; it must be above 0");
  sharing.prepare(fabric, network);
}

void Transport::plan(Rank from, Rank to, double bytes, Carriage& out) {
  fabric_.route(from, to, route_);
  Time latency = route_.latency;
  if (!segments_.empty()) {
    const ProtocolSegment segment = segment_for(segments_, bytes);
    latency = Time::from_seconds(latency.seconds() * segment.latency_factor);
    bytes /= segment.bandwidth_factor;
  }
  if (plain_) {
    out = {.before = {}, .after = latency, .bytes = bytes, .links = route_.links, .volumes = {}};
    out.most_bytes_per_second = most(from, to);
    return;
  }
  reverse_.clear();
  rates_.clear();
  for (const LinkId link : route_.links) {
    reverse_.push_back(fabric_.reverse(link));
    rates_.push_back(fabric_.bytes_per_second(link));
  }
  sharing_.shape({route_.links, reverse_, rates_, latency.seconds()}, bytes, links_, volumes_, out);
  out.most_bytes_per_second = std::min(out.most_bytes_per_second, most(from, to));
  out.connection = std::uint64_t{index_of(from)} << 32 | index_of(to);
}

double Transport::most(Rank from, Rank to) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return connection_ == infinity || fabric_.host(from) == fabric_.host(to) ? infinity : connection_;
}

}  // namespace straggler
