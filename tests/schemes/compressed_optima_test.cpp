// Where runs with compressed messages end, of which theory says where; and CHOCO-SGD against its own arithmetic.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <set>
#include <sstream>
#include <tuple>

#include "sim/schemes/mixing_graph.hpp"
#include "tests/schemes/compressed_runs.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/sanitized.hpp"

namespace straggler::compressed_optima_test {

using namespace straggler::test;

namespace {

constexpr std::size_t point_dimensions = 3;
constexpr double condition = 2, start = 0.5;
using Point = std::array<double, point_dimensions>;

/// Of each worker eight samples at one point: its gradient is A (w - point), A = diag(1 … 1 / condition), whatever it draws. 10 ms a batch.
class Bowl {
 public:
  explicit Bowl(const std::vector<Point>& points) : workers_(points.size()) {
    std::ostringstream samples, parts;
    samples << "a,b,c,label\n";
    parts << "worker,first,count\n";
    for (std::size_t k = 0; k < points.size(); ++k) {
      for (int i = 0; i < 8; ++i) samples << points[k][0] << "," << points[k][1] << "," << points[k][2] << "," << i % 2 << "\n";
      parts << k << "," << 8 * k << ",8\n";
    }
    folder_.write("samples.csv", samples.str());
    folder_.write("parts.csv", parts.str());
  }
  Result run(const std::string& scheme, const Sets& sets) const {
    std::ostringstream yaml;
    const std::string path = (folder_.path() / "samples.csv").string();
    yaml << "straggler: 1\nname: bowl\nseed: 5\ndevices: {node: {compute: {affine: {overhead: 10ms}}}}\ncluster:\n  workers: [{count: "
         << workers_ << ", device: node}]\n  servers: {count: 1}\n  network: {link: {bandwidth: 1000GB/s, latency: 0s}}\n"
         << "workload:\n  model: {kind: quadratic, condition: " << condition << ", start: " << start
         << "}\n  data: {kind: csv, normalize: none, path: " << path << ", test_path: " << path
         << ", partition: {kind: by_file, path: " << (folder_.path() / "parts.csv").string() << "}}\ntraining:\n  scheme: " << scheme
         << "\n  batch: {per_worker: 8}\n  optimizer: {kind: sgd, learning_rate: 0.1}\n"
         << "  stop: {updates: 1}\n";
    return test::run(yaml.str(), sets);
  }

