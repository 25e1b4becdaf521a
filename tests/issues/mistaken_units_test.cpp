// Files of numbers in another unit than the one that they are read in.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/folder.hpp"
#include "tests/support/run.hpp"
#include "tests/support/text.hpp"

namespace straggler::test::mistaken_units {
namespace {

std::string warnings(const std::vector<std::string>& sets) {
  return fmt::format("{}", fmt::join(run_timing(cluster(4), sets).record.warnings, "\n"));
}

/// A device whose batches of 100 take 100 ms.
std::string device(const std::string& jitter) {
  return "devices.node={compute: {affine: {overhead: 0s, per_sample: 1ms}}, jitter: " + jitter + "}";
}

}  // namespace

TEST_CASE("measured times in a file of factors are doubted, not factors") {
  const TemporaryFolder folder;
  const double times[] = {98, 102, 100, 104, 96};  // mean 100
  std::string milliseconds, factors;
  for (const double time : times) {
    milliseconds += fmt::format("{}\n", time);
    factors += fmt::format("{}\n", time / 100);
  }
  const std::string path = folder.write("steps.csv", milliseconds).string(), seconds = folder.write("factors.csv", factors).string();
  const std::string said = warnings({device("{kind: trace, path: " + path + "}")});
  CHECK(has(said, "devices.node.jitter: the factors in steps.csv have the mean 100, "));
  CHECK(has(said, "normalize: true"));
  CHECK(has(said, "tools/seconds_to_factors"));
  CHECK(warnings({device("{kind: trace, normalize: true, path: " + path + "}")}).empty());
  CHECK(warnings({device("{kind: trace, path: " + seconds + "}")}).empty());
  CHECK(warnings({device("{kind: markov, p_slow: 0.5, p_recover: 0.5, factor: 10}")}).empty());  // meant so: the mean is 5.5
  CHECK(has(warnings({"cluster.network.jitter={kind: trace, path: " + path + "}"}),
            "cluster.network.jitter: the factors in steps.csv have the mean 100, "));
}

TEST_CASE("slowdowns of a population and spans of an availability are doubted where they can be nothing of the kind") {
  const TemporaryFolder folder;
  const auto population = [&](double unit) {
    const auto file = folder.write(fmt::format("p{}.csv", unit), fmt::format("slowdown\n{}\n{}\n{}\n", unit, 2 * unit, 3 * unit));
    return warnings({"cluster.workers=[{device: node, population: " + file.string() + "}]"});
  };
  CHECK(population(1).empty());
  CHECK(has(population(100), "cluster.workers[0].population: the median of its slowdowns is 200, "));
  const auto availability = [&](double unit, const std::string& repeat) {
    std::string text = "worker,from_s,to_s\n";
    for (int worker = 0; worker < 4; ++worker)
      text += fmt::format("{0},0,{1}\n{0},{2},{3}\n", worker, 3600 * unit, 7200 * unit, 86400 * unit);
    const auto file = folder.write("a.csv", text);
    return warnings({"training.scheme={kind: fedavg, local_steps: 1}", "training.stop={rounds: 1}",
                     "cluster.workers=[{count: 4, device: node, availability: {kind: trace, path: " + file.string() + repeat + "}}]"});
  };
  CHECK(availability(1, ", repeat: 24h").empty());
  CHECK(has(availability(1.0 / 3600, ", repeat: 24h"), "its last span ends at 24s, and it repeats after 24h"));  // hours
  // 7,200,000 s are within the 2400 hours of a run; with a second day each worker has a span beyond them.
  CHECK(has(availability(2000, ""), "4 of its spans begin after 2400h"));
}

TEST_CASE("plain numbers of a network file that are no bytes a second, or no seconds, are doubted") {
  const TemporaryFolder folder;
  const auto network = [&](const std::string& cable) {
    const auto file = folder.write("n.dot", "graph { a [kind=host, rank=0]; b [kind=host, rank=1]; a -- b [" + cable + "]; }\n");
    return fmt::format("{}", fmt::join(run_timing(cluster(2), {"cluster.servers.count=0", "workload.cost={bytes: 8B}",
                                                               "cluster.network.topology={kind: file, path: " + file.string() + "}"})
                                           .record.warnings,
                                       "\n"));
  };
  CHECK(!has(network("bandwidth=\"10Gbps\", latency=\"50us\""), "plain numbers"));
  CHECK(!has(network("bandwidth=1250000000, latency=0.00005"), "plain numbers"));
  CHECK(has(network("bandwidth=10, latency=0.00005"), "has a bandwidth of 10 B/s; plain numbers of a network file are bytes a second"));
  CHECK(has(network("bandwidth=1250000000, latency=50"), "has a latency of 50 s; plain numbers of a network file are bytes a second"));
}

}  // namespace straggler::test::mistaken_units
