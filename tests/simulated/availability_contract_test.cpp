// Clients that come and go under every scheme that invites clients: the run ends, the books balance, and the same seed, or a replay, gives
// the same run. All other schemes refuse them.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include "sim/base/registry.hpp"
#include "tests/simulated/books.hpp"
#include "tests/simulated/fault_stories.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/sanitized.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("every scheme: clients come and go, or the refusal has a remedy") {
  int invite = 0;
  for (const Variant& variant : variants()) {
    if (variant.on_failure == "abort") continue;
    const std::string name = variant.scheme.substr(7, variant.scheme.find_first_of(",}", 7) - 7);  // "{kind: NAME, …}"
    const bool invites = Registry<SchemeEntry>::instance().at(name).invites;
    for (const std::string& availability :
         tried<std::string>({"{kind: on_off, on: 80ms, off: 40ms}", "{kind: on_off, on: 25ms, off: 5ms}"})) {
      CAPTURE(variant.scheme);
      CAPTURE(availability);
      std::vector<std::string> sets = {fmt::format(
          "cluster.workers=[{{count: 3, device: node, availability: {0}}}, {{count: 1, device: node, slowdown: 2, availability: {0}}}]",
          availability)};
      if (!invites) {
        if (variant.one_worker || variant.one_host) continue;
        CHECK_THROWS_WITH(run_timing(text(variant), sets), doctest::Contains("use a federated scheme"));
        continue;
      }
      ++invite;
      // A deadline may leave rounds without contributions.
      const Result result = run_timing(text(variant), sets);
      check_books(result, variant.synchronous);
      CHECK((result.record.outcome == Outcome::completed));
      CHECK((result.record.updates == 12 || result.record.end == Time::from_seconds(20)));
      CHECK(result.record.clients.present.has_value());
      const Result again = run_timing(text(variant), sets);
      CHECK(again.sink.order == result.sink.order);
      CHECK(again.sink.choices == result.sink.choices);
      CHECK(again.record.end == result.record.end);
      check_same(result, replay_timing(text(variant), sets, result));
    }
  }
  CHECK(invite > 0);
}
