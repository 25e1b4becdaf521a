// A client of `hierarchical` that was not invited and went was lost to a round in which it did not take part.
#include <doctest/doctest.h>

#include <string>

#include "tests/support/folder.hpp"
#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("a client that goes before it is invited is idle, and is not lost") {
  // The fast client of each group is invited, always. The slow one is there for the first 50 ms, half as long as the fast one takes for
  // its first batch.
  for (const int groups : {1, 2}) {
    CAPTURE(groups);
    const TemporaryFolder folder;
    folder.write("fast.csv", "worker,from_s,to_s\n0,0,100\n");
    folder.write("slow.csv", "worker,from_s,to_s\n0,0,0.05\n0,50,100\n");
    const auto client = [&](const std::string& file, int slowdown) {
      return "{count: 1, device: node, slowdown: " + std::to_string(slowdown) +
             ", availability: {kind: trace, path: " + (folder.path() / file).string() + "}}";
    };
    std::string workers = client("fast.csv", 1) + ", " + client("slow.csv", 2);
    if (groups == 2) workers += ", " + workers;
    const std::string some = "clients: 1, local_steps: 1, selection: {kind: fastest_of, d: 2}";
    for (const std::string& scheme : {"{kind: hierarchical, aggregators: " + std::to_string(groups) + ", edge_rounds: 1, " + some + "}",
                                      "{kind: fedavg, " + some + "}"}) {
      CAPTURE(scheme);
      const Result result = run_timing(cluster(2 * groups), {"training.scheme=" + scheme, "cluster.workers=[" + workers + "]"});
      CHECK(result.record.end.seconds() == doctest::Approx(1).epsilon(1e-6));
      CHECK(result.record.clients.lost == 0);
      for (std::size_t worker = 1; worker < static_cast<std::size_t>(2 * groups); worker += 2) {
        CHECK(result.record.workers[worker].split[Phase::idle] == result.record.end);
        CHECK(result.record.workers[worker].updates == 0);
      }
    }
  }
}

TEST_CASE("a client that is invited from the beginning and goes is lost") {
  const TemporaryFolder folder;
  folder.write("clients.csv", "worker,from_s,to_s\n0,0,100\n1,0,0.05\n1,0.75,100\n");
  const Result result = run_timing(
      cluster(2),
      {"training.scheme={kind: hierarchical, aggregators: 1, edge_rounds: 1, local_steps: 1}",
       "cluster.workers=[{count: 2, device: node, availability: {kind: trace, path: " + (folder.path() / "clients.csv").string() + "}}]"});
  CHECK(result.record.clients.lost == 1);
  CHECK(result.record.workers[1].split[Phase::wasted].seconds() == doctest::Approx(0.05).epsilon(1e-9));
  CHECK(result.record.workers[1].split[Phase::down].seconds() == doctest::Approx(0.7).epsilon(1e-9));
}
