// Processes and mailboxes in simulated time.
#include <doctest/doctest.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/engine/mailbox.hpp"
#include "sim/engine/simulation.hpp"

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

/// `const int item = co_await Take(simulation, box);`: wakes its coroutine through the queue, as operations do.
class Take final : public Event, private Mailbox<int>::Receiver {
 public:
  Take(Simulation& simulation, Mailbox<int>& box) : simulation_(simulation), box_(box) {}
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> waiter) {
    waiter_ = waiter;
    item_ = box_.receive(*this);
    return !item_.has_value();
  }
  int await_resume() { return *item_; }

 private:
  bool wants(const int&) const override { return true; }
  void take(int item) override {
    item_ = item;
    simulation_.queue().after(Time(), *this);
  }
  void happen() override { waiter_.resume(); }
  Simulation& simulation_;
  Mailbox<int>& box_;
  std::optional<int> item_;
  std::coroutine_handle<> waiter_;
};

/// Says who waits for its items.
class Counter final : public WaitingPlace {
 public:
  explicit Counter(Simulation& simulation) : simulation_(simulation) { simulation_.add(*this); }
  ~Counter() { simulation_.remove(*this); }
  Mailbox<int> box;

 private:
  void describe_waiting(std::vector<std::string>& who) const override {
    if (box.first_waiting()) who.push_back("somebody waits at the counter");
  }
  Simulation& simulation_;
};

Process producer(Simulation& simulation, Mailbox<int>& box, int count) {
  for (int i = 0; i < count; ++i) {
    co_await simulation.delay(ms(10));
    box.put(i);
  }
}

Process consumer(Simulation& simulation, Mailbox<int>& box, Log& log, std::string name, int count) {
  for (int i = 0; i < count; ++i) {
    const int item = co_await Take(simulation, box);
    log.note(simulation, name + std::to_string(item));
  }
}

Process counted_consumer(Simulation& simulation, Mailbox<int>& box, int& alive) {
  const Counted counted(alive);
  co_await simulation.delay(ms(30));
  for (int i = 0; i < 2; ++i) co_await Take(simulation, box);
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

TEST_CASE("a mailbox serves the process that has waited longest, in the order of arrival") {
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

TEST_CASE("an exception comes out of run(), also from a subroutine, and frames unwind") {
  int alive = 0;
  {
    Simulation simulation;
    simulation.spawn(failing(simulation, alive));
    CHECK_THROWS_WITH_AS(simulation.run(), "broken", std::runtime_error);
  }
  CHECK(alive == 0);
}

TEST_CASE("a deadlock says how many wait, and each place says who waits there") {
  Simulation simulation;
  Log log;
  Counter first(simulation), second(simulation), third(simulation);
  int alive = 0;
  simulation.spawn(counted_consumer(simulation, first.box, alive));
  simulation.spawn(consumer(simulation, second.box, log, "x", 1));
  try {
    simulation.run();
    FAIL("no deadlock was reported");
  } catch (const Deadlock& deadlock) {
    const std::string text = deadlock.what();
    CHECK(text.find("deadlock at 0.03") != std::string::npos);
    CHECK(text.find("2 processes wait and nothing is left that could wake them") != std::string::npos);
    const std::size_t told = text.find("somebody waits at the counter");
    REQUIRE(told != std::string::npos);
    CHECK(text.find("somebody waits at the counter", told + 1) != std::string::npos);
    CHECK(text.find("somebody waits at the counter", text.find("somebody waits at the counter", told + 1) + 1) == std::string::npos);
  }
  CHECK(alive == 1);
  simulation.kill_all();
  CHECK(alive == 0);
}

TEST_CASE("a process may be killed at any moment and leaves nothing behind; places are used again") {
  // At 30 ms it begins to wait, at 40 and 50 ms it is given an item.
  for (int at = 0; at < 70; ++at) {
    int alive = 0;
    Simulation simulation;
    Log log;
    Mailbox<int> box;
    const auto victim = simulation.spawn(counted_consumer(simulation, box, alive));
    simulation.spawn(killer(simulation, victim, at));
    simulation.spawn(producer(simulation, box, 5));
    simulation.run();
    CHECK(alive == 0);
    CHECK(box.first_waiting() == nullptr);
    CHECK(simulation.living() == 0);
    const auto again = simulation.spawn(sleeper(simulation, log, "b", 1, 1));
    CHECK(again <= 2);
    simulation.run();
  }
}
