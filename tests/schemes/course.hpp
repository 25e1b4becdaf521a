// Whole runs beside each other, and long runs whose times have a closed form.
#pragma once
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/run.hpp"

namespace straggler::test {

inline void check_same_course(const Result& one, const Result& other) {
  CHECK(one.record.end == other.record.end);
  CHECK(one.record.weights_key == other.record.weights_key);
  CHECK(one.record.bytes_sent == other.record.bytes_sent);
  CHECK(one.sink.order == other.sink.order);
}

/// Four unequal workers with jitter on a slow network.
inline const std::vector<std::string> uneven_four = {"cluster.workers=[{count: 3, device: node}, {count: 1, device: node, slowdown: 3}]",
                                                     "devices.node.jitter={kind: gamma, shape: 3}",
                                                     "cluster.network.link={bandwidth: 100Mbps, latency: 1ms}", "training.stop.updates=60"};

inline std::vector<std::string> with_scheme(std::vector<std::string> sets, const std::string& scheme) {
  sets.push_back("training.scheme=" + scheme);
  return sets;
}

/// Timing alone, without a trace. `jitter`: of batches of 0.1 s; the network is free.
inline Result run_long(int workers, const std::string& scheme, const std::string& jitter, int updates) {
  RunOptions options;
  options.timing_only = true;
  return run(cluster(workers),
             {"devices.node.jitter=" + jitter, "training.stop.updates=" + std::to_string(updates), "training.scheme=" + scheme}, options);
}

/// In batch times.
inline double mean_update(const Result& result) { return result.record.end.seconds() / static_cast<double>(result.record.updates) / 0.1; }

inline double mean_staleness(const Result& result) {
  double sum = 0;
  for (const OrderRow& row : result.sink.order) sum += static_cast<double>(row.update - 1 - row.read_version);
  return sum / static_cast<double>(result.sink.order.size());
}

}  // namespace straggler::test
