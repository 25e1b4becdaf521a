// Workers are called by what is special about them wherever they are named to a user.
#include <doctest/doctest.h>

#include "tests/program/workplace.hpp"
#include "tests/support/text.hpp"

namespace named_workers_test {

using namespace straggler::test;

TEST_CASE("check, run, compare and the page say that workers 6 and 7 are 3x slower, and that the others waited for them") {
  const Workplace place;
  const std::string fast = " --set cluster.network.link.bandwidth=100Gbps";  // so that waiting, not sending, tells the runs apart
  const auto check = place.shell("straggler init | straggler check -");
  CHECK(has(check.out, "; workers 0 to 5\n"));
  CHECK(has(check.out, "; workers 6 and 7 (3x slower)\n"));
  const auto together =
      place.shell("straggler init | straggler run - --timing-only --quiet --set training.scheme=ssgd --out together" + fast);
  CHECK(has(together.out, "\nwaited for        workers 6 and 7 (3x slower)\n"));
  const auto alone = place.shell("straggler init | straggler run - --timing-only --quiet --out alone" + fast);
  CHECK(alone.code == 0);
  CHECK_FALSE(has(alone.out, "waited for"));
  const auto compared = place.shell("straggler compare together alone");
  CHECK_MESSAGE(has(compared.out, ", as the other's wait for workers 6 and 7, 3x slower)"), compared.out);
  CHECK(has(place.read("together/report.html"), "worker 7 (3x slower), node"));
  CHECK_FALSE(has(place.read("together/report.html"), "worker 5 ("));
}

}  // namespace named_workers_test
