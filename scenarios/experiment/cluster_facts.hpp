// Facts of the cluster section that several parts of a blueprint need.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "scenarios/schema/scenario.hpp"
#include "sim/cluster/transport.hpp"

namespace straggler {

/// Row of the group's population that worker `i` of the group is; null: all are equal.
inline const DeviceRow* row_of(const WorkerGroup& group, std::int64_t i) {
  return group.rows.empty() ? nullptr : &group.rows[static_cast<std::size_t>(i) % group.rows.size()];
}

/// Worker i of the group is like worker i modulo this number.
inline std::int64_t alike_after(const WorkerGroup& group) { return static_cast<std::int64_t>(std::max<std::size_t>(group.rows.size(), 1)); }

/// The factor by which worker `i` of the group is slower than its device.
inline double slowdown_of(const WorkerGroup& group, std::int64_t i) {
  const DeviceRow* const row = row_of(group, i);
  return group.slowdown * (row ? row->slowdown : 1);
}

/// Of the host of worker `i` of the group.
inline const LinkSpec& link_of(const ClusterSpec& cluster, const WorkerGroup& group, std::int64_t i) {
  const DeviceRow* row = row_of(group, i);
  if (row && row->link) return *row->link;
  return group.link ? *group.link : cluster.network.link;
}

/// Whether two ranks live on one host.
inline bool shares_hosts(const ClusterSpec& cluster) {
  return cluster.servers.host_of_worker || (cluster.servers.on_worker_hosts && cluster.servers.count > 0) ||
         std::any_of(cluster.workers.begin(), cluster.workers.end(), [](const WorkerGroup& group) { return group.per_host > 1; });
}

/// Seconds from taking a batch to having computed it and `after` it, in the steady state: it is prepared by the worker, or by processes
/// meanwhile, which may take longer; taken; and copied to the device. No other worker's loader takes cores of its host.
inline double with_loading(double computing, const WorkerGroup& group, const DeviceSpec& device, double samples, double input_bytes,
                           double after = 0) {
  double loading = 0;
  if (device.loader) {
    const LoaderSpec& loader = *device.loader;
    const std::int64_t processes = std::min(loader.workers, group.loader_cores.value_or(loader.workers));
    loading = loader.per_sample * samples / static_cast<double>(std::max<std::int64_t>(processes, 1));
    if (loader.workers == 0)
      computing += std::exchange(loading, 0);  // it prepares its batch itself
    else if (loader.per_sample > 0)
      computing += loader.hand_over;
  }
  if (device.host_to_device) computing += input_bytes * samples / *device.host_to_device;
  return std::max(computing + after, loading);
}

/// Link of servers and of aggregators on their own hosts.
inline const LinkSpec& server_link(const ClusterSpec& cluster) {
  return cluster.servers.link ? *cluster.servers.link : cluster.network.link;
}
inline const LinkSpec& aggregator_link(const ClusterSpec& cluster) {
  return cluster.aggregators.link ? *cluster.aggregators.link : server_link(cluster);
}

inline std::vector<ProtocolSegment> segments_of(const Scenario& scenario) {
  std::vector<ProtocolSegment> segments;
  for (const SegmentSpec& segment : scenario.cluster.network.protocol.segments)
    segments.push_back({segment.up_to, segment.latency_factor, segment.bandwidth_factor});
  return segments;
}

/// Seconds per byte of bytes per second; 0: takes no time.
inline double inverse(const std::optional<double>& rate) { return rate ? 1 / *rate : 0; }

}  // namespace straggler
