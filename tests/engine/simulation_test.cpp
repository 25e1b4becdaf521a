// Processes, mailboxes, barriers and signals in simulated time.
#include <doctest/doctest.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/engine/mailbox.hpp"
#include "sim/engine/simulation.hpp"
#include "sim/engine/waiting.hpp"

using namespace straggler;

namespace {

Time ms(std::int64_t n) { return Time::from_ticks(n * 1'000'000'000); }

struct Log {
  std::vector<std::pair<std::int64_t, std::string>> entries;  // milliseconds, what
  void note(const Simulation& simulation, const std::string& what) { entries.emplace_back(simulation.now().ticks() / 1'000'000'000, what); }
};

/// Counts its living copies: shows that frames unwind.
struct Counted {
  explicit Counted(int& count) : count_(count) { ++count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --count_; }
  int& count_;
};

Process sleeper(Simulation& simulation, Log& log, std::string name, std::int64_t first, std::int64_t second) {
  co_await simulation.delay(ms(first));
  log.note(simulation, name);
  co_await simulation.delay(ms(second));
  log.note(simulation, name);
}

Process producer(Simulation& simulation, Mailbox<int>& box, int count) {
  for (int i = 0; i < count; ++i) {
    co_await simulation.delay(ms(10));
    box.put(i);
  }
}

Process consumer(Simulation& simulation, Mailbox<int>& box, Log& log, std::string name, int count) {
  for (int i = 0; i < count; ++i) {
    const int item = co_await box.take(simulation);
    log.note(simulation, name + std::to_string(item));
  }
}

Process party(Simulation& simulation, Barrier& barrier, Log& log, std::string name, std::int64_t delay, int& alive) {
  const Counted counted(alive);
  for (int round = 0; round < 2; ++round) {
    co_await simulation.delay(ms(delay));
    co_await barrier.arrive();
    log.note(simulation, name);
  }
}

Process waits_for(Simulation& simulation, Signal& signal, Log& log, std::uint64_t number) {
  co_await signal.reach(number);
  log.note(simulation, std::to_string(number));
}

Process raises(Simulation& simulation, Signal& signal, std::vector<std::uint64_t> numbers) {
  for (const std::uint64_t number : numbers) {
    co_await simulation.delay(ms(10));
    signal.raise(number);
  }
}

Task<int> fails_later(Simulation& simulation, int& alive) {
  const Counted counted(alive);
  co_await simulation.delay(ms(5));
  throw std::runtime_error("broken");
}

Process failing(Simulation& simulation, int& alive) {
  const Counted counted(alive);
  const int value = co_await fails_later(simulation, alive);
  CHECK(value == 0);
}

Process killer(Simulation& simulation, Simulation::ProcessId victim, std::int64_t at) {
  co_await simulation.delay(ms(at));
  simulation.kill(victim);
}

}  // namespace

TEST_CASE("processes interleave in the order of time, then of scheduling") {
  Simulation simulation;
  Log log;
  simulation.spawn(sleeper(simulation, log, "a", 10, 20));
  simulation.spawn(sleeper(simulation, log, "b", 10, 5));
  CHECK_FALSE(simulation.run());
  const std::vector<std::pair<std::int64_t, std::string>> expected = {{10, "a"}, {10, "b"}, {15, "b"}, {30, "a"}};
  CHECK(log.entries == expected);
  CHECK(simulation.living() == 0);
}

TEST_CASE("two simulations live side by side") {
  Simulation one, two;
  Log first, second;
  one.spawn(sleeper(one, first, "a", 10, 10));
  two.spawn(sleeper(two, second, "a", 1, 1));
  CHECK_FALSE(one.run(ms(10)));
  CHECK_FALSE(two.run());
  CHECK(first.entries.size() == 1);
  CHECK(second.entries.size() == 2);
  CHECK(one.now() == ms(10));
}

TEST_CASE("a mailbox serves whoever has waited longest, in the order of arrival") {
  Simulation simulation;
  Mailbox<int> box;
  Log log;
  simulation.spawn(consumer(simulation, box, log, "x", 2));
  simulation.spawn(consumer(simulation, box, log, "y", 2));
  simulation.spawn(producer(simulation, box, 4));
  simulation.run();
  const std::vector<std::pair<std::int64_t, std::string>> expected = {{10, "x0"}, {20, "y1"}, {30, "x2"}, {40, "y3"}};
  CHECK(log.entries == expected);
}

TEST_CASE("a killed receiver does not swallow an item") {
  Simulation simulation;
  Mailbox<int> box;
  Log log;
  const auto victim = simulation.spawn(consumer(simulation, box, log, "x", 1));
  simulation.spawn(killer(simulation, victim, 5));
  simulation.spawn(producer(simulation, box, 1));
  simulation.run();
  CHECK(log.entries.empty());
  CHECK(box.size() == 1);
}

TEST_CASE("a barrier holds everybody until the last, and is new afterwards; who dies has not arrived") {
  for (const bool kill_one : {false, true}) {
    Simulation simulation;
    Log log;
    int alive = 0;
    {
      Barrier barrier(simulation, 2, "round");
      const auto first = simulation.spawn(party(simulation, barrier, log, "a", 10, alive));
      simulation.spawn(party(simulation, barrier, log, "b", 30, alive));
      if (kill_one) simulation.spawn(killer(simulation, first, 20));
      if (kill_one) {
        CHECK_THROWS_AS(simulation.run(), Deadlock);
        CHECK(log.entries.empty());
        CHECK(barrier.arrived() == 1);
      } else {
        simulation.run();
        // The last to come goes on at once, the others through the queue at the same instant.
        const std::vector<std::pair<std::int64_t, std::string>> expected = {{30, "b"}, {30, "a"}, {60, "b"}, {60, "a"}};
        CHECK(log.entries == expected);
      }
      simulation.kill_all();
    }
    CHECK(alive == 0);
  }
}

TEST_CASE("a signal is numbered: an old one wakes nobody who waits for a later one") {
  Simulation simulation;
  Log log;
  Signal signal(simulation, "round");
  simulation.spawn(waits_for(simulation, signal, log, 1));
  simulation.spawn(waits_for(simulation, signal, log, 3));
  simulation.spawn(waits_for(simulation, signal, log, 2));
  simulation.spawn(raises(simulation, signal, {1, 1, 0, 3}));
  simulation.run();
  const std::vector<std::pair<std::int64_t, std::string>> expected = {{10, "1"}, {40, "3"}, {40, "2"}};
  CHECK(log.entries == expected);
  CHECK(signal.value() == 3);
}

TEST_CASE("an exception comes out of run(), also from a subroutine, and frames unwind") {
  int alive = 0;
  {
    Simulation simulation;
    simulation.spawn(failing(simulation, alive));
    CHECK_THROWS_WITH_AS(simulation.run(), "broken", std::runtime_error);
  }
  CHECK(alive == 0);
}

TEST_CASE("a deadlock says who waits for what") {
  Simulation simulation;
  Log log;
  Barrier barrier(simulation, 3, "epoch");
  Signal signal(simulation, "go");
  int alive = 0;
  simulation.spawn(party(simulation, barrier, log, "a", 10, alive));
  simulation.spawn(waits_for(simulation, signal, log, 7));
  try {
    simulation.run();
    FAIL("no deadlock was reported");
  } catch (const Deadlock& deadlock) {
    const std::string text = deadlock.what();
    CHECK(text.find("2 processes wait") != std::string::npos);
    CHECK(text.find("1 of 3 parties wait at barrier epoch") != std::string::npos);
    CHECK(text.find("waits for signal go to reach 7, it stands at 0") != std::string::npos);
  }
  simulation.kill_all();
}

TEST_CASE("a process may be killed at any moment and leaves nothing behind; places are used again") {
  for (int at = 0; at < 70; ++at) {
    int alive = 0;
    Simulation simulation;
    Log log;
    Barrier barrier(simulation, 1, "alone");
    const auto victim = simulation.spawn(party(simulation, barrier, log, "a", 30, alive));
    simulation.spawn(killer(simulation, victim, at));
    simulation.run();
    CHECK(alive == 0);
    CHECK(simulation.living() == 0);
    const auto again = simulation.spawn(sleeper(simulation, log, "b", 1, 1));
    CHECK(again <= 1);
    simulation.run();
  }
}
