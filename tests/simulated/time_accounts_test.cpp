// Accounts of time against a reference that keeps everything and adds up at the end.
#include <doctest/doctest.h>

#include "sim/base/random.hpp"
#include "sim/record/time_accounts.hpp"
#include "tests/simulated/books.hpp"

namespace time_accounts_test {

using namespace straggler;
using namespace straggler::test;

namespace {

/// Every tick of a worker, one by one.
struct Naive {
  bool down = false, computing = false, paused = false, loading = false;
  int flights = 0;
  std::vector<Phase> ticks;      // what each tick went to
  std::vector<bool> in_flight;   // [ticks]
  std::vector<std::size_t> own;  // ticks booked as compute since it began

  Phase phase() const {
    if (down) return Phase::down;
    if (computing) return paused ? Phase::idle : Phase::compute;
    if (loading) return Phase::loading;
    return flights > 0 ? Phase::communication : Phase::idle;
  }
  void tick() {
    if (phase() == Phase::compute) own.push_back(ticks.size());
    ticks.push_back(phase());
    in_flight.push_back(flights > 0);
  }
  void discard() {
    for (const std::size_t tick : own) ticks[tick] = Phase::wasted;
    own.clear();
  }
  WorkerRecord record() const {
    WorkerRecord out;
    for (std::size_t i = 0; i < ticks.size(); ++i) {
      out.split[ticks[i]] += Time::from_ticks(1);
      if (in_flight[i]) out.bytes_in_flight += Time::from_ticks(1);
      if (in_flight[i] && ticks[i] != Phase::communication) out.overlapped += Time::from_ticks(1);
    }
    return out;
  }
};

/// What may happen to a worker next, as the back end would call it.
void step(RandomStream& random, TimeAccounts& accounts, Naive& naive, std::uint32_t worker, Time now) {
  switch (random.below(9)) {
    case 0:
      if (naive.computing || naive.down || naive.loading) return;
      accounts.begin_compute(worker, now);
      naive.computing = true;
      naive.own.clear();
      return;
    case 1:
      if (!naive.computing || naive.paused) return;
      accounts.end_compute(worker, now);
      naive.computing = false;
      naive.own.clear();
      return;
    case 2:
      if (!naive.computing) return;
      accounts.discard_compute(worker, now);
      naive.discard();
      naive.computing = false;
      if (!naive.paused) return;
      accounts.set_paused(worker, now, false);
      naive.paused = false;
      return;
    case 3:
      if (naive.computing || naive.down) return;
      accounts.set_loading(worker, now, naive.loading = !naive.loading);
      return;
    case 4:
      if (naive.computing || naive.loading) return;
      accounts.set_down(worker, now, naive.down = !naive.down);
      return;
    case 5:
      if (!naive.computing) return;
      accounts.set_paused(worker, now, naive.paused = !naive.paused);
      return;
    case 6:
    case 7:
      accounts.begin_flight(worker, now);
      ++naive.flights;
      return;
    default:
      if (naive.flights == 0) return;
      accounts.end_flight(worker, now);
      --naive.flights;
  }
}

}  // namespace

TEST_CASE("accounts of time: random stories against every tick kept") {
  for (std::uint64_t draw = 0; draw < 300; ++draw) {
    CAPTURE(draw);
    RandomStream random(draw, "time accounts", 0);
    std::vector<WorkerRecord> records(4);
    Result traced;
    TimeAccounts accounts(records, draw % 2 ? &traced.sink : nullptr);
    std::vector<Naive> naive(records.size());
    Time now;
    for (int change = 0; change < 200; ++change) {
      const auto worker = static_cast<std::uint32_t>(random.below(records.size()));
      step(random, accounts, naive[worker], worker, now);
      for (std::uint64_t ticks = random.below(4); ticks > 0; --ticks) {
        now += Time::from_ticks(1);
        for (Naive& each : naive) each.tick();
      }
      // At any moment the sums are those of all workers. A computation that is in progress counts as compute until it is cancelled.
      const ByPhase<WideTicks> sums = accounts.sums(now);
      for (std::size_t k = 0; k < phase_count; ++k) {
        WideTicks expected = 0;
        for (const Naive& each : naive)
          expected += static_cast<WideTicks>(std::count(each.ticks.begin(), each.ticks.end(), static_cast<Phase>(k)));
        CHECK((sums[k] == expected));
      }
    }
    accounts.finish(now);
    for (std::uint32_t worker = 0; worker < records.size(); ++worker) {
      const WorkerRecord expected = naive[worker].record();
      CHECK(records[worker].split.parts == expected.split.parts);
      CHECK(records[worker].split.total() == now);
      CHECK(records[worker].bytes_in_flight == expected.bytes_in_flight);
      CHECK(records[worker].overlapped == expected.overlapped);
      // Closed: nothing counts any more.
      accounts.begin_compute(worker, now + Time::from_ticks(5));
      accounts.discard_compute(worker, now + Time::from_ticks(9));
      accounts.end_flight(worker, now + Time::from_ticks(9));
      CHECK(records[worker].split.total() == now);
    }
    traced.record.end = now;
    traced.record.workers = records;
    if (draw % 2) check_time(traced);
  }
}

TEST_CASE("a step beside a gradient: both are one span of computing, whichever ends first") {
  const auto at = [](std::int64_t tick) { return Time::from_ticks(tick); };
  for (const bool step_ends_first : {true, false}) {
    std::vector<WorkerRecord> records(1);
    TimeAccounts accounts(records, nullptr);
    accounts.begin_compute(0, at(1));  // the gradient
    accounts.begin_compute(0, at(3));  // the step
    const Time first = accounts.end_compute(0, at(4));
    const Time second = accounts.end_compute(0, at(7));
    CHECK((step_ends_first ? second : first) == (step_ends_first ? at(6) : at(3)));  // since the gradient began at 1
    accounts.finish(at(9));
    CHECK(records[0].split[Phase::compute] == at(6));
    CHECK(records[0].split[Phase::idle] == at(3));
  }
}

}  // namespace time_accounts_test
