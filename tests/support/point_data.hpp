// Clients on the quadratic model, each with all of its samples at one point: client k's gradient is A (w - x_k), A = diag(a_1 … a_d),
// whatever it draws.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/folder.hpp"
#include "tests/support/scenarios.hpp"

namespace straggler::test {

inline constexpr std::size_t point_dimensions = 3;
inline constexpr double condition = 4;

/// a_1 … a_d of the model.
inline double curvature(std::size_t j) { return std::pow(condition, -static_cast<double>(j) / (point_dimensions - 1)); }

struct Client {
  int samples;
  std::vector<double> point;
};

/// Files of the samples, and of whose they are.
class PointData {
 public:
  explicit PointData(const std::vector<Client>& clients) {
    std::ostringstream samples, parts;
    samples << "a,b,c,label\n";
    parts << "worker,first,count\n";
    int first = 0;
    for (std::size_t k = 0; k < clients.size(); ++k) {
      for (int i = 0; i < clients[k].samples; ++i) {
        for (const double x : clients[k].point) samples << x << ",";
        samples << i % 2 << "\n";
      }
      parts << k << "," << first << "," << clients[k].samples << "\n";
      first += clients[k].samples;
    }
    folder_.write("samples.csv", samples.str());
    folder_.write("parts.csv", parts.str());
  }
  std::string data(bool own_parts) const {
    const std::string path = (folder_.path() / "samples.csv").string();
    return "{kind: csv, normalize: none, path: " + path + ", test_path: " + path +
           (own_parts ? ", partition: {kind: by_file, path: " + (folder_.path() / "parts.csv").string() + "}}" : "}");
  }

 private:
  TemporaryFolder folder_;
};

/// Equal workers, 8 ms a batch, on a network that takes no time; on one host if the scheme wants it.
inline std::string equal_bowl(int workers, const std::string& scheme, const std::string& data, double rate, int updates,
                              bool one_host = false) {
  const std::string host = one_host ? ", per_host: " + std::to_string(workers) : "";
  return scenario_text({.name = "optimum",
                        .seed = 5,
                        .workers = "[{count: " + std::to_string(workers) + ", device: node" + host + "}]",
                        .network = "{link: {bandwidth: 1000GB/s, latency: 0s}, intra: {bandwidth: 1000GB/s, latency: 0s}}",
                        .model = fmt::format("{{kind: quadratic, condition: {}, start: 10}}", condition),
                        .data = data,
                        .scheme = scheme,
                        .batch = "{per_worker: 8}",
                        .optimizer = fmt::format("{{kind: sgd, learning_rate: {}}}", rate),
                        .stop = fmt::format("{{updates: {}}}", updates)});
}

/// Three clients. A local step takes 10 ms of each, or a tenth more of each next one; messages take 3 ms for each of their vectors.
inline std::string uneven_bowl(const std::string& scheme, const std::string& data, int updates, bool alike = false) {
  return scenario_text({.name = "clients",
                        .seed = 5,
                        .node = "{compute: {affine: {overhead: 10ms}}}",
                        .workers = alike ? equal_workers(3)
                                         : "[{count: 1, device: node}, {count: 1, device: node, slowdown: 1.1}, "
                                           "{count: 1, device: node, slowdown: 1.2}]",
                        .network = "{link: {bandwidth: 4000B/s, latency: 0s}}",
                        .model = fmt::format("{{kind: quadratic, condition: {}, start: 10}}", condition),
                        .data = data,
                        .scheme = scheme,
                        .batch = "{per_worker: 8}",
                        .optimizer = "{kind: sgd, learning_rate: 0.3}",
                        .stop = fmt::format("{{updates: {}}}", updates)});
}

/// Infinite where a weight is no number.
inline double farthest_from(const std::vector<float>& weights, const std::vector<double>& point) {
  double most = 0;
  for (std::size_t j = 0; j < point.size(); ++j) {
    const double off = std::abs(static_cast<double>(weights[j]) - point[j]);
    most = std::max(most, std::isnan(off) ? std::numeric_limits<double>::infinity() : off);
  }
  return most;
}

}  // namespace straggler::test
