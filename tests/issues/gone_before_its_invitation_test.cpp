// A client that was drawn, and went while the server still sent to another, kept its place for ever: nobody else was invited to it.
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "tests/support/folder.hpp"
#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("a client that goes before it is sent its invitation gives its place to another") {
  // A message takes the server's link 50 ms, a step 100 ms. Clients 1 and 2 come at 1.05 s, while the server waits for client 0, and are
  // drawn. Both go at 1.08 s: one while it is sent its invitation, one before.
  for (const std::string scheme :
       {"{kind: fedasync, clients: 3, local_steps: 1}", "{kind: fedbuff, concurrency: 3, local_steps: 1, buffer: 1}"}) {
    for (const std::string others : {"", "3,1.09,100\n"}) {  // nobody comes, or another one does
      CAPTURE(scheme);
      CAPTURE(others);
      const int workers = others.empty() ? 3 : 4;
      const TemporaryFolder folder;
      folder.write("clients.csv", "worker,from_s,to_s\n0,0,100\n1,1.05,1.08\n1,4,100\n2,1.05,1.08\n2,4,100\n" + others);
      const Result result = run_timing(
          cluster(workers), {"training.scheme=" + scheme, "training.stop={updates: 60}",
                             "cluster.servers={count: 1, link: {bandwidth: 9.28kB/s, latency: 0s}}",
                             "cluster.workers=[{count: " + std::to_string(workers) +
                                 ", device: node, availability: {kind: trace, path: " + (folder.path() / "clients.csv").string() + "}}]"});
      REQUIRE(result.record.outcome == Outcome::completed);
      CHECK(result.record.clients.lost == 1);
      // From 4 s on three clients train at any time. Where there are three, they do so in turn.
      for (std::size_t worker = 1; worker < static_cast<std::size_t>(workers); ++worker) {
        CAPTURE(worker);
        CHECK(result.record.workers[worker].updates >= 5);
      }
      if (others.empty()) CHECK(std::abs(static_cast<int>(result.record.workers[1].updates - result.record.workers[2].updates)) <= 1);
    }
  }
}
