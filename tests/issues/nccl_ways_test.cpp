// NVLS was 24 to 42 % too fast, the more so the fewer GPUs; and NCCL paid the latency of a long way in each step of a ring.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/run.hpp"
#include "tests/support/text.hpp"

namespace nccl_ways_test {

using namespace straggler;
using namespace straggler::test;

namespace {

double seconds_of_all_reduce(const std::vector<std::string>& sets) {
  const Result result = run_timing(cluster(2), [&] {
    std::vector<std::string> all{"devices.node.compute.affine={overhead: 1ns, per_sample: 0s}", "training.stop={updates: 2}"};
    all.insert(all.end(), sets.begin(), sets.end());
    return all;
  }());
  return result.record.end.seconds() / 2;
}

}  // namespace

TEST_CASE("NVLS: the algorithm's bandwidth is 0.85 B p/(p + 1), and more GPUs have more of it") {
  const double link = 370.8e9, bytes = 4294967296.0;
  double before = 0;
  for (const int p : {3, 4, 8}) {
    CAPTURE(p);
    const std::string gpus = std::to_string(p);
    const double seconds =
        seconds_of_all_reduce({"cluster.workers=[{count: " + gpus + ", device: node, per_host: " + gpus + "}]",
                               "cluster.network.intra={bandwidth: 370.8GB/s, latency: 0s}", "workload.cost={bytes: 4GiB}",
                               "cluster.network.collective.algorithm={kind: nccl, gpu: hopper, nvls: true}"});
    CHECK(bytes / seconds == doctest::Approx(0.85 * link * p / (p + 1)).epsilon(0.005));
    CHECK(bytes / seconds > before);
    before = bytes / seconds;
  }
}

TEST_CASE("NCCL on long ways: the time of a ring's bytes, and at most 4 % more, for any number of ranks and any latency") {
  struct Way {
    const char *rate, *latency;
    double bits_per_second;
  };
  for (const Way& way : {Way{"5Gbps", "0.5ms", 5e9}, Way{"2Gbps", "2.5ms", 2e9}, Way{"1Gbps", "5ms", 1e9}}) {
    for (const int p : {4, 8, 16}) {
      CAPTURE(way.rate);
      CAPTURE(p);
      const double seconds = seconds_of_all_reduce(
          {"cluster.workers=[{count: " + std::to_string(p) + ", device: node}]", "workload.cost={bytes: 128MiB}",
           "cluster.network.link={bandwidth: " + std::string(way.rate) + ", latency: " + std::string(way.latency) + "}",
           "cluster.network.collective.algorithm=nccl"});
      const double flowing = 2.0 * (p - 1) / p * 134217728 * 8 / way.bits_per_second;
      CHECK(seconds > flowing);
      CHECK(seconds < 1.04 * flowing);
    }
  }
}

TEST_CASE("NCCL 2.4, whose source has no LL128 (tag v2.4.8-1; 2.5.6 brought it), is refused with it, and with nothing else") {
  const auto told = [](const std::string& version, const std::string& protocol) {
    return error_of<std::exception>([&] {
      seconds_of_all_reduce({"workload.cost={bytes: 1MiB}",
                             "cluster.network.collective.algorithm={kind: nccl, version: " + version + ", protocol: " + protocol + "}"});
    });
  };
  const std::string error = told("2.4", "LL128");
  CHECK(error.find("cluster.network.collective.algorithm") != std::string::npos);
  CHECK(error.find("version 2.4 has no protocol LL128; use LL, Simple or any, or version 2.8 or 2.30") != std::string::npos);
  CHECK(error.find('\n') == std::string::npos);
  for (const char* protocol : {"any", "LL", "Simple"}) CHECK(told("2.4", protocol).empty());
  for (const char* version : {"2.8", "2.30"}) CHECK(told(version, "LL128").empty());
}

}  // namespace nccl_ways_test
