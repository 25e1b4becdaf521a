// Runs whose workers share states: units of stated sizes, on a star.
#pragma once
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/simulated/books.hpp"

namespace straggler::test {

using Sets = std::vector<std::string>;

constexpr double step_seconds = 0.1, bandwidth = 125e6, alpha = 100e-6;  // 100 samples of 1 ms; 1 Gbit/s; two links of 50 us
constexpr int updates = 3;

/// `parameters`: of each unit. FLOPs are equal.
inline std::string sizes(const std::vector<double>& parameters) {
  std::string layers;
  for (std::size_t unit = 0; unit < parameters.size(); ++unit)
    layers += (unit == 0 ? "{name: unit" : ", {name: unit") + std::to_string(unit) +
              ", parameters: " + std::to_string(static_cast<std::int64_t>(parameters[unit])) + ", flops: 1000000}";
  return "workload.cost={model: {kind: sizes, layers: [" + layers + "]}}";
}

inline Sets sharded(const std::string& sharding, const std::vector<double>& units, const Sets& more = {},
                    const std::string& collective = "algorithm: ring") {
  Sets sets = {"cluster.network.link={bandwidth: 1Gbps, latency: 50us}", sizes(units), "training.stop={updates: 3}",
               "training.scheme={kind: ssgd, via: all_reduce}", "cluster.network.collective={" + collective + "}"};
  if (!sharding.empty()) sets.push_back("training.sharding={" + sharding + "}");
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

inline double sum(const std::vector<double>& all) {
  double out = 0;
  for (const double each : all) out += each;
  return out;
}

/// Of a ring of p, in which each worker sends all of `bytes` but its own part, in p - 1 rounds.
inline double ring_seconds(double p, double bytes) { return (p - 1) * alpha + (p - 1) / p * bytes / bandwidth; }

inline double seconds_of_update(const Result& result) { return result.record.end.seconds() / updates; }

/// Two hosts of four workers.
inline Sets on_hosts() { return {"cluster.workers=[{count: 8, device: node, per_host: 4}]"}; }

}  // namespace straggler::test
