// A notice of changed members comes from the rank after the workers. Where the cluster has no server, a replay refused that choice.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/schemes/course.hpp"
#include "tests/support/replay.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("gossip without servers: a replay of a run in which a worker crashes, leaves or joins is that run") {
  const int workers = 4;
  for (const std::string scheme : {"sgp", "dpsgd", "adpsgd", "ssgd"}) {
    CAPTURE(scheme);
    bool told = false;
    for (const std::string fault : {"{kind: crash, worker: 1, at: 250ms, restart_after: 180ms}", "{kind: crash, worker: 2, at: 250ms}",
                                    "{kind: leave, worker: 1, at: 250ms}", "{kind: join, worker: 3, at: 250ms}"}) {
      CAPTURE(fault);
      const std::vector<std::string> sets = with_scheme(uneven_four, "{kind: " + scheme + ", on_failure: drop}"),
                                     more = {"cluster.servers.count=0", "cluster.faults=[" + fault + "]"};
      std::vector<std::string> all = sets;
      all.insert(all.end(), more.begin(), more.end());
      const Result result = run_timing(cluster(workers), all);
      told = told || std::any_of(result.sink.choices.begin(), result.sink.choices.end(),
                                 [](const auto& choice) { return choice.second == static_cast<std::int32_t>(workers); });
      check_same_course(replay_timing(cluster(workers), all, result), result);
    }
    CHECK(told == (scheme != "ssgd"));  // the choice that was refused
  }
}
