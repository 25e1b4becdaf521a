// What NCCL chooses: by thresholds in 2.4, and by rates of trees and rings on two hosts since.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "sim/collectives/nccl_threshold.hpp"
#include "sim/collectives/nccl_tuning.hpp"
#include "tests/collectives/world.hpp"

namespace nccl_choice_test {

using namespace straggler;

namespace {

HostChains chains(std::size_t hosts, std::size_t per_host) { return HostChains(shape_of(equal_hosts(hosts, per_host, 0, {}))); }
Parameters settings(Parameters given) { return complete(nccl_parameters(), std::move(given)); }
/// A link of a host of 5 Gbit/s and 15 us, and 6.4 GB/s inside.
const UniformLinks slow{15e-6, 1 / 0.625e9, 0, 5e-6, 1 / 6.4e9};
std::string choice(double bytes, std::size_t hosts, std::size_t per_host, const Parameters& given, const UniformLinks& links = slow) {
  return nccl_choice(bytes, chains(hosts, per_host), links, settings(given)).name();
}
Parameters version_2_4(const std::string& inside) {
  return {{"version", std::string("2.4")}, {"gpu", std::string("volta")}, {"inside", inside}};
}

}  // namespace

TEST_CASE("nccl 2.4 takes a tree up to 10,000 (6 (p-1) - 15 lg m - 4 (p/m - 1)) bytes over PCIe") {
  CHECK(NcclThresholds{8, 2, false, 1}.tree_bytes() == doctest::Approx(10'000.0 * (6 * 7 - 15 - 4 * 3)));  // 150 kB
  CHECK(NcclThresholds{32, 8, false, 1}.tree_bytes() == doctest::Approx(10'000.0 * (6 * 31 - 45 - 4 * 3)));
  CHECK(NcclThresholds{8, 1, false, 1}.tree_bytes() == 0);
  CHECK(NcclThresholds{2, 2, false, 1}.tree_bytes() == 0);  // 6 <= 15
  // NVLink: 15,000 a channel on more than two hosts, always on two.
  CHECK(NcclThresholds{32, 4, true, 2}.tree_bytes() == doctest::Approx(30'000.0 * (6 * 31 - 30 - 4 * 7)));
  CHECK(std::isinf(NcclThresholds{16, 2, true, 2}.tree_bytes()));

  for (const std::size_t hosts : {2u, 4u, 8u}) {
    const double limit = NcclThresholds{4.0 * static_cast<double>(hosts), static_cast<double>(hosts), false, 1}.tree_bytes();
    CHECK(choice(limit, hosts, 4, version_2_4("pcie")).starts_with("tree, "));
    CHECK(choice(limit + 1, hosts, 4, version_2_4("pcie")).starts_with("ring, "));
    CHECK(choice(102e6, hosts, 4, version_2_4("pcie")) == "ring, Simple");
  }
  CHECK(choice(102e6, 1, 4, version_2_4("pcie")) == "ring, Simple");
  CHECK(choice(1e9, 2, 8, version_2_4("nvlink")) == "tree, Simple");
  CHECK(choice(1e9, 4, 8, version_2_4("nvlink")) == "ring, Simple");
}

TEST_CASE("nccl 2.4 takes LL up to 64 bytes a thread, twice that over hosts, four times that of a tree") {
  // 4 ranks on a host, one channel: 4 chunks of at most 256 threads.
  CHECK(NcclThresholds{4, 1, false, 1}.ll_bytes(1e9, false) == 1 * 256 * 4 * 64);
  CHECK(NcclThresholds{8, 2, false, 1}.ll_bytes(1e9, false) == 1 * 256 * 8 * 128);
  CHECK(NcclThresholds{8, 2, false, 1}.ll_bytes(1e9, true) == 1 * 256 * 1 * 128 * 4);
  CHECK(NcclThresholds{4, 1, false, 2}.ll_bytes(1e9, false) == 2 * 256 * 4 * 64);
  CHECK(choice(65536, 1, 4, version_2_4("pcie")) == "ring, LL");
  CHECK(choice(65540, 1, 4, version_2_4("pcie")) == "ring, Simple");
  CHECK(choice(1000, 2, 4, version_2_4("nvlink")) == "tree, LL");
  // No LL128, and what is forced is taken.
  for (double bytes = 4; bytes < 1e9; bytes *= 8) CHECK(choice(bytes, 1, 8, version_2_4("nvlink")).find("LL128") == std::string::npos);
  Parameters forced = version_2_4("pcie");
  forced.set("algorithm", std::string("tree"));
  forced.set("protocol", std::string("LL"));
  CHECK(choice(102e6, 2, 4, forced) == "tree, LL");
}

TEST_CASE("nccl rates a tree at half of the bandwidth, and on two hosts at that inside them, up to twice the one between them") {
  const double n = 1e9, inside = 1 / slow.intra_beta, between = 1 / slow.beta;
  const Parameters given{{"version", std::string("2.30")}, {"algorithm", std::string("tree")}, {"protocol", std::string("Simple")}};
  const auto rated = [&](std::size_t hosts, std::size_t per_host, const UniformLinks& links) {
    const NcclLine line = nccl_choice(n, chains(hosts, per_host), links, settings(given));
    const double lg = std::floor(std::log2(static_cast<double>(hosts)));
    const double latency =
        8.4e-6 + 2 * static_cast<double>(per_host - 1) * (4e-6 + links.intra_alpha) + (hosts > 1 ? 2 * lg * (14e-6 + links.alpha) : 0);
    return line.rated - latency;
  };
  constexpr double share = 0.92;  // of Simple; a message of 1 GB has no correction
  CHECK(rated(1, 2, slow) == doctest::Approx(2 * n / (share * inside)));
  CHECK(rated(1, 8, slow) == doctest::Approx(2 * n / (share * inside)));
  CHECK(rated(2, 4, slow) == doctest::Approx(2 * n / (share * 2 * between)));
  CHECK(rated(4, 4, slow) == doctest::Approx(2 * n / (share * between)));
  const UniformLinks fast{5e-6, 1 / 12.5e9, 0, 5e-6, 1 / 20e9};
  CHECK(rated(2, 4, fast) == doctest::Approx(2 * n / (share * 20e9)));
  // What it takes is another matter: on two hosts both trees fill the link in each direction once.
  CHECK(nccl_choice(n, chains(2, 1), slow, settings(given)).seconds == doctest::Approx(n / (share * between)).epsilon(1e-3));
}

}  // namespace nccl_choice_test
