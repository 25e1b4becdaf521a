// A server's timer was kept in the place of a worker that does not exist.
#include <doctest/doctest.h>

#include "tests/training/fake_cluster.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

/// Its server waits for two timers, one after the other; its workers do nothing.
class Alarm final : public Scheme {
 public:
  explicit Alarm(int& rung) : rung_(rung) {}
  Process worker(Node&) const override { co_return; }
  Process server(Node& node) const override {
    for (int timer = 0; timer < 2; ++timer) {
      co_await node.timer(Time::from_seconds(1));
      ++rung_;
    }
  }

 private:
  int& rung_;
};

}  // namespace

TEST_CASE("the fake cluster keeps timers of servers") {
  int rung = 0;
  const Alarm alarm(rung);
  for (const Rank workers : {1, 2, 5}) {
    FakeCluster cluster(alarm, workers, true);
    rung = 0;
    cluster.ring(workers);
    CHECK(rung == 1);
    CHECK_THROWS_AS(cluster.ring(0), std::logic_error);
    cluster.ring(workers);
    CHECK(rung == 2);
    CHECK_THROWS_AS(cluster.ring(workers), std::logic_error);
  }
}
