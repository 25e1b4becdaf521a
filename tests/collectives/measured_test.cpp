// Measured all-reduces of DeepBench: Xeon Phi 7250 over Omni-Path 100, one process a node (tests/tables, with its source). One latency and
// one bandwidth are calibrated on the smallest and the largest message at one number of ranks; every other row is predicted by `auto`, as
// one flow. The rows are not those of one latency and one bandwidth: between 2 ranks a byte of 67 MB takes 80 ps, one of 258 MB 146 ps.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/collectives/csv.hpp"
#include "tests/collectives/world.hpp"

namespace measured_test {

using namespace straggler;

namespace {

struct Row {
  std::size_t ranks;
  std::uint64_t bytes;
  double seconds;
};

std::vector<Row> omni_path() {
  const Csv csv("deepbench_allreduce_alternate_sizes.csv");
  std::vector<Row> rows;
  for (std::size_t r = 0; r < csv.rows(); ++r) {
    if (csv.text(r, "system") != "IA_KNL7250") continue;
    rows.push_back({static_cast<std::size_t>(csv.number(r, "ranks")), static_cast<std::uint64_t>(csv.number(r, "bytes")),
                    1e-3 * csv.number(r, "time_ms")});
  }
  return rows;
}

struct Prediction {
  double seconds;
  std::string algorithm;
};

Prediction predict(const Row& row, const UniformLinks& links) {
  World world(row.ranks, {1 / links.beta, 1 / links.beta, Time::from_seconds(links.alpha / 2)});
  const CollectiveShape shape{row.ranks, 0, {}};
  const CollectiveEntry& entry = cheapest_collective(row.bytes, shape, links, {}, *world.transport);
  return {fluid_plan(*make_schedule(entry, row.bytes, shape, links), {}, *world.transport).seconds(), entry.name};
}

/// The latency and bandwidth for which both rows come out: of the small one mostly the latency, of the large one mostly the bandwidth.
UniformLinks calibrate(const Row& small, const Row& large) {
  UniformLinks links{1e-6, 1e-10, 0};
  for (int i = 0; i < 200; ++i) {
    links.alpha *= small.seconds / predict(small, links).seconds;
    links.beta *= large.seconds / predict(large, links).seconds;
  }
  return links;
}

const Row& find(const std::vector<Row>& rows, std::size_t ranks, std::uint64_t bytes) {
  const auto at = std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.ranks == ranks && r.bytes == bytes; });
  REQUIRE(at != rows.end());
  return *at;
}

}  // namespace

TEST_CASE("Omni-Path: two rows calibrated, the others predicted") {
  const std::vector<Row> rows = omni_path();
  REQUIRE(rows.size() == 20);
  const Row small = find(rows, 8, 400'000), large = find(rows, 8, 258'000'000);
  const UniformLinks links = calibrate(small, large);
  std::printf("Omni-Path, calibrated on 8 ranks: latency %.2f us a message, %.2f GB/s\n", 1e6 * links.alpha, 1e-9 / links.beta);
  std::printf("%12s %6s %13s %13s %8s  %s\n", "bytes", "ranks", "measured ms", "predicted ms", "ratio", "algorithm");
  std::vector<double> errors;
  for (const Row& row : rows) {
    const Prediction predicted = predict(row, links);
    const double ratio = predicted.seconds / row.seconds;
    const bool calibrated = row.ranks == 8 && (row.bytes == small.bytes || row.bytes == large.bytes);
    std::printf("%12llu %6zu %13.3f %13.3f %8.2f  %s%s\n", static_cast<unsigned long long>(row.bytes), row.ranks, 1e3 * row.seconds,
                1e3 * predicted.seconds, ratio, predicted.algorithm.c_str(), calibrated ? " (calibrated)" : "");
    if (calibrated)
      CHECK(ratio == doctest::Approx(1).epsilon(1e-3));
    else
      errors.push_back(std::max(ratio, 1 / ratio));
  }
  std::sort(errors.begin(), errors.end());
  std::printf("off by a factor of %.2f in the median, %.2f at most\n", errors[errors.size() / 2], errors.back());
  CHECK(errors[errors.size() / 2] < 1.3);
  CHECK(errors.back() < 1.8);
}

}  // namespace measured_test