 private:
  std::size_t workers_;
  TemporaryFolder folder_;
};

double curvature(std::size_t j) { return std::pow(condition, -static_cast<double>(j) / (point_dimensions - 1)); }

double off(const Result& result, const Point& point) {
  double most = result.weights.size() < point_dimensions ? 1e300 : 0;
  for (std::size_t j = 0; j < point_dimensions && j < result.weights.size(); ++j) {
    const double error = std::abs(static_cast<double>(result.weights[j]) - point[j]);
    most = error <= most ? most : error;
  }
  return most;
}

}  // namespace

TEST_CASE("where all data lie at one point, every scheme with every compressor and error feedback ends there" * long_case) {
  // Compressors that contract, with error feedback, lose nothing in the end: what is left out of a step is in later ones, and steps shrink.
  // Some servers keep sums of what weights were (feddyn), or divide by what gradients were (fedopt): they come near it. An outer momentum
  // may swing on what is sent late (diloco).
  const Point point = {0.25, -0.5, 0.75};
  const Sets longer = {"training.stop={updates: 250, simulated_time: 40s}", "workload.data.reshuffle=false"};
  int variants = 0, reached = 0, runs = 0, near = 0, close = 0;
  std::set<std::tuple<std::string, Exchange, bool>> ways;  // the first variant of a scheme that exchanges so
  for (const SchemeVariant& variant : all_scheme_variants()) {
    if (!variant.entry->compressible(variant.parameters) || variant.one_host()) continue;
    if (!ways.emplace(variant.entry->name, variant.exchange(), variant.entry->sends_gradients(variant.parameters)).second) continue;
    CAPTURE(variant.text());
    const Bowl bowl(std::vector<Point>(static_cast<std::size_t>(workers_for(variant)), point));
    ++variants;
    if (off(bowl.run(variant.text(), longer), point) > 1e-4) continue;  // it does not come there so soon
    ++reached;
    for (const CompressorEntry& compressor : Registry<CompressorEntry>::instance().entries()) {
      if (!compressor.rule) continue;
      CAPTURE(compressor.name);
      for (const std::string direction : {"up", "both"}) {
        CAPTURE(direction);
        std::string kind = "training.compression={kind: " + compressor.name + ", error_feedback: true, direction: " + direction;
        // One of three values where it is the largest; of values that are drawn two, since one waits for long and steps have momentum.
        const std::string fraction = compressor.draws == Draws::none ? "0.34" : "0.67";
        for (const Parameter& parameter : compressor.parameters) kind += parameter.name == "fraction" ? ", fraction: " + fraction : "";
        const double error = off(bowl.run(text_with_compression(variant), with(longer, {kind + "}"})), point);
        ++runs;
        near += error < 0.15;  // of 1
        close += error < 2e-3;
      }
    }
  }
  CHECK(reached > 0.8 * variants);
  CHECK(near > 0.98 * runs);
  CHECK(close > 0.8 * runs);
}

TEST_CASE("CHOCO-SGD follows its own recursion") {
  // After `steps` steps workers 1 and 2 leave, so that the next version is worker 0's alone, without neighbours.
  const std::vector<Point> points = {{1, -2, 3}, {-4, 5.5, 0.25}, {2.25, 2, -6}};
  const Bowl bowl(points);
  const double rate = 0.1, gamma = 0.3;
  const MixingGraph graph(MixingGraph::Kind::ring);
  for (const int steps : {1, 2, 5, 17}) {
    CAPTURE(steps);
    const auto own_of_worker_0 = [&](double share) {
      const std::string faults =
          fmt::format("[{{kind: leave, worker: 1, at: {0}ms}}, {{kind: leave, worker: 2, at: {0}ms}}]", 10 * steps + 5);
      return bowl.run("{kind: dpsgd, graph: ring, gamma: 0.3}",
                      {"training.stop.updates=" + std::to_string(steps + 1), top_k_of(std::to_string(share)), "training.on_failure=drop",
                       "cluster.faults=" + faults});
    };
    for (const int kept : {1, 2, 3}) {
      Point initial;
      initial.fill(start);
      std::vector<Point> x(3, initial), known(3, initial);
      for (int t = 0; t < steps; ++t) {
        for (std::size_t i = 0; i < 3; ++i) {
          Point left;
          for (std::size_t j = 0; j < point_dimensions; ++j) left[j] = x[i][j] - known[i][j];
          for (int k = 0; k < kept; ++k) {
            std::size_t largest = 0;
            for (std::size_t j = 1; j < point_dimensions; ++j)
              if (std::abs(left[j]) > std::abs(left[largest])) largest = j;
            known[i][largest] += left[largest];
            left[largest] = 0;
          }
        }
        std::vector<Point> next = x;
        for (std::size_t i = 0; i < 3; ++i)
          for (std::size_t j = 0; j < point_dimensions; ++j) {
            for (const auto& [neighbour, share] : graph.row(static_cast<Rank>(i), 3))
              next[i][j] += gamma * share * (known[index_of(neighbour)][j] - known[i][j]);
            next[i][j] -= rate * curvature(j) * (x[i][j] - points[i][j]);
          }
        x = next;
      }
      Point expected;
      for (std::size_t j = 0; j < point_dimensions; ++j) expected[j] = x[0][j] - rate * curvature(j) * (x[0][j] - points[0][j]);
      CHECK(off(own_of_worker_0(kept / 3.0), expected) < 1e-4);
    }
  }
}

}  // namespace straggler::compressed_optima_test
