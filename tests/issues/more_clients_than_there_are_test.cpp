// A round of more clients than there are was taken for one of all, without a word.
#include <doctest/doctest.h>

#include "tests/support/run.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("a round asks for no more clients than there are") {
  const std::string yaml = cluster(4);
  const auto sets = [](const char* clients) {
    return std::vector<std::string>{std::string("training.scheme={kind: fedavg, local_steps: 1, clients: ") + clients + "}",
                                    "cluster.servers.count=1", "training.stop={updates: 2}"};
  };
  CHECK(error_of<ScenarioErrors>([&] { run_timing(yaml, sets("4")); }) == "");
  CHECK(has(error_of<ScenarioErrors>([&] { run_timing(yaml, sets("5")); }),
            "training.scheme.clients: is 5, and there are 4; use as many or fewer, or add workers"));
}
